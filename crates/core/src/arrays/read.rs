//! Pending reads: of an array, and of an output of one replay. Also the memory for a launch's messages.

use crate::arrays::storage::Storage;
use crate::error::{Error, ErrorDetail, Result};
use crate::memory::read_slot::{MessageSource, ReadSlot, ReadState};
use crate::runtime::owner::Owner;
use crate::runtime::pending::{LateSteps, Pending, WaitMode, WakerRegistration, block_on, late};
use crate::scheduler::complete::PointHistory;
use crate::scheduler::engine::Engine;
use crate::scheduler::wait::WaitTarget;
use crate::scheduler::wakers::Deadline;
use crate::work::kernel_launch::BoundArray;
use crate::work::step::{Pattern, Span, Work};
use fencepost_kernels::{Access, Element};
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{MaybeSend, Point, Seq};
use std::ops::Range;
use std::sync::Arc;

/// A pending read. Its bytes are in the array itself, in staging memory, or already copied to the host.
pub(crate) struct Reading<T> {
    pub(crate) registration: WakerRegistration,
    pub(crate) engine: Arc<Engine>,
    /// Handle that keeps the context alive; `None` for a read that belongs to a copy between contexts.
    #[expect(dead_code, reason = "held, not read: the context lives as long as the read")]
    pub(crate) keep: Option<Owner>,
    pub(crate) point: Point,
    /// History of `point`, with the clock of the work before it. As long as it is held, the program counts as having a
    /// handle of `point`.
    pub(crate) past: Arc<PointHistory>,
    pub(crate) span: Span,
    /// Where the bytes are.
    pub(crate) slot: Arc<ReadSlot>,
    pub(crate) len: usize,
    /// Target of the elements. Its memory is used again.
    pub(crate) out: Vec<T>,
}

impl<T: Element> Reading<T> {
    /// Makes the read use the memory of `out`.
    pub(crate) fn reusing(mut self, out: Vec<T>) -> Self {
        self.out = out;
        self
    }

    /// Copies the bytes to `into`. The read's own point must be complete. If a batch must complete before the bytes are
    /// there, returns that batch, and the caller must wait for it and call again. The first call already copies the
    /// bytes that a lazy read has left in the block, because a later writer may overwrite them.
    fn fetch_into(&self, into: &mut [T]) -> Result<Option<Seq>> {
        let first = self.fetch_bytes(bytemuck::cast_slice_mut(into))?;
        if first.is_none() {
            // The host clock covers the work that the program knows to be complete, so the read is added only after its
            // last byte is copied.
            self.engine.report_done(self.point, &self.past.clock, &Ok(()));
        }
        Ok(first)
    }

    /// Reports to the host clock that the read has failed, and returns the error.
    fn failed(&self, error: Error) -> Error {
        self.engine.report_done(self.point, &self.past.clock, &Err(error.clone()));
        error
    }

    /// Copies the bytes as [`fetch_into`](Self::fetch_into) does, but without a report to the host clock.
    pub(crate) fn fetch_bytes(&self, bytes: &mut [u8]) -> Result<Option<Seq>> {
        self.gather(self.span.offset, &self.slot, bytes)
    }

    /// Copies the bytes of `slot` and of its parts to `bytes`, which begins at byte `offset` of the block.
    fn gather(&self, offset: u64, slot: &Arc<ReadSlot>, bytes: &mut [u8]) -> Result<Option<Seq>> {
        let engine = &self.engine;
        let within = |range: Range<u64>, bytes: &[u8]| {
            let at = |byte: u64| ((byte - offset) as usize).min(bytes.len());
            at(range.start)..at(range.end)
        };
        if let Some((access, ranges)) = engine.claim_lazy(&self.span.block, slot) {
            for range in ranges {
                let at = within(range.clone(), bytes);
                access.read(range.start, &mut bytes[at]);
            }
        }
        if let Some(seq) = slot.saving_batch()
            && !engine.lock().batches.is_done(seq)
        {
            return Ok(Some(seq));
        }
        match slot.state() {
            ReadState::Staged(staging) => {
                let copied = staging.copy_out(bytes);
                engine.checked(copied.map_err(|lost| engine.device.caps().lost(lost).into()))?;
            }
            ReadState::Taken(taken) => bytes.copy_from_slice(&taken[..bytes.len()]),
            ReadState::Lazy => {}
            ReadState::Queued | ReadState::Staging | ReadState::Dropped => return Err(lost_bytes()),
        }
        for (range, part) in slot.parts() {
            let at = within(range.clone(), bytes);
            if let Some(seq) = self.gather(range.start, &part, &mut bytes[at])? {
                return Ok(Some(seq));
            }
        }
        Ok(None)
    }

    /// Copies the elements to `out` as [`fetch_into`](Self::fetch_into) does. Returns `Fetched::After` if a batch must
    /// complete first. Then, and after an error, `out` has the bytes copied so far, so the call can be repeated.
    fn fetch(&mut self) -> Result<Fetched<T>> {
        let mut out = std::mem::take(&mut self.out);
        out.resize(self.len, T::zeroed());
        let unfinished = match self.fetch_into(&mut out) {
            Ok(None) => return Ok(Fetched::Here(out)),
            Ok(Some(seq)) => Ok(Fetched::After(seq)),
            Err(error) => Err(error),
        };
        self.out = out;
        unfinished
    }
}

enum Fetched<T> {
    Here(Vec<T>),
    After(Seq),
}

impl<T: Element> Reading<T> {
    /// Blocks until the elements are in `into`, which has the length of the read.
    pub(crate) fn wait_into(&mut self, into: &mut [T]) -> Result<()> {
        if cfg!(target_arch = "wasm32") {
            let elements = block_on(Deadline::after(None), |mode| self.advance(mode))?;
            into.copy_from_slice(&elements.ok_or(fencepost_sync::Error::WouldBlock)?);
            return Ok(());
        }
        let engine = self.engine.clone();
        engine.wait(self.point, Deadline::after(None)).map_err(|error| self.failed(error))?;
        while let Some(seq) = self.fetch_into(into)? {
            engine.wait_for(WaitTarget::Batch(seq), Deadline::after(None))?;
        }
        Ok(())
    }
}

/// Returns the error of a read if the batch that should have saved its bytes was refused.
fn lost_bytes() -> Error {
    let object = "a read".into();
    let message = "the submission that should have copied the bytes failed".into();
    ErrorDetail::Device { object, message }.into()
}

impl<T: Element> LateSteps<Vec<T>> for Reading<T> {
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<Vec<T>>> {
        let engine = self.engine.clone();
        if let Err(error) = mode.for_point(&engine, self.point, &mut self.registration)? {
            return Some(Err(self.failed(error)));
        }
        loop {
            let seq = match self.fetch() {
                Err(error) => return Some(Err(error)),
                Ok(Fetched::Here(out)) => return Some(Ok(out)),
                Ok(Fetched::After(seq)) => seq,
            };
            if let Err(error) = mode.for_target(&engine, WaitTarget::Batch(seq), &mut self.registration)? {
                return Some(Err(error));
            }
        }
    }
}

impl<T> Drop for Reading<T> {
    fn drop(&mut self) {
        self.engine.drop_read(&self.span.block, &self.slot);
        self.engine.notify_due_threads();
    }
}

/// Where the bytes of an output of one replay are.
pub(crate) struct OutputPlace {
    pub(crate) owner: Owner,
    /// End of the replay.
    pub(crate) point: Point,
    pub(crate) past: Arc<PointHistory>,
    pub(crate) slot: Arc<ReadSlot>,
}

/// The output that the last replay downloads to a pinned array in ordinary memory, kept until the array takes it.
#[derive(Default)]
pub(crate) struct ReplayedDownload(Mutex<Option<OutputPlace>>);

impl ReplayedDownload {
    /// Records where the bytes of a replay will be. Earlier replays that are reported later are ignored.
    pub(crate) fn expect(&self, place: OutputPlace) {
        let mut last = lock(&self.0);
        if last.as_ref().is_some_and(|known| known.point.stamp > place.point.stamp) {
            return;
        }
        let before = last.replace(place);
        drop(last); // the previous place may hold the last handle of a context
        drop(before);
    }

    pub(crate) fn take(&self) -> Option<OutputPlace> {
        lock(&self.0).take()
    }
}

/// The read of an output of a replay.
struct OutputRead<T, R> {
    registration: WakerRegistration,
    place: OutputPlace,
    /// A handle of the replay. As long as there is one, the output counts as wanted.
    _replay: R,
    len: usize,
    element: std::marker::PhantomData<fn() -> T>,
}

impl OutputPlace {
    /// Returns the elements once the replay is complete. The result keeps `replay`, a handle of the replay, alive.
    pub(crate) fn read<T: Element>(self, len: usize, replay: impl MaybeSend + 'static) -> Pending<Vec<T>> {
        late(self.steps::<T>(len, replay))
    }

    /// Returns the steps that produce the result of [`read`](Self::read).
    pub(crate) fn steps<T: Element>(
        self,
        len: usize,
        replay: impl MaybeSend + 'static,
    ) -> impl LateSteps<Vec<T>> + 'static {
        let registration = WakerRegistration::default();
        let element = std::marker::PhantomData;
        OutputRead::<T, _> { registration, place: self, _replay: replay, len, element }
    }
}

impl<T: Element, R> OutputRead<T, R> {
    fn fetch(&self) -> Result<Vec<T>> {
        let engine = self.place.owner.engine();
        let ReadState::Staged(staging) = self.place.slot.state() else {
            let object = "an output".into();
            let message = "the replay has not copied the bytes".into();
            return Err(ErrorDetail::Device { object, message }.into());
        };
        let mut out = vec![T::zeroed(); self.len];
        let copied = staging.copy_out(bytemuck::cast_slice_mut(&mut out));
        engine.checked(copied.map_err(|lost| Error::from(engine.device.caps().lost(lost))))?;
        Ok(out)
    }
}

impl<T: Element, R: MaybeSend> LateSteps<Vec<T>> for OutputRead<T, R> {
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<Vec<T>>> {
        let OutputPlace { owner, point, past, .. } = &self.place;
        let answer = mode.for_point(owner.engine(), *point, &mut self.registration)?;
        owner.engine().report_done(*point, &past.clock, &answer);
        Some(answer.and_then(|()| self.fetch()))
    }
}

impl<T, R> Drop for OutputRead<T, R> {
    fn drop(&mut self) {
        self.place.owner.engine().notify_due_threads();
    }
}

/// The message buffer of a launch. In a graph, each launch has a separate one, because each replay reads them all after
/// its last node.
pub(crate) struct MessageBuffer {
    pub(crate) storage: Arc<Storage>,
    pub(crate) size: u64,
    pub(crate) source: Arc<MessageSource>,
}

impl MessageBuffer {
    /// Returns the buffer as the binding `at` of its kernel.
    pub(crate) fn bound(&self, at: usize) -> BoundArray {
        let block = self.storage.block().clone();
        let used = Some(Access::ReadWrite);
        BoundArray { at: at as u32, block, offset: 0, size: self.size, used }
    }

    /// Returns the work that clears the buffer before a launch.
    pub(crate) fn clear(&self) -> Work {
        let size = self.source.messages.zeros().into();
        let dst = Span { block: self.storage.block().clone(), offset: 0, size };
        Work::Fill { dst, pattern: Pattern::ZERO }
    }

    /// Returns the work that reads the buffer after a launch.
    pub(crate) fn read(&self) -> Work {
        let src = Span { block: self.storage.block().clone(), offset: 0, size: self.size };
        Work::Read { src, slot: ReadSlot::of_messages(self.source.clone()) }
    }
}

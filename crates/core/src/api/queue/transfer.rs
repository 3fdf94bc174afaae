//! Transfers of bytes: uploads, downloads, reads, copies and fills.
//!
//! On a device without pinned memory, a pinned array is ordinary memory. A capture executes nothing, so reading to the
//! host is an error there.

use crate::api::graph::replay::PlainSource;
use crate::api::graph::tape::CapturedQueue;
use crate::api::queue::CommandQueue;
use crate::api::queue::region_transfer::{ArrayPart, packed};
use crate::arrays::device_array::{ArrayRef, DeviceArray};
use crate::arrays::host_array::{Download, HostArray, HostMemory};
use crate::arrays::plain_memory::{ComingDownload, PlainMemory};
use crate::arrays::read::Reading;
use crate::arrays::upload_source::{HostRef, PlainBytes, SOURCE, Source, SourceBytes, SourceRef};
use crate::error::{CommandKind, ErrorDetail, Result};
use crate::memory::block::Block;
use crate::memory::read_slot::{ReadSlot, ReadState};
use crate::memory::region::{PaddedShape, Region, Shape, count};
use crate::memory::staging::{KeptBytes, Payload};
use crate::memory::uses::Policy;
use crate::multi::context_copy;
use crate::runtime::captured::check_host_access;
use crate::runtime::event::same_context;
use crate::runtime::owner::Owner;
use crate::runtime::pending::{Pending, WakerRegistration, late_or_error, then};
use crate::scheduler::host_guard::HostGuard;
use crate::scheduler::ordering::Admission;
use crate::scheduler::wait::Caller;
use crate::work::region_copy::RegionCopy;
use crate::work::step::{Pattern, Span, Work, Works};
use fencepost_kernels::Element;
use fencepost_sync::Slot;
use fencepost_sync::prim::lock;
use smallvec::smallvec;
use std::panic::Location;
use std::sync::Arc;

/// Operations on arrays, in the order of one queue or of the context.
pub(crate) struct ArrayOps<'a> {
    pub(crate) owner: &'a Owner,
    pub(crate) by: Admission,
    /// Place of the queue in its capture, if the queue is captured. In that case `by.slot` is the context's own slot.
    pub(crate) captured: Option<&'a CapturedQueue>,
}

impl ArrayOps<'_> {
    pub(crate) fn zeros<T: Element, const D: usize>(&self, shape: Shape<D>) -> Result<DeviceArray<T, D>> {
        self.cleared(self.empty(shape)?)
    }

    pub(crate) fn full<T: Element, const D: usize>(
        &self,
        shape: Shape<D>,
        value: T,
    ) -> Result<DeviceArray<T, D>> {
        let array = self.empty(shape)?;
        self.fill(&array.array, bytemuck::bytes_of(&value))?;
        Ok(array)
    }

    pub(crate) fn array<T: Element>(&self, elements: &[T]) -> Result<DeviceArray<T>> {
        let array = self.empty([elements.len()].into())?;
        self.upload(&array.array, bytemuck::cast_slice(elements))?;
        Ok(array)
    }

    /// Fills an array with an element, given as bytes.
    pub(crate) fn fill(&self, array: &ArrayRef, element: &[u8]) -> Result<()> {
        match Pattern::of(element) {
            Some(pattern) => self.fill_pattern(array, pattern),
            None => self.fill_with_staged(array, element),
        }
    }

    pub(crate) fn fill_pattern(&self, array: &ArrayRef, pattern: Pattern) -> Result<()> {
        let dst = array.words()?;
        self.enqueue(CommandKind::Fill, Work::Fill { dst, pattern })
    }

    /// Uploads `bytes`, which are copied at the call. They go directly into the array if the host can access its
    /// memory, no enqueued or running command uses that memory, the queue is not waiting, and the device does not
    /// postpone the write. Otherwise the bytes go into staging memory, and the device copies them later, in the order
    /// of the queue.
    pub(crate) fn upload(&self, array: &ArrayRef, bytes: &[u8]) -> Result<()> {
        self.upload_words(array.words()?, bytes)
    }

    pub(crate) fn upload_words(&self, dst: Span, bytes: &[u8]) -> Result<()> {
        if dst.block.direct()
            && let Some(access) = self.try_host_write(&dst)?
        {
            access.write(dst.offset, bytes);
            access.writes(dst.range());
            self.finish_host_write(access, dst.size);
            return Ok(());
        }
        let src = self.stage(dst.size, bytes)?;
        self.enqueue(CommandKind::Upload, Work::Upload { src, dst })
    }

    /// Uploads a pinned array. If both arrays have the same layout in memory, one command moves all of the memory,
    /// padding included.
    fn upload_host<T: Element, const D: usize>(
        &self,
        host: HostRef<'_, T>,
        dst: &DeviceArray<T, D>,
    ) -> Result<()> {
        if !host.frame.has_same_layout(dst.frame()) {
            return self.upload_to_part(SourceRef::Host(host), &dst.all());
        }
        same_context(self.owner, host.owner, || "a pinned array".into())?;
        let fits = |len: usize| same_shape(SOURCE, &[len], &[dst.array.len]);
        match host.bytes {
            SourceBytes::Pinned(pinned) => {
                fits(pinned.len)?;
                self.enqueue(
                    CommandKind::Upload,
                    Work::Copy { src: pinned.words()?, dst: dst.array.words()? },
                )
            }
            SourceBytes::Plain(plain) => {
                fits(plain.elements.len())?;
                if self.captured.is_some() {
                    return self.upload_words_per_replay(&plain, dst.array.words()?);
                }
                self.upload(&dst.array, bytemuck::cast_slice(plain.elements))
            }
        }
    }

    /// Enqueues a read of all elements of an array.
    fn read_array<T: Element, const D: usize>(&self, array: &DeviceArray<T, D>) -> Result<Reading<T>> {
        match array.frame().is_full() {
            true => self.read(&array.array),
            false => self.read_part(&array.all()),
        }
    }

    /// Returns staging memory of `size` bytes with `bytes` at its start.
    pub(crate) fn stage(&self, size: u64, bytes: &[u8]) -> Result<Payload> {
        let fill = &mut |staging: &mut [u8]| staging[..bytes.len()].copy_from_slice(bytes);
        let staged = self.owner.engine().stage(size, fill)?;
        Ok(match self.captured {
            None => Payload::Here(staged),
            Some(_) => Payload::Kept(KeptBytes::new(staged, bytes)),
        })
    }

    /// Returns a guard for writing to `dst` on the host. Returns `None` if an enqueued or running command uses the
    /// bytes, if the queue is captured, if `Checked` requires that the upload is a command, or if the device postpones
    /// it.
    pub(crate) fn try_host_write(&self, dst: &Span) -> Result<Option<HostGuard>> {
        if self.captured.is_some() {
            return Ok(None);
        }
        let must_be_a_command = {
            let state = self.owner.engine().lock();
            state.check(self.by.slot)?;
            // Otherwise it would depend on the progress of the device whether there is a hazard.
            let is_checked = state.policy() == Policy::Checked && !state.queues.is_single();
            // The awaited work may fail. Or the program may rely on the wait to order this write after another queue's
            // read.
            let may_stop = state.queue(self.by.slot).may_stop();
            self.by.slot != Slot::CONTEXT && (is_checked || may_stop)
        };
        if must_be_a_command || self.owner.device().postpones() {
            return Ok(None);
        }
        self.owner.engine().try_overwrite(dst)
    }

    /// Ends the host access after a write of `bytes` bytes. If the queue is timed, notes the upload.
    pub(crate) fn finish_host_write(&self, access: HostGuard, bytes: u64) {
        drop(access);
        let mut state = self.owner.engine().lock();
        if state.queue(self.by.slot).timing.is_some() {
            state.note_in_place(self.by, bytes);
        }
    }

    pub(crate) fn enqueue(&self, what: CommandKind, work: Work) -> Result<()> {
        if work.is_empty() {
            return Ok(());
        }
        if let Some(captured) = self.captured {
            return captured.push((what, self.by.at), work, None, None).map(|_| ());
        }
        self.owner.engine().enqueue(Admission { what, ..self.by }, work).map(|_| ())
    }

    /// Enqueues all of the works or none, with no other command between them.
    pub(crate) fn enqueue_all_or_none(&self, works: Works) -> Result<()> {
        if let Some(captured) = self.captured {
            let push = |work| captured.push((self.by.what, self.by.at), work, None, None).map(|_| ());
            return works.into_iter().try_for_each(push);
        }
        self.owner.engine().enqueue_all_or_none(self.by, works)
    }

    /// Copies `src` to `dst`. The two may overlap, and one of them may belong to another context.
    pub(crate) fn copy_words(
        &self,
        (source, src): (&Owner, Span),
        (target, dst): (&Owner, Span),
    ) -> Result<()> {
        if source.is(target) || dst.size == 0 {
            return self.enqueue(self.by.what, Work::Copy { src, dst });
        }
        self.copy_between((source, target), RegionCopy::run(src, dst))
    }

    /// Copies between an array of the queue's context and an array of another context.
    pub(crate) fn copy_between(&self, (source, target): (&Owner, &Owner), copy: RegionCopy) -> Result<()> {
        match self.captured {
            None => context_copy::copy(self.owner, self.by, (source, target), &copy),
            Some(captured) => captured.copy_between(self.by.at, (source, target), copy),
        }
    }

    pub(crate) fn read<T: Element>(&self, array: &ArrayRef) -> Result<Reading<T>> {
        self.read_words(array.words()?, array.len)
    }

    /// Enqueues a read of the first `len` elements of `span`.
    pub(crate) fn read_words<T: Element>(&self, span: Span, len: usize) -> Result<Reading<T>> {
        self.not_captured("download", READ_IN_CAPTURE)?;
        self.check_host_read(&span.block)?;
        let slot = ReadSlot::new();
        let engine = self.owner.engine();
        let work = Work::Read { src: span.clone(), slot: slot.clone() };
        if self.by.slot == Slot::CONTEXT {
            engine.enqueue_mapped(self.by, work)?;
        } else if work.is_empty() {
            slot.set(ReadState::Taken(Arc::new([])));
        } else {
            engine.enqueue(self.by, work)?;
        }
        let (point, past) = engine.marker(self.by.slot);
        let registration = WakerRegistration::default();
        let engine = engine.clone();
        let keep = Some(self.owner.clone());
        Ok(Reading { registration, engine, keep, point, past, span, slot, len, out: Vec::new() })
    }
}

impl ArrayOps<'_> {
    /// Returns an error if the queue is captured. The capture fails with the error too.
    pub(crate) fn not_captured(&self, call: &'static str, remedy: &'static str) -> Result<()> {
        match self.captured {
            None => Ok(()),
            Some(captured) => Err(captured.refuse(call, &captured.label, self.by.at, remedy)),
        }
    }
}

/// Remedy for a read in a capture.
const READ_IN_CAPTURE: &str =
    "a capture executes nothing: use `Capture::read_as`, and read the output of the replay";
/// Remedy for a read in a body.
pub(crate) const READ_IN_BODY: &str =
    "a body returns nothing to the host: read the array after the condition or the loop";

impl Work {
    /// Returns `true` for a transfer of no bytes.
    fn is_empty(&self) -> bool {
        match self {
            Work::Copy { dst, .. } | Work::Fill { dst, .. } | Work::Upload { dst, .. } => dst.size == 0,
            Work::Read { src, .. } => src.size == 0,
            Work::Launch(_)
            | Work::WgpuCommands(_)
            | Work::Graph(_)
            | Work::Region(_)
            | Work::Gate(_)
            | Work::Start(_)
            | Work::End(_)
            | Work::QueueFence
            | Work::Nothing => false,
        }
    }
}

impl Owner {
    /// Enqueues a read for a map's guard, as a command of the context itself. While it is mapped, an array takes no
    /// other commands.
    pub(crate) fn read_for_context<T: Element>(
        &self,
        array: &ArrayRef,
        at: &'static Location<'static>,
    ) -> Result<Reading<T>> {
        let by = Admission { slot: Slot::CONTEXT, what: CommandKind::Map, at };
        ArrayOps { owner: self, by, captured: None }.read(array)
    }
}

/// Checks that two shapes are equal.
pub(crate) fn same_shape(object: &str, found: &[usize], expected: &[usize]) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    let object = object.into();
    let found = found.into();
    let expected = expected.into();
    let remedy = "pass one of that shape, or take a part of the larger of the two";
    Err(ErrorDetail::Shape { object, found, expected, remedy }.into())
}

impl CommandQueue {
    /// Returns the remedy for a read, if the queue is captured.
    pub(crate) fn remedy_for_read(&self) -> &'static str {
        if self.is_in_body() { READ_IN_BODY } else { READ_IN_CAPTURE }
    }

    #[track_caller]
    pub(crate) fn array_ops(&self, what: CommandKind) -> Result<ArrayOps<'_>> {
        let at = Location::caller();
        let captured = self.captured_queue();
        let slot = match captured {
            None => self.slot()?,
            Some(captured) => {
                captured.begin_call();
                Slot::CONTEXT
            }
        };
        Ok(ArrayOps { owner: self.owner(), by: Admission { slot, what, at }, captured })
    }

    pub(crate) fn check_own_array(&self, array: &ArrayRef) -> Result<()> {
        same_context(self.owner(), &array.storage.owner, || format!("array `{}`", array.storage.label()))
    }

    /// Enqueues a copy on this queue. If neither array belongs to this context, the copy runs on a queue of the
    /// target's context, but still in the order of this queue.
    #[track_caller]
    pub(crate) fn enqueue_copy(
        &self,
        source: &Owner,
        target: &Owner,
        copy: impl FnOnce(&ArrayOps<'_>) -> Result<()>,
    ) -> Result<()> {
        let maker = self.array_ops(CommandKind::Copy)?;
        if [source, target].iter().any(|side| side.is(self.owner())) {
            return copy(&maker);
        }
        if let Some(captured) = maker.captured {
            let side = captured.fork_on(target, &format!("{}, copy elsewhere", self.label()), maker.by.at)?;
            copy(&ArrayOps { owner: target, by: maker.by, captured: Some(&side) })?;
            return captured.wait(&side.point("copy", maker.by.at)?, maker.by.at);
        }
        context_copy::enqueue_elsewhere((self.owner(), maker.by), target, |by| {
            copy(&ArrayOps { owner: target, by, captured: None })
        })
    }

    /// *Enqueues* a fill: every element becomes `value`.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Alignment`] for a slice that starts or ends inside a word of 4 bytes; [`ErrorDetail::Mapped`];
    /// [`ErrorDetail::ForeignContext`] for an array of another context; [`ErrorDetail::Hazard`] under `Checked`; the queue's own
    /// error.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<f32, 1>([4])?;
    /// queue.fill(&mut x.slice(1..3)?, 7.0)?;
    /// assert_eq!(queue.read(&x).wait()?, [0.0, 7.0, 7.0, 0.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn fill<T: Element, const D: usize>(&self, array: &mut DeviceArray<T, D>, value: T) -> Result<()> {
        self.check_own_array(&array.array)?;
        self.array_ops(CommandKind::Fill)?.fill(&array.array, bytemuck::bytes_of(&value))
    }

    /// *Enqueues* a copy of host elements into device memory. Ordinary memory is copied at the call. The device reads a
    /// pinned array later, so [`host_mut`](HostArray::host_mut) of that array waits for the upload.
    ///
    /// # Shape
    /// `src` has as many elements as `dst`.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Shape`] if the numbers differ, and the errors of [`fill`](Self::fill).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<f32, 1>([4])?;
    /// queue.upload(&[1.0, 2.0], &mut x.slice(1..3)?)?;
    /// assert_eq!(queue.read(&x).wait()?, [0.0, 1.0, 2.0, 0.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    /// [`HostArray::slice`] selects a part of a pinned array.
    #[track_caller]
    pub fn upload<T: Element, const D: usize>(
        &self,
        src: &(impl Source<T> + ?Sized),
        dst: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        self.check_own_array(&dst.array)?;
        let maker = self.array_ops(CommandKind::Upload)?;
        src.source(&mut |source| match source {
            SourceRef::Host(host) => maker.upload_host(host, dst),
            SourceRef::Slice(slice) if dst.frame().is_full() => {
                same_shape(SOURCE, &[slice.len()], &[dst.len()])?;
                maker.upload(&dst.array, bytemuck::cast_slice(slice))
            }
            SourceRef::Slice(_) => maker.upload_to_part(source, &dst.all()),
        })
    }

    /// *Enqueues* a copy of device memory into a pinned host array, whose [`host`](HostArray::host) waits for the copy.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Shape`] if the numbers of elements differ, and the errors of [`fill`](Self::fill).
    ///
    /// # Example
    /// ```
    /// use fencepost::{Download, HostArray};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = queue.array(&[1_u32, 2, 3, 4])?;
    /// let mut host: HostArray<u32, Download> = ctx.pinned([2])?;
    /// queue.download(&x.slice(2..4)?, &mut host)?;
    /// assert_eq!(*host.host()?, [3, 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn download<T: Element, const D: usize, const E: usize>(
        &self,
        src: &DeviceArray<T, D>,
        dst: &mut HostArray<T, Download, E>,
    ) -> Result<()> {
        self.check_own_array(&src.array)?;
        dst.check_owner(self.owner())?;
        dst.end_leaked_guards(true);
        let maker = self.array_ops(CommandKind::Download)?;
        maker.check_host_read(src.array.storage.block())?;
        if !dst.frame().has_same_layout(src.frame()) {
            return maker.download_from_part(&src.all(), dst);
        }
        same_shape("the target of a download", &[dst.len()], &[src.len()])?;
        match &dst.place {
            HostMemory::Pinned(pinned) => maker
                .enqueue(CommandKind::Download, Work::Copy { src: src.array.words()?, dst: pinned.words()? }),
            HostMemory::Plain(_, plain) => {
                maker.download_plain((src.array.words()?, src.array.len), (plain, dst.shared_label()))
            }
        }
    }

    /// *Flushes*; the result is the elements as they are at this point of the queue. It comes when everything enqueued
    /// so far on this queue is complete. Later commands do not change it.
    ///
    /// # Errors
    /// The result is [`ErrorDetail::Alignment`], [`ErrorDetail::Mapped`], [`ErrorDetail::ForeignContext`], [`ErrorDetail::Hazard`] under `Checked`,
    /// the error of the work, or the queue's own error.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = queue.array(&[1_u32, 2, 3])?;
    /// let before = queue.read(&x);
    /// queue.fill(&mut x, 0)?;
    /// assert_eq!(before.wait()?, [1, 2, 3]);
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn read<T: Element, const D: usize>(&self, array: &DeviceArray<T, D>) -> Pending<Vec<T>> {
        late_or_error(self.enqueue_read("read", &array.array, |maker| maker.read_array(array)))
    }

    /// Enqueues a read of an array of this context, and flushes the queue. `call` is the name of the program's call.
    #[track_caller]
    pub(crate) fn enqueue_read<T: Element>(
        &self,
        call: &'static str,
        array: &ArrayRef,
        read: impl FnOnce(&ArrayOps<'_>) -> Result<Reading<T>>,
    ) -> Result<Reading<T>> {
        self.not_captured(call, self.remedy_for_read())?;
        let maker = self.array_ops(CommandKind::Read)?;
        self.check_own_array(array)?;
        let reading = read(&maker)?;
        self.owner().engine().flush(maker.by.slot, Caller::Waits)?;
        Ok(reading)
    }

    /// Reads as [`read`](Self::read) does, into memory that the program has.
    ///
    /// The call blocks until a mutable slice has the elements. Given a `Vec`, it returns a [`Pending`] with the same
    /// `Vec`, which has the elements in place of its own; if its memory is large enough, nothing is allocated.
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read); for a slice, [`ErrorDetail::Shape`] if it has more or fewer elements
    /// than the array, and [`ErrorDetail::WouldBlock`] in a browser, where no call may block.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = queue.array(&[1_u32, 2, 3])?;
    /// let mut host = [0; 3];
    /// queue.read_into(&x, &mut host)?;
    /// let again = queue.read_into(&x, Vec::with_capacity(3)).wait()?;
    /// assert_eq!((host, again), ([1, 2, 3], vec![1, 2, 3]));
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn read_into<T: Element, const D: usize, R: ReadTarget<T>>(
        &self,
        array: &DeviceArray<T, D>,
        out: R,
    ) -> R::Output {
        let shape =
            out.slice_len().map_or(Ok(()), |len| same_shape("the target of a read", &[len], &[array.len()]));
        let reading = match shape {
            Ok(()) => self.enqueue_read("read_into", &array.array, |maker| maker.read_array(array)),
            Err(refused) => Err(refused),
        };
        out.take(reading)
    }

    /// *Enqueues* a copy from one array to another, or between parts of one array, which may overlap.
    ///
    /// One of the two arrays may belong to another context, on any adapter. Then the bytes go through staging memory of
    /// both contexts, in pieces of a few megabytes: while one piece is written, the next one is read. The calling
    /// thread does not wait. In the other context, its policy orders the copy between earlier and later uses of the
    /// array; here `Checked` adds waits as `Ordered` does. If the other context fails, this queue fails with
    /// [`ErrorDetail::OtherContext`], and the target may hold a part of the bytes.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Shape`] if the shapes differ. Returns [`ErrorDetail::OutOfMemory`] for a copy inside one
    /// array, and for padded arrays of two contexts, because these copies need temporary memory. Returns the errors of
    /// [`fill`](Self::fill).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = queue.array(&[1_u32, 2, 3, 4])?;
    /// queue.copy(&x.slice(0..3)?, &mut x.slice(1..4)?)?;
    /// assert_eq!(queue.read(&x).wait()?, [1, 1, 2, 3]);
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn copy<T: Element, const D: usize>(
        &self,
        src: &DeviceArray<T, D>,
        dst: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        same_shape("the target of a copy", &dst.shape(), &src.shape())?;
        let source = &src.array.storage.owner;
        let target = &dst.array.storage.owner;
        self.enqueue_copy(source, target, |maker| {
            if !src.frame().is_full() || !dst.frame().is_full() {
                return maker.copy_part(&src.all(), &dst.all());
            }
            maker.copy_words((source, src.array.words()?), (target, dst.array.words()?))
        })
    }
}

impl ArrayOps<'_> {
    /// Downloads the first `len` elements of `src` to a pinned array in ordinary memory. In a capture, each replay
    /// downloads anew.
    pub(crate) fn download_plain<T: Element>(
        &self,
        (src, len): (Span, usize),
        (memory, label): (&Arc<PlainMemory<T>>, &Arc<str>),
    ) -> Result<()> {
        match self.captured {
            Some(_) if src.size == 0 => Ok(()),
            Some(captured) => captured.download(self.by.at, (src, len), (memory, label)),
            None => {
                let reading = self.read_words(src, len)?;
                let stamp = reading.point.stamp;
                lock(memory).expect(stamp, ComingDownload::of_read(reading));
                Ok(())
            }
        }
    }

    /// Captures an upload from a pinned array in ordinary memory to `dst`. Each replay uploads the bytes of that
    /// moment.
    pub(crate) fn upload_words_per_replay<T: Element>(
        &self,
        plain: &PlainBytes<'_, T>,
        dst: Span,
    ) -> Result<()> {
        let range = plain.range.clone();
        let src = source(plain, dst.size, move |all| bytemuck::cast_slice(&all[range.clone()]).to_vec());
        self.enqueue(CommandKind::Upload, Work::Upload { src, dst })
    }

    /// Captures an upload as [`upload_words_per_replay`](Self::upload_words_per_replay) does, to elements that may have
    /// gaps between them. The pinned array has the layout `frame`.
    pub(crate) fn upload_part_per_replay<T: Element>(
        &self,
        plain: &PlainBytes<'_, T>,
        frame: PaddedShape<'_>,
        dst: &ArrayPart,
    ) -> Result<()> {
        let range = plain.range.clone();
        let shape = frame.shape.to_vec();
        let padded = frame.padded.to_vec();
        let bytes = move |all: &[T]| {
            let frame = PaddedShape { shape: &shape, padded: &padded };
            bytemuck::cast_slice(&packed(&all[range.clone()], frame)).to_vec()
        };
        if count(frame.shape) == 0 {
            return Ok(());
        }
        if let Some(dst) = dst.words() {
            let src = source(plain, dst.size, bytes);
            return self.enqueue(self.by.what, Work::Upload { src, dst });
        }
        let between = dst.packed_in(self)?;
        let over = between.span();
        let src = source(plain, over.size, bytes);
        self.enqueue_all_or_none(smallvec![Work::Upload { src, dst: over }, between.copy_to(dst).into()])
    }
}

/// Returns the source of an upload of `size` bytes. `bytes` takes these bytes from the whole array.
fn source<T: Element>(
    plain: &PlainBytes<'_, T>,
    size: u64,
    bytes: impl Fn(&[T]) -> Vec<u8> + Send + Sync + 'static,
) -> Payload {
    let label = plain.label.clone();
    let elements = plain.memory.clone();
    Payload::PerReplay(Arc::new(PlainSource { label, elements, size, bytes: Box::new(bytes) }))
}

impl CommandQueue {
    /// *Flushes*; the result is the element at `index`. Reads as [`read`](Self::read) does.
    ///
    /// # Errors
    /// The result is [`ErrorDetail::RegionIndex`](crate::ErrorDetail::RegionIndex) if `index` is outside the array, or an error of
    /// [`read`](Self::read).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<f32, 2>([2, 3])?;
    /// queue.set(&mut x, [1, 2], 4.0)?;
    /// assert_eq!(queue.get(&x, [1, 2]).wait()?, 4.0);
    /// assert!(queue.get(&x, [2, 0]).wait().is_err());
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn get<T: Element, const D: usize>(
        &self,
        array: &DeviceArray<T, D>,
        index: [usize; D],
    ) -> Pending<T> {
        if let Err(refused) = self.not_captured("get", self.remedy_for_read()) {
            return Pending::ready(Err(refused));
        }
        then(self.read_region(array, Region::index(index)), |elements: Vec<T>| Ok(elements[0]))
    }

    /// *Enqueues* an upload of `value` to the element at `index`.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::RegionIndex`](crate::ErrorDetail::RegionIndex) if `index` is outside the array, and the errors of
    /// [`upload`](Self::upload).
    ///
    /// # Example
    /// See [`get`](Self::get).
    #[track_caller]
    pub fn set<T: Element, const D: usize>(
        &self,
        array: &mut DeviceArray<T, D>,
        index: [usize; D],
        value: T,
    ) -> Result<()> {
        self.upload_region(&[value], array, Region::index(index))
    }
}

impl ArrayOps<'_> {
    /// Checks that no open capture of this thread writes memory that the host reads. A map makes this check itself when
    /// it is called, because it may read later.
    ///
    /// # Errors
    /// Returns `Captured`, which is the error of the capture too.
    pub(crate) fn check_host_read(&self, block: &Arc<Block>) -> Result<()> {
        if self.captured.is_some() || self.by.what == CommandKind::Map {
            return Ok(());
        }
        check_host_access(block.into(), self.by.what.verb(), self.by.at)
    }
}

/// Host memory that [`CommandQueue::read_into`] fills: `&mut` of a slice, an array or a `Vec`, or a `Vec` that the
/// [`Pending`] of the read returns.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not memory for elements of type `{T}`",
    note = "`read_into` takes `&mut` of a slice, an array or a `Vec`, or a `Vec` by value"
)]
pub trait ReadTarget<T>: sealed::Target<T> {}

impl<T: Element, R: sealed::Target<T>> ReadTarget<T> for R {}

#[expect(private_interfaces, reason = "programs cannot name the trait")]
mod sealed {
    use crate::arrays::read::Reading;
    use crate::error::Result;
    use crate::runtime::pending::{Pending, late_or_error};
    use fencepost_kernels::Element;

    pub trait Target<T> {
        type Output;

        /// Returns the number of elements that must be read, if only one number is possible.
        fn slice_len(&self) -> Option<usize>;

        /// Puts the elements into the memory.
        fn take(self, reading: Result<Reading<T>>) -> Self::Output;
    }

    impl<T: Element> Target<T> for &mut [T] {
        type Output = Result<()>;

        fn slice_len(&self) -> Option<usize> {
            Some(self.len())
        }

        fn take(self, reading: Result<Reading<T>>) -> Result<()> {
            reading?.wait_into(self)
        }
    }

    impl<T: Element, const N: usize> Target<T> for &mut [T; N] {
        type Output = Result<()>;

        fn slice_len(&self) -> Option<usize> {
            Some(N)
        }

        fn take(self, reading: Result<Reading<T>>) -> Result<()> {
            self.as_mut_slice().take(reading)
        }
    }

    impl<T: Element> Target<T> for &mut Vec<T> {
        type Output = Result<()>;

        fn slice_len(&self) -> Option<usize> {
            Some(self.len())
        }

        fn take(self, reading: Result<Reading<T>>) -> Result<()> {
            self.as_mut_slice().take(reading)
        }
    }

    impl<T: Element> Target<T> for Vec<T> {
        type Output = Pending<Vec<T>>;

        fn slice_len(&self) -> Option<usize> {
            None
        }

        fn take(self, reading: Result<Reading<T>>) -> Pending<Vec<T>> {
            late_or_error(reading.map(|reading| reading.reusing(self)))
        }
    }
}

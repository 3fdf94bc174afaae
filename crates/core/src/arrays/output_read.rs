//! The read of an output of one replay.

use crate::error::{Error, Kind, Result};
use crate::memory::read_slot::{ReadSlot, ReadState};
use crate::runtime::owner::Owner;
use crate::runtime::pending::{Pending, WakerRegistration};
use crate::runtime::wait_mode::{LateSteps, WaitMode, late};
use crate::scheduler::failure_history::PointHistory;
use fencepost_kernels::Element;
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{MaybeSend, Point};
use std::sync::Arc;

/// Place of the bytes of an output of one replay.
pub(crate) struct OutputPlace {
    pub(crate) owner: Owner,
    /// End of the replay.
    pub(crate) point: Point,
    pub(crate) past: Arc<PointHistory>,
    pub(crate) slot: Arc<ReadSlot>,
}

/// The output that the last replay downloads to a pinned array in ordinary memory, until the array takes it.
#[derive(Default)]
pub(crate) struct ReplayedDownload(Mutex<Option<OutputPlace>>);

impl ReplayedDownload {
    /// Records where a replay will have the bytes. An earlier replay that is reported later is ignored.
    pub(crate) fn expect(&self, place: OutputPlace) {
        let mut last = lock(&self.0);
        if last.as_ref().is_some_and(|known| known.point.stamp > place.point.stamp) {
            return;
        }
        let before = last.replace(place);
        drop(last); // the place before may hold the last handle of a context
        drop(before);
    }

    pub(crate) fn take(&self) -> Option<OutputPlace> {
        lock(&self.0).take()
    }
}

/// A handle of a replay.
pub(crate) trait KeptReplay: MaybeSend {}

/// The read of an output, whose elements exist once the replay is complete.
struct OutputRead<T> {
    registration: WakerRegistration,
    place: OutputPlace,
    #[expect(
        dead_code,
        reason = "held, not read: the output counts as wanted as long as the replay has a handle"
    )]
    replay: Option<Box<dyn KeptReplay>>,
    len: usize,
    element: std::marker::PhantomData<fn() -> T>,
}

impl OutputPlace {
    /// Returns the elements when they are there. `replay` is a handle of the replay, which the result keeps.
    pub(crate) fn read<T: Element>(self, len: usize, replay: Option<Box<dyn KeptReplay>>) -> Pending<Vec<T>> {
        let (registration, element) = (WakerRegistration::default(), std::marker::PhantomData);
        late(OutputRead { registration, place: self, replay, len, element })
    }
}

impl<T: Element> OutputRead<T> {
    fn fetch(&self) -> Result<Vec<T>> {
        let engine = self.place.owner.engine();
        let ReadState::Staged(staging) = self.place.slot.place() else {
            let (object, message) = ("an output".into(), "the replay has not copied the bytes".into());
            return Err(Kind::Device { object, message }.into());
        };
        let mut out = vec![T::zeroed(); self.len];
        let copied = staging.copy_out(bytemuck::cast_slice_mut(&mut out));
        engine.checked(copied.map_err(|lost| Error::from(engine.device.caps().lost(lost))))?;
        Ok(out)
    }
}

impl<T: Element> LateSteps<Vec<T>> for OutputRead<T> {
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<Vec<T>>> {
        let OutputPlace { owner, point, past, .. } = &self.place;
        let answer = mode.for_point(owner.engine(), *point, &mut self.registration)?;
        owner.engine().report_done(*point, &past.clock, &answer);
        Some(answer.and_then(|()| self.fetch()))
    }
}

impl<T> Drop for OutputRead<T> {
    fn drop(&mut self) {
        self.place.owner.engine().notify_due_threads();
    }
}

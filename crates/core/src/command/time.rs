//! When a device did a command.

use super::Work;
use crate::memory::{Place, ReadSlot};
use fencepost_sync::Lost;
use fencepost_sync::prim::{Mutex, lock};
use std::sync::{Arc, OnceLock};

/// A command of a timed queue.
pub(crate) struct Timed {
    pub(crate) work: Work,
    pub(crate) time: Arc<TimeSlot>,
}

/// When a device did one command: whoever records it says where that is to be found.
#[derive(Default)]
pub(crate) struct TimeSlot(Mutex<Option<Whereabouts>>);

#[derive(Clone)]
enum Whereabouts {
    Here(Ticks),
    /// The two at this place of a page.
    Page(Arc<TickPage>, usize),
}

/// What a clock showed before and after a command; 0 where it showed nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticks {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// What a device's clock showed before and after each timed command of a batch, or of a part of it.
pub(crate) struct TickPage {
    read: Arc<ReadSlot>,
    commands: usize,
    fetched: OnceLock<Result<Box<[Ticks]>, Lost>>,
}

impl TimeSlot {
    /// Says what the clock shows.
    pub(crate) fn set(&self, ticks: Ticks) {
        *lock(&self.0) = Some(Whereabouts::Here(ticks));
    }

    /// Says what the clock shows at the end, where it was said what it showed at the start.
    pub(crate) fn end(&self, end: u64) {
        if let Some(Whereabouts::Here(ticks)) = &mut *lock(&self.0) {
            ticks.end = end;
        }
    }

    /// Its ticks; `None` if the command was never recorded. Only after the command is complete.
    ///
    /// # Errors
    /// `Lost` if they are gone with their device.
    pub(crate) fn ticks(&self) -> Result<Option<Ticks>, Lost> {
        let whereabouts = lock(&self.0).clone();
        match whereabouts {
            None => Ok(None),
            Some(Whereabouts::Here(ticks)) => Ok(Some(ticks)),
            Some(Whereabouts::Page(page, at)) => page.ticks(at).map(Some),
        }
    }
}

impl TickPage {
    /// Bytes of the ticks of one command.
    pub(crate) const EACH: usize = 16;

    /// Tells `times`, in this order, that their ticks are what `read` will have read.
    pub(crate) fn give(read: Arc<ReadSlot>, times: &[Arc<TimeSlot>]) {
        let page = Arc::new(Self { read, commands: times.len(), fetched: OnceLock::new() });
        for (at, time) in times.iter().enumerate() {
            *lock(&time.0) = Some(Whereabouts::Page(page.clone(), at));
        }
    }

    fn ticks(&self, at: usize) -> Result<Ticks, Lost> {
        let all = self.fetched.get_or_init(|| self.fetch()).as_ref();
        all.map(|ticks| ticks[at]).map_err(Lost::clone)
    }

    /// Copies all of them out, and lets the staging memory go.
    fn fetch(&self) -> Result<Box<[Ticks]>, Lost> {
        let mut bytes = vec![0; self.commands * Self::EACH];
        match self.read.place() {
            Place::Staged(from) => from.copy_out(&mut bytes)?,
            _ => return Err(Lost { reason: "the times were never read back".into() }),
        }
        self.read.set(Place::Dropped);
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let ticks = |both: &[u8]| Ticks { start: number(&both[..8]), end: number(&both[8..]) };
        Ok(bytes.chunks_exact(Self::EACH).map(ticks).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Readback;

    struct Bytes(Vec<u8>);

    impl Readback for Bytes {
        fn copy_out(&self, out: &mut [u8]) -> Result<(), Lost> {
            out.copy_from_slice(&self.0);
            Ok(())
        }
    }

    #[test]
    fn each_command_of_a_page_has_its_own_two_ticks() {
        let (read, times) = (ReadSlot::new(), [Arc::new(TimeSlot::default()), Arc::default()]);
        assert_eq!(times[0].ticks(), Ok(None));
        TickPage::give(read.clone(), &times);
        let bytes = [5_u64, 7, 8, 8].iter().flat_map(|tick| tick.to_le_bytes()).collect();
        read.set(Place::Staged(Arc::new(Bytes(bytes))));
        assert_eq!(times[1].ticks(), Ok(Some(Ticks { start: 8, end: 8 })));
        assert!(matches!(read.place(), Place::Dropped));
        assert_eq!(times[0].ticks(), Ok(Some(Ticks { start: 5, end: 7 })));
    }
}

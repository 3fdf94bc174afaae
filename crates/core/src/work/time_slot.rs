//! When a device did a command.

use crate::memory::read_slot::{ReadSlot, ReadState};
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{Lost, Seq};
use std::sync::{Arc, OnceLock};

/// When a device did one command: whoever records it says where that is to be found.
#[derive(Default)]
pub(crate) struct TimeSlot {
    whereabouts: Mutex<Option<TimeLocation>>,
    batch: OnceLock<Seq>,
}

#[derive(Clone)]
enum TimeLocation {
    Here(Ticks),
    Pages { start: TickAt, end: TickAt },
}

/// What one query of a page will have noted.
#[derive(Clone)]
pub(crate) struct TickAt {
    pub(crate) page: Arc<TickPage>,
    pub(crate) query: u32,
}

/// What a clock showed before and after a command; 0 where it showed nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticks {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// What the queries of a batch, or of a part of it, have noted.
pub(crate) struct TickPage {
    read: Arc<ReadSlot>,
    queries: u32,
    fetched: OnceLock<Result<Box<[u64]>, Lost>>,
}

impl TimeSlot {
    /// Says what the clock shows.
    pub(crate) fn set(&self, ticks: Ticks) {
        *lock(&self.whereabouts) = Some(TimeLocation::Here(ticks));
    }

    /// Says what the clock shows at the end, where it was said what it showed at the start.
    pub(crate) fn end(&self, end: u64) {
        if let Some(TimeLocation::Here(ticks)) = &mut *lock(&self.whereabouts) {
            ticks.end = end;
        }
    }

    /// Says where the two are noted.
    pub(crate) fn note(&self, start: TickAt, end: TickAt) {
        *lock(&self.whereabouts) = Some(TimeLocation::Pages { start, end });
    }

    /// The command is not recorded after all.
    pub(crate) fn forget(&self) {
        *lock(&self.whereabouts) = None;
    }

    /// Says which batch the command is in.
    pub(crate) fn plan(&self, batch: Seq) {
        self.batch.get_or_init(|| batch);
    }

    /// The batch of the command, once it is planned.
    pub(crate) fn batch(&self) -> Option<Seq> {
        self.batch.get().copied()
    }

    /// Its ticks; `None` if the command was never recorded. Only after the command is complete.
    ///
    /// # Errors
    /// `Lost` if they are gone with their device.
    pub(crate) fn ticks(&self) -> Result<Option<Ticks>, Lost> {
        let whereabouts = lock(&self.whereabouts).clone();
        match whereabouts {
            None => Ok(None),
            Some(TimeLocation::Here(ticks)) => Ok(Some(ticks)),
            Some(TimeLocation::Pages { start, end }) => {
                Ok(Some(Ticks { start: start.tick()?, end: end.tick()? }))
            }
        }
    }
}

impl Ticks {
    /// Whether the clock ran meanwhile and did not start anew.
    pub(crate) fn are_valid(self) -> bool {
        self.start != 0 && self.end >= self.start
    }
}

impl TickAt {
    fn tick(&self) -> Result<u64, Lost> {
        self.page.tick(self.query)
    }
}

impl TickPage {
    /// Bytes of what one query notes.
    pub(crate) const EACH: usize = 8;

    /// The first so many queries of a page, as `read` will have read them.
    pub(crate) fn new(read: Arc<ReadSlot>, queries: u32) -> Arc<Self> {
        Arc::new(Self { read, queries, fetched: OnceLock::new() })
    }

    fn tick(&self, query: u32) -> Result<u64, Lost> {
        let all = self.fetched.get_or_init(|| self.fetch()).as_ref();
        all.map(|ticks| ticks[query as usize]).map_err(Lost::clone)
    }

    /// Copies all of them out, and lets the staging memory go.
    fn fetch(&self) -> Result<Box<[u64]>, Lost> {
        let mut bytes = vec![0; self.queries as usize * Self::EACH];
        match self.read.place() {
            ReadState::Staged(from) => from.copy_out(&mut bytes)?,
            _ => return Err(Lost { reason: "the times were never read back".into() }),
        }
        self.read.set(ReadState::Dropped);
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        Ok(bytes.chunks_exact(Self::EACH).map(number).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::read_slot::Readback;

    struct Bytes(Vec<u8>);

    impl Readback for Bytes {
        fn copy_out(&self, out: &mut [u8]) -> Result<(), Lost> {
            out.copy_from_slice(&self.0);
            Ok(())
        }
    }

    #[test]
    fn each_command_of_a_page_has_its_own_two_ticks() {
        let (read, times) = (ReadSlot::new(), [TimeSlot::default(), TimeSlot::default()]);
        assert_eq!(times[0].ticks(), Ok(None));
        let page = TickPage::new(read.clone(), 3);
        let at = |query| TickAt { page: page.clone(), query };
        times[0].note(at(0), at(1));
        times[1].note(at(0), at(2)); // on one level with the other
        let bytes = [5_u64, 7, 8].iter().flat_map(|tick| tick.to_le_bytes()).collect();
        read.set(ReadState::Staged(Arc::new(Bytes(bytes))));
        assert_eq!(times[1].ticks(), Ok(Some(Ticks { start: 5, end: 8 })));
        assert!(matches!(read.place(), ReadState::Dropped));
        assert_eq!(times[0].ticks(), Ok(Some(Ticks { start: 5, end: 7 })));
    }

    #[test]
    fn a_clock_that_shows_nothing_or_starts_anew_is_no_time() {
        let are_valid = |start, end| Ticks { start, end }.are_valid();
        assert!(are_valid(3, 5) && are_valid(5, 5));
        assert!(!are_valid(0, 5) && !are_valid(3, 0) && !are_valid(u64::MAX, 5));
    }
}

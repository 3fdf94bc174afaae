//! The device times of commands.

use crate::memory::read_slot::{ReadSlot, ReadState};
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{Lost, Seq};
use std::sync::{Arc, OnceLock};

/// Device time of one command. The recorder stores in it the ticks, or where they will be.
#[derive(Default)]
pub(crate) struct TimeSlot {
    location: Mutex<Option<TimeLocation>>,
    batch: OnceLock<Seq>,
}

#[derive(Clone)]
enum TimeLocation {
    /// The ticks themselves.
    Here(Ticks),
    /// The start of the first command and the end of the last.
    Span { first: Arc<TimeSlot>, last: Arc<TimeSlot> },
    /// The results of two queries.
    Pages { start: TickAt, end: TickAt },
}

/// One query of a page.
#[derive(Clone)]
pub(crate) struct TickAt {
    pub(crate) page: Arc<TickPage>,
    pub(crate) query: u32,
}

/// Values of the clock before and after a command. A value is 0 if the clock returned none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticks {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// Results of the queries of a batch, or of a part of it.
pub(crate) struct TickPage {
    read: Arc<ReadSlot>,
    queries: u32,
    /// Results, once the first call has copied them out of the staging memory.
    fetched: OnceLock<Result<Box<[u64]>, Lost>>,
}

impl TimeSlot {
    /// Stores the ticks.
    pub(crate) fn set(&self, ticks: Ticks) {
        *lock(&self.location) = Some(TimeLocation::Here(ticks));
    }

    /// Stores the tick at the end, provided that the tick at the start is stored.
    pub(crate) fn end(&self, end: u64) {
        if let Some(TimeLocation::Here(ticks)) = &mut *lock(&self.location) {
            ticks.end = end;
        }
    }

    /// Stores the queries of the two ticks.
    pub(crate) fn set_queries(&self, start: TickAt, end: TickAt) {
        *lock(&self.location) = Some(TimeLocation::Pages { start, end });
    }

    /// Makes the slot report the time from the start of one command to the end of another.
    pub(crate) fn set_span(&self, first: &Arc<TimeSlot>, last: &Arc<TimeSlot>) {
        *lock(&self.location) = Some(TimeLocation::Span { first: first.clone(), last: last.clone() });
    }

    /// Removes the ticks, because the command is not submitted.
    pub(crate) fn forget(&self) {
        *lock(&self.location) = None;
    }

    /// Stores the batch in which the command is.
    pub(crate) fn plan(&self, batch: Seq) {
        self.batch.get_or_init(|| batch);
    }

    /// Returns the batch of the command, once the command is planned.
    pub(crate) fn batch(&self) -> Option<Seq> {
        self.batch.get().copied()
    }

    /// Returns the ticks, or `None` if the command was never recorded. May be called only after the command is
    /// complete.
    ///
    /// # Errors
    /// Returns `Lost` if the ticks are lost with their device.
    pub(crate) fn ticks(&self) -> Result<Option<Ticks>, Lost> {
        let location = lock(&self.location).clone();
        match location {
            None => Ok(None),
            Some(TimeLocation::Here(ticks)) => Ok(Some(ticks)),
            Some(TimeLocation::Span { first, last }) => {
                let first = first.ticks()?;
                let last = last.ticks()?;
                Ok(first.zip(last).map(|(first, last)| Ticks { start: first.start, end: last.end }))
            }
            Some(TimeLocation::Pages { start, end }) => {
                Ok(Some(Ticks { start: start.tick()?, end: end.tick()? }))
            }
        }
    }
}

impl Ticks {
    /// Returns `true` if the clock returned both values and did not restart in between.
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
    /// Size in bytes of the result of one query.
    pub(crate) const BYTES_A_QUERY: usize = 8;

    /// Returns a page of the first `queries` queries. `read` copies their results to the host.
    pub(crate) fn new(read: Arc<ReadSlot>, queries: u32) -> Arc<Self> {
        Arc::new(Self { read, queries, fetched: OnceLock::new() })
    }

    fn tick(&self, query: u32) -> Result<u64, Lost> {
        let all = self.fetched.get_or_init(|| self.fetch()).as_ref();
        all.map(|ticks| ticks[query as usize]).map_err(Lost::clone)
    }

    /// Copies all results out, and drops the staging memory.
    fn fetch(&self) -> Result<Box<[u64]>, Lost> {
        let mut bytes = vec![0; self.queries as usize * Self::BYTES_A_QUERY];
        match self.read.state() {
            ReadState::Staged(from) => from.copy_out(&mut bytes)?,
            _ => return Err(Lost { reason: "the timestamps were never read back".into() }),
        }
        self.read.set(ReadState::Dropped);
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        Ok(bytes.chunks_exact(Self::BYTES_A_QUERY).map(number).collect())
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
    fn each_command_of_a_page_has_its_own_ticks() {
        let read = ReadSlot::new();
        let times = [TimeSlot::default(), TimeSlot::default()];
        assert_eq!(times[0].ticks(), Ok(None));
        let page = TickPage::new(read.clone(), 3);
        let at = |query| TickAt { page: page.clone(), query };
        times[0].set_queries(at(0), at(1));
        times[1].set_queries(at(0), at(2)); // both commands are on one level and share the first tick
        let bytes = [5_u64, 7, 8].iter().flat_map(|tick| tick.to_le_bytes()).collect();
        read.set(ReadState::Staged(Arc::new(Bytes(bytes))));
        assert_eq!(times[1].ticks(), Ok(Some(Ticks { start: 5, end: 8 })));
        assert!(matches!(read.state(), ReadState::Dropped));
        assert_eq!(times[0].ticks(), Ok(Some(Ticks { start: 5, end: 7 })));
    }

    #[test]
    fn a_span_of_commands_lasts_from_the_first_start_to_the_last_end() {
        let [whole, first, last] = [(); 3].map(|()| Arc::<TimeSlot>::default());
        whole.set_span(&first, &last);
        assert_eq!(whole.ticks(), Ok(None));
        first.set(Ticks { start: 3, end: 4 });
        assert_eq!(whole.ticks(), Ok(None), "the last command is not recorded");
        last.set(Ticks { start: 7, end: 9 });
        assert_eq!(whole.ticks(), Ok(Some(Ticks { start: 3, end: 9 })));
    }

    #[test]
    fn ticks_of_a_missing_or_restarted_clock_are_invalid() {
        let are_valid = |start, end| Ticks { start, end }.are_valid();
        assert!(are_valid(3, 5) && are_valid(5, 5));
        assert!(!are_valid(0, 5) && !are_valid(3, 0) && !are_valid(u64::MAX, 5));
    }
}

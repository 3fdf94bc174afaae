//! Where the times of a batch are noted: queries in pages, which are used again.

use crate::error::{Error, Result};
use crate::memory::read_slot::ReadSlot;
use crate::work::time_slot::{TickAt, TickPage, TimeSlot};
use fencepost_sync::prim::{Mutex, lock};
use std::sync::Arc;

/// Queries of a page. Metal has room for 32 such pages, and two batches of the largest size on the device take six.
pub(crate) const QUERIES_A_PAGE: u32 = 1024;

/// Pages that no batch uses.
type IdlePages<Q> = Arc<Mutex<Vec<Q>>>;

/// The times of the batch being recorded.
pub(crate) struct TimePages<Q> {
    idle: IdlePages<Q>,
    pages: Vec<TimePage<Q>>,
    commands: Vec<TimedQueries>,
    /// Where the start of the level being recorded is noted.
    level: Option<(u32, QueryPlace)>,
    /// Why there is no page for what was started.
    failed: Option<Error>,
}

/// Queries of one batch. Goes back to the idle ones when it is dropped: not before the device has passed the batch.
pub(crate) struct TimePage<Q> {
    queries: Option<Q>,
    used: u32,
    home: IdlePages<Q>,
}

struct TimedQueries {
    time: Arc<TimeSlot>,
    start: QueryPlace,
    end: QueryPlace,
}

/// A query of a page of the batch.
#[derive(Clone, Copy)]
struct QueryPlace {
    page: usize,
    query: u32,
}

/// Where the clock is to be noted for a command.
pub(crate) struct QueryStamps<'a, Q> {
    pub(crate) queries: &'a Q,
    /// Before it, if it is the first of its level.
    pub(crate) start: Option<u32>,
    /// Behind it.
    pub(crate) end: u32,
}

impl<Q> Default for TimePages<Q> {
    fn default() -> Self {
        Self {
            idle: IdlePages::default(),
            pages: Vec::new(),
            commands: Vec::new(),
            level: None,
            failed: None,
        }
    }
}

impl<Q> TimePages<Q> {
    /// Where the clock is to be noted for the next command. The device may run the commands of a level side by side:
    /// all of them start with the first.
    ///
    /// `open` makes a page, or makes an idle one ready. What goes wrong there is told at the end of the batch.
    pub(crate) fn start(
        &mut self,
        level: u32,
        time: &Arc<TimeSlot>,
        open: impl FnOnce(Option<Q>) -> Result<Q>,
    ) -> Option<QueryStamps<'_, Q>> {
        if let Err(error) = self.make_room(open) {
            self.failed = Some(error);
        }
        if self.failed.is_some() {
            return None;
        }
        let begun = self.level.filter(|(at, _)| *at == level).map(|(_, start)| start);
        let own = begun.is_none().then(|| self.next());
        let (start, end) = (begun.or(own)?, self.next());
        self.level = Some((level, start));
        self.commands.push(TimedQueries { time: time.clone(), start, end });
        let queries = self.pages[end.page].queries();
        Some(QueryStamps { queries, start: own.map(|own| own.query), end: end.query })
    }

    /// Where the end of the command that was started last is to be noted.
    #[cfg(native)]
    pub(crate) fn end(&self) -> Option<(&Q, u32)> {
        let last = self.commands.last().filter(|_| self.failed.is_none())?;
        Some((self.pages[last.end.page].queries(), last.end.query))
    }

    /// Tells every command where its times are, once `read` has seen to it that so many queries of a page are read:
    /// the pages, which the batch needs until it is complete.
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn finish(
        &mut self,
        mut read: impl FnMut(&Q, u32) -> Result<Arc<ReadSlot>>,
    ) -> Result<Vec<TimePage<Q>>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut ticks = Vec::with_capacity(self.pages.len());
        for page in &self.pages {
            ticks.push(TickPage::new(read(page.queries(), page.used)?, page.used));
        }
        let at = |at: QueryPlace| TickAt { page: ticks[at.page].clone(), query: at.query };
        for TimedQueries { time, start, end } in self.commands.drain(..) {
            time.note(at(start), at(end));
        }
        self.level = None;
        Ok(std::mem::take(&mut self.pages))
    }

    /// Starts a batch; the one before may not have been recorded to its end.
    pub(crate) fn reset(&mut self) {
        self.pages.clear();
        self.commands.clear();
        (self.level, self.failed) = (None, None);
    }

    /// Sees to it that the last page has room for a command.
    fn make_room(&mut self, open: impl FnOnce(Option<Q>) -> Result<Q>) -> Result<()> {
        if self.pages.last().is_some_and(|page| page.used + 2 <= QUERIES_A_PAGE) {
            return Ok(());
        }
        let idle = lock(&self.idle).pop();
        self.pages.push(TimePage { queries: Some(open(idle)?), used: 0, home: self.idle.clone() });
        Ok(())
    }

    /// The next query of the last page.
    fn next(&mut self) -> QueryPlace {
        let page = self.pages.len() - 1;
        let used = &mut self.pages[page].used;
        *used += 1;
        QueryPlace { page, query: *used - 1 }
    }
}

impl<Q> TimePage<Q> {
    fn queries(&self) -> &Q {
        self.queries.as_ref().expect("they are there until the drop")
    }
}

impl<Q> Drop for TimePage<Q> {
    fn drop(&mut self) {
        lock(&self.home).extend(self.queries.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    /// Pages that know how many there are.
    #[derive(Default)]
    struct Made(usize);

    impl Made {
        fn open(&mut self, idle: Option<usize>) -> Result<usize> {
            self.0 += usize::from(idle.is_none());
            Ok(idle.unwrap_or(self.0))
        }
    }

    /// Records a batch of so many commands, each on a level of its own.
    fn batch(times: &mut TimePages<usize>, made: &mut Made, commands: u32) -> Vec<TimePage<usize>> {
        times.reset();
        for level in 0..commands {
            let stamps = times.start(level, &Arc::default(), |idle| made.open(idle)).expect("there is room");
            assert!(stamps.start.is_some_and(|start| start + 1 == stamps.end) && stamps.end < QUERIES_A_PAGE);
        }
        times.finish(|_, _| Ok(ReadSlot::new())).expect("nothing fails")
    }

    #[test]
    fn however_many_commands_are_timed_there_are_as_many_pages_as_two_batches_need() {
        let (mut times, mut made) = (TimePages::default(), Made::default());
        let mut running = batch(&mut times, &mut made, 1365);
        for _ in 0..100 {
            let next = batch(&mut times, &mut made, 1365); // three steps each: the largest batch
            running = next; // the one before is complete
        }
        assert_eq!((running.len(), made.0), (3, 6));
    }

    #[test]
    fn the_commands_of_a_level_start_with_the_first_whatever_page_they_are_on() {
        let (mut times, mut made) = (TimePages::default(), Made::default());
        let mut starts = 0;
        for _ in 0..QUERIES_A_PAGE {
            let stamps = times.start(7, &Arc::default(), |idle| made.open(idle)).expect("there is room");
            starts += u32::from(stamps.start.is_some());
        }
        assert_eq!((starts, made.0), (1, 2));
        assert!(times.commands.iter().all(|command| (command.start.page, command.start.query) == (0, 0)));
        let next = times.start(8, &Arc::default(), |idle| made.open(idle)).expect("there is room");
        assert!(next.start.is_some());
    }

    #[test]
    fn a_page_that_cannot_be_made_is_the_error_of_the_batch_and_of_no_other() {
        let mut times = TimePages::<usize>::default();
        let none = || Kind::OutOfMemory { object: "queries".into(), bytes: 1, limit: None };
        assert!(times.start(0, &Arc::default(), |_| Err(none().into())).is_none());
        assert!(times.end().is_none());
        assert!(times.finish(|_, _| Ok(ReadSlot::new())).is_err());
        assert_eq!(batch(&mut times, &mut Made::default(), 1).len(), 1);
    }
}

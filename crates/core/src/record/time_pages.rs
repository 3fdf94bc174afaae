//! The timestamp queries of a batch, in pages that later batches reuse.

use crate::error::{Error, Result};
use crate::memory::pool::{FreeList, TakenItem};
use crate::memory::read_slot::ReadSlot;
use crate::work::time_slot::{TickAt, TickPage, TimeSlot};
use std::sync::Arc;

/// Number of queries in a page. Metal has room for 32 such pages; two batches of the largest size in flight need six.
pub(crate) const QUERIES_A_PAGE: u32 = 1024;

/// Queries of the batch that is being recorded.
pub(crate) struct TimePages<Q> {
    idle: FreeList<Q>,
    /// Pages of the batch. Only the last page has room for more queries, and every page has `used <= QUERIES_A_PAGE`.
    pages: Vec<TimePage<Q>>,
    /// Timed commands of the batch, with queries in `pages`.
    commands: Vec<TimedQueries>,
    /// The level that is being recorded, and the query of its start time.
    level: Option<(u32, QueryPlace)>,
    /// Error from making a page, if that has failed.
    failed: Option<Error>,
}

/// A page of queries of a batch. Dropping it returns it to the free list, so the batch must be complete by then.
pub(crate) struct TimePage<Q> {
    queries: TakenItem<Q>,
    used: u32,
}

/// Time slot of a command, and the queries of its two times.
struct TimedQueries {
    time: Arc<TimeSlot>,
    start: QueryPlace,
    end: QueryPlace,
}

/// The index of a query's page in the batch, and the query's index in the page.
#[derive(Clone, Copy)]
struct QueryPlace {
    page: usize,
    query: u32,
}

/// The queries that receive the times of a command.
pub(crate) struct TimeQueries<'a, Q> {
    pub(crate) queries: &'a Q,
    /// Query of the time before the command; `None` if the command is not the first of its level.
    pub(crate) start: Option<u32>,
    /// Query of the time after the command.
    pub(crate) end: u32,
}

impl<Q> Default for TimePages<Q> {
    fn default() -> Self {
        Self { idle: FreeList::default(), pages: Vec::new(), commands: Vec::new(), level: None, failed: None }
    }
}

impl<Q> TimePages<Q> {
    /// Returns the queries for the times of the next command. The device may run the commands of a level side by side,
    /// so all share the start time of the first.
    ///
    /// `open` makes a page, or prepares the idle page passed to it. If it fails, this returns `None`, and
    /// [`finish`](Self::finish) returns the error.
    pub(crate) fn start(
        &mut self,
        level: u32,
        time: &Arc<TimeSlot>,
        open: impl FnOnce(Option<Q>) -> Result<Q>,
    ) -> Option<TimeQueries<'_, Q>> {
        if let Err(error) = self.make_room(open) {
            self.failed = Some(error);
        }
        if self.failed.is_some() {
            return None;
        }
        let begun = self.level.filter(|(at, _)| *at == level).map(|(_, start)| start);
        let own = begun.is_none().then(|| self.next());
        let start = begun.or(own)?;
        let end = self.next();
        self.level = Some((level, start));
        self.commands.push(TimedQueries { time: time.clone(), start, end });
        let queries = &*self.pages[end.page].queries;
        Some(TimeQueries { queries, start: own.map(|own| own.query), end: end.query })
    }

    /// Returns the query for the end time of a started command.
    pub(crate) fn end(&self, time: &Arc<TimeSlot>) -> Option<(&Q, u32)> {
        let is_started = |command: &&TimedQueries| Arc::ptr_eq(&command.time, time);
        let command = self.commands.iter().rev().find(is_started).filter(|_| self.failed.is_none())?;
        Some((&self.pages[command.end.page].queries, command.end.query))
    }

    /// Stores in each command's time slot where its times will be. `read` records a copy of the first queries of a page
    /// to the host, and returns the slot of that copy; its second argument is their number. Returns the pages, which
    /// must be kept until the batch is complete.
    ///
    /// # Errors
    /// Returns the error of `read`, or of an earlier call of `open`.
    pub(crate) fn finish(
        &mut self,
        mut read: impl FnMut(&Q, u32) -> Result<Arc<ReadSlot>>,
    ) -> Result<Vec<TimePage<Q>>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut ticks = Vec::with_capacity(self.pages.len());
        for page in &self.pages {
            ticks.push(TickPage::new(read(&page.queries, page.used)?, page.used));
        }
        let at = |at: QueryPlace| TickAt { page: ticks[at.page].clone(), query: at.query };
        for TimedQueries { time, start, end } in self.commands.drain(..) {
            time.set_queries(at(start), at(end));
        }
        self.level = None;
        Ok(std::mem::take(&mut self.pages))
    }

    /// Starts a batch. Drops the pages and commands of an earlier batch whose recording failed.
    pub(crate) fn reset(&mut self) {
        self.pages.clear();
        self.commands.clear();
        self.level = None;
        self.failed = None;
    }

    /// Makes sure that the last page has room for the two queries of a command.
    fn make_room(&mut self, open: impl FnOnce(Option<Q>) -> Result<Q>) -> Result<()> {
        if self.pages.last().is_some_and(|page| page.used + 2 <= QUERIES_A_PAGE) {
            return Ok(());
        }
        let queries = self.idle.lend(open(self.idle.take())?);
        self.pages.push(TimePage { queries, used: 0 });
        Ok(())
    }

    /// Takes the next query of the last page.
    fn next(&mut self) -> QueryPlace {
        let page = self.pages.len() - 1;
        let used = &mut self.pages[page].used;
        *used += 1;
        debug_assert!(*used <= QUERIES_A_PAGE, "bug: a page with too many queries");
        QueryPlace { page, query: *used - 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorDetail;

    /// A counter of the pages made so far.
    #[derive(Default)]
    struct Made(usize);

    impl Made {
        fn open(&mut self, idle: Option<usize>) -> Result<usize> {
            self.0 += usize::from(idle.is_none());
            Ok(idle.unwrap_or(self.0))
        }
    }

    /// Records a batch of `commands` timed commands, each on a separate level.
    fn batch(times: &mut TimePages<usize>, made: &mut Made, commands: u32) -> Vec<TimePage<usize>> {
        times.reset();
        for level in 0..commands {
            let stamps = times.start(level, &Arc::default(), |idle| made.open(idle)).expect("there is room");
            assert!(stamps.start.is_some_and(|start| start + 1 == stamps.end) && stamps.end < QUERIES_A_PAGE);
        }
        times.finish(|_, _| Ok(ReadSlot::new())).expect("nothing fails")
    }

    #[test]
    fn batches_reuse_the_query_pages_of_completed_batches() {
        let mut times = TimePages::default();
        let mut made = Made::default();
        let mut running = batch(&mut times, &mut made, 1365);
        for _ in 0..100 {
            let next = batch(&mut times, &mut made, 1365); // this is the largest batch, with three steps per command
            running = next; // drops the pages of the previous batch, which is complete
        }
        assert_eq!((running.len(), made.0), (3, 6));
    }

    #[test]
    fn the_commands_of_a_level_share_one_start_time_across_pages() {
        let mut times = TimePages::default();
        let mut made = Made::default();
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
    fn a_command_may_start_and_end_inside_another() {
        let mut times = TimePages::default();
        let mut made = Made::default();
        let [outer, inner] = [Arc::<TimeSlot>::default(), Arc::default()];
        let ends = [&outer, &inner].map(|time| {
            let level = u32::from(Arc::ptr_eq(time, &inner));
            times.start(level, time, |idle| made.open(idle)).expect("there is room").end
        });
        assert_eq!(times.end(&inner).map(|(_, query)| query), Some(ends[1]));
        assert_eq!(times.end(&outer).map(|(_, query)| query), Some(ends[0]));
    }

    #[test]
    fn a_failed_page_allocation_fails_its_batch_and_no_other() {
        let mut times = TimePages::<usize>::default();
        let none = || ErrorDetail::OutOfMemory { object: "queries".into(), bytes: 1, limit: None };
        let time = Arc::default();
        assert!(times.start(0, &time, |_| Err(none().into())).is_none());
        assert!(times.end(&time).is_none());
        assert!(times.finish(|_, _| Ok(ReadSlot::new())).is_err());
        assert_eq!(batch(&mut times, &mut Made::default(), 1).len(), 1);
    }
}

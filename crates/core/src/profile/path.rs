//! What had to come after what, and how long the longest chain of it took.

use crate::profile::Profile;
use crate::profile::row::Row;
use std::collections::HashMap;

/// The longest chain of rows each of which had to come after the one before: [`Profile::critical_path`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CriticalPath {
    /// The commands and callbacks of the chain, as their places in [`Profile::rows`], the first one first.
    pub rows: Vec<usize>,
    /// How many seconds they took in all, of those with a time.
    pub seconds: f64,
    /// From the first enqueueing to the end of the last row.
    pub wall: f64,
    /// How many of the rows have no time, and count for nothing.
    pub unmeasured: usize,
}

impl Profile {
    /// *Returns* the longest chain of commands, by the order of queues and by waits.
    ///
    /// The rest of the wall time went into what the chain does not need: launching, idling, commands of other queues on
    /// the same hardware. A command that had others [`beside`](Row::beside) it counts with all of its time. It is the
    /// critical path of J. E. Kelley and M. R. Walker, Critical-path planning and
    /// scheduling, 1959: the longest path in the graph of what comes after what, found in one pass over the rows, as a
    /// wait is always for earlier ones.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (mut x, mut y) = (ctx.zeros::<u32, 1>([1024])?, ctx.zeros::<u32, 1>([1024])?);
    /// let profiler = ctx.profile();
    /// queue.fill(&mut x, 1)?;
    /// queue.copy(&x, &mut y)?;
    /// let path = profiler.finish().wait()?.critical_path();
    /// assert_eq!(path.rows, [0, 1]);
    /// assert!(path.seconds > 0.0 && path.seconds <= path.wall);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn critical_path(&self) -> CriticalPath {
        let chains = chains(&self.rows);
        let longest = (0..chains.len()).max_by(|&a, &b| chains[a].seconds.total_cmp(&chains[b].seconds));
        let mut rows: Vec<usize> = std::iter::successors(longest, |&at| chains[at].before).collect();
        rows.retain(|&at| self.rows[at].awaited.is_none());
        rows.reverse();
        let seconds = longest.map_or(0.0, |at| chains[at].seconds);
        let unmeasured = rows.iter().filter(|&&at| self.rows[at].lacks_time()).count();
        CriticalPath { rows, seconds, wall: self.wall(), unmeasured }
    }

    /// From the first enqueueing to the last end.
    fn wall(&self) -> f64 {
        let start = self.rows.iter().map(|row| row.enqueued).reduce(f64::min);
        let end = self.measured().map(|(_, time)| time.end).reduce(f64::max);
        start.zip(end).map_or(0.0, |(start, end)| end - start)
    }
}

/// The longest chain that ends with a row.
#[derive(Clone, Copy)]
struct Chain {
    seconds: f64,
    before: Option<usize>,
}

fn chains(rows: &[Row]) -> Vec<Chain> {
    let mut chains: Vec<Chain> = Vec::with_capacity(rows.len());
    let (mut last, mut context) = (HashMap::new(), None);
    for (at, row) in rows.iter().enumerate() {
        // What the context enqueues comes before whatever any queue enqueues later.
        let awaited = row.awaited.as_ref().and_then(|awaited| awaited.row);
        let own = last.insert(row.queue_number, at);
        let before = [context, awaited, own].into_iter().flatten();
        let before = before.max_by(|&a, &b| chains[a].seconds.total_cmp(&chains[b].seconds));
        let took = row.time.ok().filter(|_| row.awaited.is_none()).map_or(0.0, |time| time.seconds());
        chains.push(Chain { seconds: took + before.map_or(0.0, |at| chains[at].seconds), before });
        if row.by_context {
            context = Some(at);
        }
    }
    chains
}

#[cfg(test)]
mod tests {
    use crate::profile::made_up::{profile, row, unmeasured, wait};
    use crate::profile::row::{Activity, Row};

    fn launch(queue: usize, times: (f64, f64)) -> Row {
        row(queue, Activity::Launch, "k", times)
    }

    #[test]
    fn the_longer_arm_of_a_diamond_is_on_the_path() {
        let rows = vec![
            launch(0, (0.0, 1.0)),
            wait(1, Some(0), (0.0, 1.0)),
            launch(1, (1.0, 3.0)),
            wait(2, Some(0), (0.0, 1.0)),
            launch(2, (3.0, 8.0)),
            launch(1, (8.0, 8.5)),
            wait(0, Some(5), (1.0, 8.5)),
            wait(0, Some(4), (8.5, 8.5)),
            launch(0, (9.0, 10.0)),
        ];
        let path = profile(rows).critical_path();
        assert_eq!((path.rows, path.seconds, path.wall), (vec![0, 4, 8], 7.0, 10.0));
    }

    #[test]
    fn queues_that_nothing_orders_are_two_chains() {
        let rows = vec![launch(0, (0.0, 2.0)), launch(1, (2.0, 5.0)), launch(0, (5.0, 7.0))];
        let path = profile(rows).critical_path();
        assert_eq!((path.rows, path.seconds), (vec![0, 2], 4.0));
    }

    #[test]
    fn a_wait_for_a_wait_is_one_for_all_before_it() {
        let rows = vec![
            launch(0, (0.0, 4.0)),
            wait(1, Some(0), (0.0, 4.0)),
            wait(2, Some(1), (0.0, 4.0)),
            launch(2, (4.0, 5.0)),
        ];
        let path = profile(rows).critical_path();
        assert_eq!((path.rows, path.seconds), (vec![0, 3], 5.0));
    }

    #[test]
    fn what_the_context_enqueues_comes_first_and_what_has_no_time_takes_none() {
        let rows = vec![
            Row { by_context: true, ..row(0, Activity::Fill, "x", (0.0, 3.0)) },
            unmeasured(launch(1, (0.0, 0.0))),
            launch(1, (3.0, 4.0)),
        ];
        let path = profile(rows).critical_path();
        assert_eq!((path.rows, path.seconds, path.wall, path.unmeasured), (vec![0, 1, 2], 4.0, 4.0, 1));
        assert!(profile(Vec::new()).critical_path().rows.is_empty());
    }
}

//! The critical path of a profile: the longest chain of ordered commands.

use crate::profile::Profile;
use crate::row::Row;
use std::collections::HashMap;

/// The longest chain of rows in which each row is ordered after the previous one: [`Profile::critical_path`] returns
/// it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CriticalPath {
    /// Commands and callbacks of the chain in order, as indices into [`Profile::rows`].
    pub rows: Vec<usize>,
    /// Total time of these rows in seconds.
    pub seconds: f64,
    /// Seconds from the first enqueueing in the profile to the last end.
    pub wall: f64,
    /// Number of rows of the chain without a time. `seconds` does not include them.
    pub unmeasured: usize,
}

impl Profile {
    /// *Returns* the longest chain of commands that are connected by queue order and by waits.
    ///
    /// The rest of the wall time is launch overhead, idle time, and commands of other queues on the same hardware. A
    /// command with other commands on its level ([`level_peers`](Row::level_peers)) counts with its full time.
    ///
    /// The chain is the longest path in the graph of dependencies: J. E. Kelley and M. R. Walker, Critical-path
    /// planning and scheduling, 1959. One pass over the rows finds the path, because waits only refer to earlier rows.
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

    /// Returns the seconds from the first enqueueing to the last end.
    fn wall(&self) -> f64 {
        let start = self.rows.iter().map(|row| row.enqueued).reduce(f64::min);
        let end = self.measured().map(|(_, time)| time.end).reduce(f64::max);
        start.zip(end).map_or(0.0, |(start, end)| end - start)
    }
}

/// The longest chain that ends with a given row: its time, and its second-to-last row.
#[derive(Clone, Copy)]
struct Chain {
    seconds: f64,
    before: Option<usize>,
}

fn chains(rows: &[Row]) -> Vec<Chain> {
    let mut chains: Vec<Chain> = Vec::with_capacity(rows.len());
    let mut last = HashMap::new();
    let mut context = None;
    for (at, row) in rows.iter().enumerate() {
        if row.replay.is_some() {
            chains.push(Chain { seconds: 0.0, before: None }); // the row of the replay represents its nodes
            continue;
        }
        // A command of the context comes before all later commands of any queue.
        let awaited = row.awaited_row();
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
    use crate::row::{Activity, Row};
    use crate::test_profiles::{profile, row, unmeasured, wait};

    fn launch(queue: usize, times: (f64, f64)) -> Row {
        row(queue, Activity::Launch, "k", times)
    }

    #[test]
    fn the_longer_branch_of_a_diamond_is_on_the_critical_path() {
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
    fn two_queues_without_waits_are_two_chains() {
        let rows = vec![launch(0, (0.0, 2.0)), launch(1, (2.0, 5.0)), launch(0, (5.0, 7.0))];
        let path = profile(rows).critical_path();
        assert_eq!((path.rows, path.seconds), (vec![0, 2], 4.0));
    }

    #[test]
    fn a_wait_for_a_wait_covers_all_rows_before_it() {
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
    fn commands_of_the_context_come_first_and_unmeasured_commands_add_no_time() {
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

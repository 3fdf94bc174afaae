//! What no device could have done any faster with these commands in this order.

use super::{Profile, Row};
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
}

impl Profile {
    /// *Returns* the longest chain of commands, by the order of queues and by waits.
    ///
    /// The rest of the wall time went into what the chain does not need: launching, idling, commands of other queues on
    /// the same hardware. It is the critical path of J. E. Kelley and M. R. Walker, Critical-path planning and
    /// scheduling, 1959: the longest path in the graph of what comes after what, found in one pass over the rows, as a
    /// wait is always for earlier ones.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost_core::doctest();
    /// let (mut x, mut y) = (ctx.zeros::<u32, 1>([1024])?, ctx.zeros::<u32, 1>([1024])?);
    /// let profiler = ctx.profile();
    /// queue.fill(&mut x, 1)?;
    /// queue.copy(&x, &mut y)?;
    /// let path = profiler.finish().wait()?.critical_path();
    /// assert_eq!(path.rows, [0, 1]);
    /// assert!(path.seconds > 0.0 && path.seconds <= path.wall);
    /// # Ok::<(), fencepost_core::Error>(())
    /// ```
    pub fn critical_path(&self) -> CriticalPath {
        let chains = chains(&self.rows);
        let longest = (0..chains.len()).max_by(|&a, &b| chains[a].seconds.total_cmp(&chains[b].seconds));
        let mut rows: Vec<usize> = std::iter::successors(longest, |&at| chains[at].before).collect();
        rows.retain(|&at| self.rows[at].awaited.is_none());
        rows.reverse();
        let seconds = longest.map_or(0.0, |at| chains[at].seconds);
        CriticalPath { rows, seconds, wall: self.wall() }
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
        let befores =
            [last.get(&row.queue_number).copied(), row.awaited.as_ref().and_then(|a| a.row), context];
        let before = befores.into_iter().flatten();
        let before = before.max_by(|&a, &b| chains[a].seconds.total_cmp(&chains[b].seconds));
        let own = row.time.ok().filter(|_| row.awaited.is_none()).map_or(0.0, |time| time.seconds());
        chains.push(Chain { seconds: own + before.map_or(0.0, |at| chains[at].seconds), before });
        last.insert(row.queue_number, at);
        if row.by_context {
            context = Some(at);
        }
    }
    chains
}

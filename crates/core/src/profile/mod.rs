//! What every queue of a context did, when, and what it waited for.

pub(crate) mod clock;
#[cfg(feature = "profile")]
pub(crate) mod file;
#[cfg(test)]
pub(crate) mod made_up;
pub(crate) mod overlap;
pub(crate) mod path;
pub(crate) mod row;
pub(crate) mod spans;
pub(crate) mod summary;
#[cfg(feature = "profile")]
pub(crate) mod timeline;
#[cfg(feature = "profile")]
pub(crate) mod trace;

use crate::profile::row::{Interval, Row};

/// What the queues of a context did between [`Context::profile`](crate::Context::profile) and
/// [`Profiler::finish`].
///
/// The device's clock is read between commands, and its times are brought to the host's axis by what both clocks showed
/// at the start and at the end. Commands of several queues that nothing orders are on one *level*: the device may run
/// them side by side, and its clock does not tell them apart when they begin. All of a level start together then, and
/// each has its own end, which is at the latest where it really ended; so the time of a command is that of the command
/// alone where one queue runs, and at most too long where several do.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// use fencepost::Activity;
/// let mut x = ctx.zeros::<u32, 1>([1024])?;
/// let profiler = ctx.profile();
/// queue.fill(&mut x, 7)?;
/// ctx.queue("reader").read(&x).wait()?;
/// let profile = profiler.finish().wait()?;
/// let reads = profile.rows.iter().filter(|row| row.activity == Activity::Read);
/// assert_eq!(reads.count(), 1);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Profile {
    /// The adapter, and who recorded for it.
    pub adapter: String,
    /// Everything that was enqueued, in the order of the calls.
    pub rows: Vec<Row>,
    /// The submissions, in their order.
    pub batches: Vec<ProfileBatch>,
    /// Seconds from start to finish of the profiler, by the host's clock.
    pub seconds: f64,
    /// By how many seconds the device's times may be off on the host's axis, on the lane where that is most; `None` if
    /// the device has no clock. Differences of two times of one lane are not concerned.
    pub clock_error: Option<f64>,
}

/// A submission: commands of one or more queues. Times are seconds since the profiler was started, on the host's clock.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProfileBatch {
    /// The number of the hardware queue.
    pub lane: usize,
    /// When it was about to be recorded and submitted.
    pub submitted: f64,
    /// When the host saw that it was complete.
    pub completed: Option<f64>,
    /// How many rows are in it.
    pub rows: usize,
}

impl Profile {
    /// Rows with their times, of those that have one.
    fn measured(&self) -> impl Iterator<Item = (&Row, Interval)> {
        self.rows.iter().filter_map(|row| Some((row, row.time.ok()?)))
    }

    /// Labels and lanes of the queues, by their numbers.
    fn queues(&self) -> Vec<(&str, usize)> {
        let mut queues: Vec<(&str, usize)> = Vec::new();
        for row in self.rows.iter() {
            if row.queue_number == queues.len() {
                queues.push((&row.queue, row.lane));
            }
        }
        queues
    }
}

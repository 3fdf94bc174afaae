//! The profile: the rows and batches of the queues of a context.

use crate::row::{Interval, Row};

/// A record of everything that was enqueued on the queues of a context between `Context::profile` and
/// `Profiler::finish`.
///
/// The device's clock is read between commands. The device's times are converted to the host's clock with readings of
/// both clocks around the batches. Unordered commands of several queues are on one *level*: the device may run them at
/// the same time, and the clock does not show which of them starts first. So all commands of a level have the same
/// start. Each has its own end, which is never before its real end. If only one queue runs, the time of a command is
/// exact; if several queues run, the time may be too long, but not too short.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// use fencepost::profile::Activity;
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
    /// Name of the adapter and of its recorder.
    pub adapter: String,
    /// One row for each enqueued command, wait and callback, in the order of the calls.
    pub rows: Vec<Row>,
    /// Submissions in their order.
    pub batches: Vec<ProfileBatch>,
    /// Seconds from the start to the finish of the profiler, by the host's clock.
    pub seconds: f64,
    /// Largest possible error of a device time on the host's clock, in seconds, for the lane with the largest error.
    /// `None` if the device has no clock. The error does not affect the difference between two times of one lane.
    pub clock_error: Option<f64>,
}

/// A submission: commands of one or more queues. Times are seconds since the profiler was started, on the host's clock.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProfileBatch {
    /// Number of the hardware queue.
    pub lane: usize,
    /// Time directly before the batch was recorded and submitted.
    pub submitted: f64,
    /// Time at which the host observed the completion. `None` if it has not.
    pub completed: Option<f64>,
    /// Number of rows of the batch.
    pub rows: usize,
}

impl Profile {
    /// Makes a profile of `rows`, in the order of the calls, and of `batches`, in the order of submission.
    #[doc(hidden)]
    pub fn new(
        adapter: String,
        rows: Vec<Row>,
        batches: Vec<ProfileBatch>,
        seconds: f64,
        clock_error: Option<f64>,
    ) -> Self {
        debug_assert!(
            rows.iter().all(|row| row.batch.is_none_or(|batch| batch < batches.len())),
            "bug: a row names a batch that is not in the profile"
        );
        debug_assert!(
            rows.iter().enumerate().all(|(at, row)| row.awaited_row().is_none_or(|awaited| awaited < at)),
            "bug: a wait is for a later row"
        );
        Self { adapter, rows, batches, seconds, clock_error }
    }

    /// Returns the rows that have a time, with their times.
    pub(crate) fn measured(&self) -> impl Iterator<Item = (&Row, Interval)> {
        self.rows.iter().filter_map(|row| Some((row, row.time.ok()?)))
    }

    /// Returns the labels and lanes of the queues, indexed by their numbers.
    pub(crate) fn queues(&self) -> Vec<(&str, usize)> {
        let mut queues: Vec<(&str, usize)> = Vec::new();
        for row in self.rows.iter() {
            if row.queue_number == queues.len() {
                queues.push((&row.queue, row.lane));
            }
        }
        queues
    }
}

impl ProfileBatch {
    /// Makes a batch.
    #[doc(hidden)]
    pub fn new(lane: usize, submitted: f64, completed: Option<f64>, rows: usize) -> Self {
        Self { lane, submitted, completed, rows }
    }
}

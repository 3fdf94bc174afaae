use std::time::Duration;

use anyhow::Result;

use crate::job::Job;

/// One way to do the work of the rows. A new one is added in `contestants.rs` and nowhere else.
///
/// Timed methods return what they measured themselves, so that each can leave out what belongs to the bench;
/// the rest is set-up and checking, which is not timed.
pub(crate) trait Implementation {
    /// The name in the report.
    fn name(&self) -> &'static str;

    /// How many command queues its launches can be spread over; 0 if it takes no part in the launch rows.
    fn queues(&self) -> usize;

    /// Sets the first `outputs` outputs to zero and waits until nothing runs.
    fn reset(&mut self, outputs: usize) -> Result<()>;

    /// Timed: all launches of `job`, one flush, the wait.
    fn launch(&mut self, job: &Job) -> Result<LaunchTime>;

    /// Timed: as `launch`, by whoever wants nothing but the end.
    fn launch_and_wait(&mut self, job: &Job) -> Result<Duration> {
        Ok(self.launch(job)?.total)
    }

    /// What is in one output now.
    fn output(&mut self, index: usize) -> Result<Vec<f32>>;

    /// Makes the device buffer of the transfer rows, in place of the last one; 0 drops it.
    fn allocate(&mut self, bytes: usize) -> Result<()>;

    /// Timed: `data` into the device buffer, until a launch could use it and `data` may be dropped.
    fn upload(&mut self, data: &[u8]) -> Result<Duration>;

    /// Timed: the device buffer into `out`, which has the right length already; `out` may be replaced.
    fn read(&mut self, out: &mut Vec<u8>) -> Result<Duration>;
}

/// What the launches of one job took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchTime {
    /// Recording and handing over, the waiting excluded.
    pub(crate) host: Duration,
    /// Until the host knew that all had run.
    pub(crate) total: Duration,
}

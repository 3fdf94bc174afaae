use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::{job::Job, part::Part};

/// One way to do the work of the rows. A new one is added in `contestants.rs` and nowhere else.
///
/// Timed methods return what they measured themselves, so that each can leave out what belongs to the bench;
/// the rest is set-up and checking, which is not timed.
pub(crate) trait Implementation {
    /// The name in the report.
    fn name(&self) -> &'static str;

    /// The rows it takes part in.
    fn part(&self) -> Part;

    /// Sets the first `outputs` outputs to zero and waits until nothing runs.
    fn reset(&mut self, outputs: usize) -> Result<()>;

    /// Has so many arrays of [`LIVE_BYTES`](crate::job::LIVE_BYTES) alive beside those of the launch rows.
    fn keep_alive(&mut self, arrays: usize) -> Result<()> {
        bail!("{} keeps no {arrays} arrays alive", self.name())
    }

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

/// An implementation whose launches are handed over in one call and waited for in another.
pub(crate) trait Handover: Implementation {
    /// Records all launches of `job` and hands them over with one flush.
    fn start(&mut self, job: &Job) -> Result<()>;

    /// Waits until what was started last is done.
    fn wait(&mut self) -> Result<()>;
}

/// Takes the time of both calls.
pub(crate) fn timed(implementation: &mut impl Handover, job: &Job) -> Result<LaunchTime> {
    let start = Instant::now();
    implementation.start(job)?;
    let host = start.elapsed();
    implementation.wait()?;
    Ok(LaunchTime { host, total: start.elapsed() })
}

/// What the launches of one job took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchTime {
    /// Recording and handing over, the waiting excluded.
    pub(crate) host: Duration,
    /// Until the host knew that all had run.
    pub(crate) total: Duration,
}

//! The calls of an implementation: launches and transfers.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::{ground::Ground, job::Job, part::Part};

/// One way to do the work of the rows. A new implementation is added in `contestants.rs` and nowhere else.
///
/// Timed methods return the time that they measured themselves, so that each can exclude the work of the bench. The
/// other methods set up and check, and are not timed.
pub trait Implementation {
    /// Returns the name in the report.
    fn name(&self) -> &'static str;

    /// Returns the rows that it takes part in.
    fn part(&self) -> Part;

    /// Returns the objects of wgpu, if it is an implementation on raw wgpu.
    fn ground(&self) -> Option<&Ground> {
        None
    }

    /// Sets the first `outputs` outputs to zero and waits until the device is idle.
    fn reset(&mut self, outputs: usize) -> Result<()> {
        match self.ground() {
            Some(ground) => ground.reset(outputs),
            None if self.part().queues == 0 => Ok(()), // transfers alone have no outputs
            None => bail!("{} does not reset its outputs", self.name()),
        }
    }

    /// Keeps `arrays` arrays of [`LIVE_BYTES`](crate::job::LIVE_BYTES) alive, besides those of the launch rows.
    fn keep_alive(&mut self, arrays: usize) -> Result<()> {
        bail!("{} keeps no {arrays} arrays alive", self.name())
    }

    /// Times all launches of `job`, one flush, and the wait.
    fn launch(&mut self, _job: &Job) -> Result<LaunchTime> {
        bail!("{} launches nothing", self.name())
    }

    /// Times all launches of `job` and the wait, without a flush where the wait flushes.
    fn launch_and_wait(&mut self, job: &Job) -> Result<Duration> {
        Ok(self.launch(job)?.total)
    }

    /// Returns the current contents of one output.
    fn output(&mut self, index: usize) -> Result<Vec<f32>> {
        self.ground().with_context(|| format!("{} has no outputs", self.name()))?.output(index)
    }

    /// Makes the device buffer of the transfer rows, replacing the last one. 0 drops it.
    fn allocate(&mut self, bytes: usize) -> Result<()>;

    /// Times the upload of `data` into the device buffer, until a launch could use it and `data` may be dropped.
    fn upload(&mut self, data: &[u8]) -> Result<Duration>;

    /// Times the read of the device buffer into `out`, which has the right length already. `out` may be replaced.
    fn read(&mut self, out: &mut Vec<u8>) -> Result<Duration>;
}

/// An implementation with one call that submits launches, and another that waits for them.
pub trait Handover: Implementation {
    /// Records all launches of `job` and submits them with one flush.
    fn start(&mut self, job: &Job) -> Result<()>;

    /// Waits until the work of the last `start` is done.
    fn wait(&mut self) -> Result<()>;
}

/// Measures the time of both calls.
pub fn timed(implementation: &mut impl Handover, job: &Job) -> Result<LaunchTime> {
    let start = Instant::now();
    implementation.start(job)?;
    let host = start.elapsed();
    implementation.wait()?;
    Ok(LaunchTime { host, total: start.elapsed() })
}

/// Times of the launches of one job.
#[derive(Clone, Copy, Debug)]
pub struct LaunchTime {
    /// Time to record and submit, without the wait.
    pub host: Duration,
    /// Time until the host knew that all launches had run.
    pub total: Duration,
}

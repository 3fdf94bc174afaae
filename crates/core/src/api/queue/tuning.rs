//! Measurement of the device time of launches, for tuning.

use crate::api::queue::CommandQueue;
use crate::error::{ErrorDetail, Result};
use crate::runtime::event::PointLate;
use crate::runtime::owner::Owner;
use crate::runtime::pending::{Pending, late, then};
use crate::scheduler::times::TunedLaunches;

/// Remedy for a tuning in a capture.
const TUNE_REPLAYS: &str = "a capture executes nothing: tune a queue that launches, or profile the replays";

/// A running measurement of a queue's launches. Dropping it ends the measurement without a result.
#[must_use = "dropping it ends the measurement"]
#[derive(Debug)]
pub struct Tuning {
    queue: CommandQueue,
    is_stopped: bool,
}

impl Tuning {
    /// Starts to time each launch that is enqueued on `queue`, until [`stop`](Self::stop) returns the sum of the times.
    /// The times serve programs that try several kernels, grids or workgroups and use the fastest. The queue need not
    /// be a timed one.
    ///
    /// Launches in graphs are not measured; use [`Context::profile`](crate::Context::profile) for them.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::NotMeasured`] on an adapter without timestamps; [`ErrorDetail::Tuning`] if the queue is being tuned
    /// already; the loss of the device.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// #[derive(KernelArgs)]
    /// #[kernel(source = "saxpy.wgsl")]
    /// struct Saxpy<'a> {
    ///     a: f32,
    ///     x: &'a DeviceArray<f32>,
    ///     y: &'a mut DeviceArray<f32>,
    /// }
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut y) = (ctx.full([4096], 1.0)?, ctx.zeros([4096])?);
    /// let mut fastest = (f64::INFINITY, 0.0);
    /// for workgroup in [32.0, 64.0, 128.0] {
    ///     let saxpy = ctx.kernel_with::<Saxpy>(&[("WORKGROUP", workgroup)])?;
    ///     let tuning = Tuning::start(&queue)?;
    ///     for _ in 0..10 {
    ///         queue.launch(&saxpy, Grid::threads([4096]), Saxpy { a: 2.0, x: &x, y: &mut y })?;
    ///     }
    ///     let seconds = tuning.stop().wait()?;
    ///     fastest = if seconds < fastest.0 { (seconds, workgroup) } else { fastest };
    /// }
    /// let best = ctx.kernel_with::<Saxpy>(&[("WORKGROUP", fastest.1)])?;
    /// # assert!(fastest.0.is_finite() && best.workgroup()[0] >= 32);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn start(queue: &CommandQueue) -> Result<Self> {
        queue.not_captured("Tuning::start", TUNE_REPLAYS)?;
        let engine = queue.owner().engine();
        engine.check_device()?;
        let slot = queue.slot()?;
        let caps = queue.owner().device().caps();
        if !caps.timestamps {
            let reason = format!("adapter `{}` has no timestamps", caps.adapter);
            let object = format!("queue `{}`", queue.label());
            return Err(ErrorDetail::NotMeasured { object, reason }.into());
        }
        if engine.start_tuning(slot) {
            return Ok(Self { queue: queue.clone(), is_stopped: false });
        }
        let problem = "is being tuned already: call `Tuning::stop` first";
        Err(ErrorDetail::Tuning { queue: queue.label().into(), problem }.into())
    }

    /// Ends the measurement. The result is the sum of the device times of all launches since
    /// [`start`](Self::start), in seconds, each from its start to its end. The sum comes when the launches are complete,
    /// and is 0 if there were none.
    ///
    /// # Errors
    /// The result is [`ErrorDetail::NotMeasured`] if the queue replayed a graph or ran a condition or a loop, or if the
    /// driver gave no valid time for a launch; or the error of the work.
    #[track_caller]
    pub fn stop(mut self) -> Pending<f64> {
        self.is_stopped = true;
        let owner = self.queue.owner().clone();
        let tuned = owner.engine().check_process().and_then(|()| self.queue.slot());
        let tuned = tuned.map(|slot| owner.engine().stop_tuning(slot));
        let (point, past, launches) = match tuned {
            Ok(tuned) => tuned.expect("bug: a queue is tuned until its measurement stops"),
            Err(error) => return Pending::ready(Err(error)),
        };
        let queue = self.queue.label().to_owned();
        let ended = late(PointLate::new(owner.clone(), point, past));
        then(ended, move |()| seconds(&owner, &queue, &launches))
    }
}

impl Drop for Tuning {
    fn drop(&mut self) {
        let engine = self.queue.owner().engine();
        if self.is_stopped || engine.check_process().is_err() {
            return;
        }
        if let Ok(slot) = self.queue.slot() {
            drop(engine.stop_tuning(slot));
        }
    }
}

/// Returns the sum of the times of complete launches.
fn seconds(owner: &Owner, queue: &str, launches: &TunedLaunches) -> Result<f64> {
    if launches.has_replays {
        let reason = "a tuning measures launches, and the queue replayed a graph: profile it".into();
        return Err(
            ErrorDetail::NotMeasured { object: format!("the launches of queue `{queue}`"), reason }.into()
        );
    }
    let device = owner.device();
    let mut sum = 0;
    for time in &launches.times {
        let ticks = time.ticks().map_err(|lost| device.caps().lost(lost))?;
        let Some(ticks) = ticks.filter(|ticks| ticks.are_valid()) else {
            let object = format!("a launch of queue `{queue}`");
            return Err(
                ErrorDetail::NotMeasured { object, reason: "the driver gave no valid time".into() }.into()
            );
        };
        sum += ticks.end - ticks.start;
    }
    Ok(sum as f64 * device.nanoseconds_a_tick() * 1e-9)
}

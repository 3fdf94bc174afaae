//! Measurement of the device time of a queue's launches.

use crate::api::queue::CommandQueue;
use crate::error::{Error, Kind, Result};
use crate::runtime::event::PointLate;
use crate::runtime::owner::Owner;
use crate::runtime::pending::{Pending, late, then};
use crate::work::time_slot::TimeSlot;
use std::sync::Arc;

/// Remedy for a tuning in a capture.
const TUNE_REPLAYS: &str = "a capture executes nothing: tune the queue of the replay";

impl CommandQueue {
    /// Starts to time each launch that is enqueued on this queue, until [`stop_tuning`](Self::stop_tuning). The times
    /// serve programs that try several kernels, grids or workgroups and use the fastest. The queue need not be a timed
    /// one.
    ///
    /// # Errors
    /// Returns [`Kind::NotMeasured`] on an adapter without timestamps; [`Kind::Tuning`] if the queue is being tuned
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
    ///     queue.start_tuning()?;
    ///     for _ in 0..10 {
    ///         queue.launch(&saxpy, Grid::threads([4096]), Saxpy { a: 2.0, x: &x, y: &mut y })?;
    ///     }
    ///     let seconds = queue.stop_tuning().wait()?;
    ///     fastest = if seconds < fastest.0 { (seconds, workgroup) } else { fastest };
    /// }
    /// let best = ctx.kernel_with::<Saxpy>(&[("WORKGROUP", fastest.1)])?;
    /// # assert!(fastest.0.is_finite() && best.workgroup()[0] >= 32);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn start_tuning(&self) -> Result<()> {
        self.not_captured("start_tuning", TUNE_REPLAYS)?;
        self.owner().engine().check_process()?;
        let slot = self.slot()?;
        let caps = self.owner().device().caps();
        if !caps.timestamps {
            let reason = format!("adapter `{}` has no timestamps", caps.adapter);
            return Err(Kind::NotMeasured { object: format!("queue `{}`", self.label()), reason }.into());
        }
        if self.owner().engine().start_tuning(slot) {
            return Ok(());
        }
        Err(self.tuning("is being tuned already: call `stop_tuning` first"))
    }

    /// Ends the tuning. The result is the sum of the device times of all launches since
    /// [`start_tuning`](Self::start_tuning), in seconds, each from its start to its end. The sum comes when the
    /// launches are complete, and is 0 if there were none.
    ///
    /// # Errors
    /// The result is [`Kind::Tuning`] if no tuning was started, [`Kind::NotMeasured`] if the driver gave no valid time
    /// for a launch, or the error of the work.
    #[track_caller]
    pub fn stop_tuning(&self) -> Pending<f64> {
        let captured = self.not_captured("stop_tuning", TUNE_REPLAYS);
        let tuned = captured.and_then(|()| self.slot()).and_then(|slot| {
            let tuned = self.owner().engine().stop_tuning(slot);
            tuned.ok_or_else(|| self.tuning("is not being tuned: call `start_tuning` first"))
        });
        let (point, past, launches) = match tuned {
            Ok(tuned) => tuned,
            Err(error) => return Pending::ready(Err(error)),
        };
        let owner = self.owner().clone();
        let queue = self.label().to_owned();
        let ended = late(PointLate::new(owner.clone(), point, past));
        then(ended, move |()| seconds(&owner, &queue, &launches))
    }

    fn tuning(&self, problem: &'static str) -> Error {
        Kind::Tuning { queue: self.label().into(), problem }.into()
    }
}

/// Returns the sum of the times of complete launches.
fn seconds(owner: &Owner, queue: &str, launches: &[Arc<TimeSlot>]) -> Result<f64> {
    let device = owner.device();
    let mut sum = 0;
    for time in launches {
        let ticks = time.ticks().map_err(|lost| device.caps().lost(lost))?;
        let Some(ticks) = ticks.filter(|ticks| ticks.are_valid()) else {
            let object = format!("a launch of queue `{queue}`");
            return Err(Kind::NotMeasured { object, reason: "the driver gave no valid time".into() }.into());
        };
        sum += ticks.end - ticks.start;
    }
    Ok(sum as f64 * device.nanoseconds_a_tick() * 1e-9)
}

//! The device time between two events.

use crate::error::{ErrorDetail, Result};
use crate::runtime::event::{Event, PointLate, Recording};
use crate::runtime::owner::Owner;
use crate::runtime::pending::{LateSteps, Pending, WaitMode, late_or_error};
use crate::scheduler::complete::PointHistory;
use crate::scheduler::times::PointTime;
use fencepost_sync::Point;
use std::panic::Location;
use std::sync::Arc;

impl Event {
    /// Returns the device time in seconds from `start` to this event, once both events are complete. The result is
    /// negative if this event comes first.
    ///
    /// The time of a marker is the end of the last command before it. If that command was already complete when the
    /// marker was made, or the queue has waited since, a timestamp command is enqueued instead, which runs directly
    /// before the queue's next command. So place the markers directly before and directly after the measured commands;
    /// a marker after a host wait would include host time. Recording one of the events again after the call does not
    /// change the result.
    ///
    /// # Errors
    /// Known at once: [`ErrorDetail::Untimed`] if the queue of one event is not timed; [`ErrorDetail::NotMeasured`] if
    /// the adapter has no timestamps, the event was never recorded, or the host signals it; [`ErrorDetail::Unrelated`]
    /// if the events are of two contexts or two hardware queues. Known later: the error of the work;
    /// [`ErrorDetail::NotMeasured`] if the driver gave no valid time. A missing time is always an error, never a
    /// number.
    ///
    /// # Example
    /// ```
    /// # let (ctx, _) = fencepost::doctest();
    /// use fencepost::QueueOptions;
    /// let queue = ctx.queue_with(QueueOptions::default().timing(true));
    /// let mut x = ctx.zeros::<u32, 1>([1024])?;
    /// let start = queue.marker();
    /// queue.fill(&mut x, 7)?;
    /// let end = queue.marker();
    /// let seconds = end.seconds_since(&start).wait()?;
    /// assert!(seconds > 0.0);
    /// assert_eq!(start.seconds_since(&end).wait()?, -seconds);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn seconds_since(&self, start: &Event) -> Pending<f64> {
        let at = Location::caller();
        let checked = self.owner.engine().check_process();
        late_or_error(checked.and_then(|()| between(start, self, at)))
    }

    /// Returns the point of the event, with its time if there is one.
    fn timed(&self, at: &'static Location<'static>) -> Result<TimedPoint> {
        let not_measured =
            |object: String, reason: &str| ErrorDetail::NotMeasured { object, reason: reason.into() };
        match self.recording() {
            Recording::Failed(error) => Err(error),
            Recording::Captured(point) => Err(point.refuse("seconds_since", at)),
            Recording::Never => Err(not_measured("an event".into(), "it was never recorded").into()),
            Recording::User(user) => {
                let object = format!("event `{}`", user.label());
                Err(not_measured(object, "the host signals it").into())
            }
            Recording::Point(point, past, Some(moment)) => {
                Ok(TimedPoint::new(&self.owner, point, past, moment))
            }
            Recording::Point(point, _, None) => Err(untimed(&self.owner, point).into()),
        }
    }
}

/// Returns the error for an untimed queue.
fn untimed(owner: &Owner, point: Point) -> ErrorDetail {
    let queue = owner.engine().lock().queues.name_of(point).to_string();
    let caps = owner.device().caps();
    if caps.timestamps {
        return ErrorDetail::Untimed { queue };
    }
    let reason = format!("adapter `{}` has no timestamps", caps.adapter);
    ErrorDetail::NotMeasured { object: format!("an event of queue `{queue}`"), reason }
}

/// Two events whose time difference is requested.
struct ElapsedTime {
    start: TimedPoint,
    end: TimedPoint,
}

/// A point of a timed queue, with its time.
struct TimedPoint {
    late: PointLate,
    moment: Arc<PointTime>,
}

fn between(start: &Event, end: &Event, at: &'static Location<'static>) -> Result<ElapsedTime> {
    let start = start.timed(at)?;
    let end = end.timed(at)?;
    if !start.owner().is(end.owner()) || start.moment.lane != end.moment.lane {
        return Err(ErrorDetail::Unrelated { first: start.name(), second: end.name() }.into());
    }
    Ok(ElapsedTime { start, end })
}

impl TimedPoint {
    fn new(owner: &Owner, point: Point, past: Arc<PointHistory>, moment: Arc<PointTime>) -> Self {
        // The time may come from a timestamp command directly after the point, so the wait covers this command too.
        let point = Point { stamp: point.stamp.max(moment.stamp), ..point };
        Self { late: PointLate::new(owner.clone(), point, past), moment }
    }

    fn owner(&self) -> &Owner {
        &self.late.owner
    }

    fn name(&self) -> String {
        let adapter = &self.owner().device().caps().adapter;
        format!(
            "an event of queue `{}` on hardware queue {} of `{adapter}`",
            self.moment.queue, self.moment.lane
        )
    }

    fn not_measured(&self, reason: &str) -> ErrorDetail {
        let object = format!("an event of queue `{}`", self.moment.queue);
        ErrorDetail::NotMeasured { object, reason: reason.into() }
    }

    /// Returns the tick of the device's clock at this point, which must be complete.
    fn tick(&self) -> Result<u64> {
        let ticks = self.moment.time.ticks().map_err(|lost| self.owner().device().caps().lost(lost))?;
        let ticks = ticks.ok_or_else(|| self.not_measured("the work before it never ran"))?;
        if !ticks.are_valid() {
            return Err(self.not_measured("the driver gave no valid time").into());
        }
        Ok(ticks.end)
    }
}

impl ElapsedTime {
    fn ends(&mut self) -> [&mut TimedPoint; 2] {
        [&mut self.start, &mut self.end]
    }

    /// Returns the difference, in seconds, between two complete points. Adds both points to the host clock, which
    /// covers the work that the program knows to be complete. A wait that ends with only one complete point must not
    /// advance that clock.
    fn report(&mut self) -> Result<f64> {
        self.ends().into_iter().for_each(|end| end.late.report_done(&Ok(())));
        self.seconds()
    }

    /// Returns the difference, in seconds, between two complete points.
    fn seconds(&self) -> Result<f64> {
        let start = self.start.tick()?;
        let end = self.end.tick()?;
        let [first, second] = [&self.start, &self.end].map(|end| end.late.point.slot);
        if first == second
            && start.cmp(&end) == self.end.moment.stamp.cmp(&self.start.moment.stamp)
            && start != end
        {
            return Err(self.end.not_measured("the device's clock was reset between the two events").into());
        }
        let ticks = end.wrapping_sub(start) as i64;
        Ok(ticks as f64 * self.end.owner().device().nanoseconds_a_tick() * 1e-9)
    }
}

impl LateSteps<f64> for ElapsedTime {
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<f64>> {
        for end in self.ends() {
            if let Err(error) = end.late.advance_unreported(mode)? {
                return Some(Err(error));
            }
        }
        Some(self.report())
    }
}

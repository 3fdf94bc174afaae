//! The late results of events. A late result is a value that exists only after earlier work is complete; a `Pending`
//! returns it.

use crate::error::Result;
use crate::runtime::owner::Owner;
use crate::runtime::pending::WakerRegistration;
use crate::runtime::wait_mode::{LateSteps, WaitMode};
use crate::scheduler::failure_history::PointHistory;
use crate::scheduler::user_signal::UserSignal;
use crate::scheduler::wait_target::WaitTarget;
use fencepost_sync::Point;
use std::sync::Arc;

/// A late result that completes at a point of a queue.
pub(crate) struct PointLate {
    registration: WakerRegistration,
    pub(crate) owner: Owner,
    pub(crate) point: Point,
    past: Arc<PointHistory>,
}

impl PointLate {
    pub(crate) fn new(owner: Owner, point: Point, past: Arc<PointHistory>) -> Self {
        Self { registration: WakerRegistration::default(), owner, point, past }
    }

    /// Waits as [`LateSteps::advance`] does, without a report to the host clock.
    pub(crate) fn advance_unreported(&mut self, mode: &WaitMode<'_>) -> Option<Result<()>> {
        mode.for_point(self.owner.engine(), self.point, &mut self.registration)
    }

    /// Reports to the host clock that the program receives `answer`. The host clock covers the work that the program
    /// was told is complete.
    pub(crate) fn report_done(&self, answer: &Result<()>) {
        self.owner.engine().report_done(self.point, &self.past.clock, answer);
    }
}

impl LateSteps<()> for PointLate {
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<()>> {
        let answer = self.advance_unreported(mode)?;
        self.report_done(&answer);
        Some(answer)
    }
}

impl Drop for PointLate {
    /// Notifies the threads that have work. The completer leaves the fence of a lane to a waiting caller; this waiter
    /// ends here, so the completer waits for the fence.
    fn drop(&mut self) {
        self.owner.engine().notify_due_threads();
    }
}

/// A late result that completes when a user event is signalled or abandoned.
pub(crate) struct UserLate {
    registration: WakerRegistration,
    owner: Owner,
    event: Arc<UserSignal>,
}

impl UserLate {
    pub(crate) fn new(owner: Owner, event: Arc<UserSignal>) -> Self {
        Self { registration: WakerRegistration::default(), owner, event }
    }
}

impl LateSteps<()> for UserLate {
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<()>> {
        mode.for_target(self.owner.engine(), WaitTarget::User(&self.event), &mut self.registration)
    }
}

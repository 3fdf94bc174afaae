//! The host clock: the work that the program was told is complete. S is the state lock.

use crate::error::{Error, Result};
use crate::memory::uses::Use;
use crate::scheduler::engine::Engine;
use crate::scheduler::queue_state::PointProgress;
use crate::scheduler::state::State;
use fencepost_sync::{Clock, Point};

impl Engine {
    /// Takes S and calls [`State::report_done`].
    pub(crate) fn report_done(&self, point: Point, clock: &Clock, answer: &Result<()>) {
        self.lock().report_done(point, clock, answer);
    }
}

impl State {
    /// Returns the clock of everything that the program was told is complete.
    pub(crate) fn host_clock(&self) -> &Clock {
        &self.host_clock
    }

    /// Updates the host clock before a call for `point` returns `answer` to the program. If the answer is the
    /// outcome of the work itself (success, or the error that the work has ended with), the program learns that the
    /// work, and everything that the work came after, is complete. An error of a refused call or of a lost device
    /// reports nothing about the work.
    pub(crate) fn report_done(&mut self, point: Point, clock: &Clock, answer: &Result<()>) {
        if answer.as_ref().err().is_none_or(|error| self.is_outcome(point, error)) {
            self.note_done(point, Some(clock));
        }
    }

    /// Returns `true` if `error` is the error that the command at `point` has ended with.
    pub(crate) fn is_outcome(&self, point: Point, error: &Error) -> bool {
        self.queue(point.slot).result(point.stamp).is_err_and(|own| own.is(error))
    }

    /// Adds completed uses of an array to the host clock.
    pub(crate) fn report_uses_done<'a>(&mut self, uses: impl Iterator<Item = &'a Use>) {
        uses.for_each(|earlier| {
            self.note_done(earlier.point(), earlier.origin().map(|origin| &origin.clock))
        });
    }

    /// Adds a point to the host clock if it is done. Every report to the program ends here, so the clock never covers
    /// work that is not done.
    fn note_done(&mut self, point: Point, clock: Option<&Clock>) {
        if self.reached(point) != PointProgress::Done {
            return;
        }
        if let Some(clock) = clock {
            self.host_clock.join(clock);
        }
        self.host_clock.see(point.slot, point.stamp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, Kind};
    use crate::scheduler::ordering::policy::Policy;
    use crate::scheduler::test_engine::{engine_with, queues};
    use fencepost_sync::{Slot, Stamp};
    use std::sync::Arc;

    fn engine() -> (Arc<Engine>, Slot, Slot) {
        let engine = engine_with(Policy::Checked, false);
        let [one, two] = queues(&engine);
        (engine, one, two)
    }

    fn refusal() -> Error {
        Kind::WouldDeadlock { callbacks: vec!["one".into()], queue: "one".into() }.into()
    }

    /// Returns the first point of a queue, which is done, with a clock that covers a stamp of another queue, and that
    /// stamp.
    fn over(engine: &Engine, slot: Slot, other: Slot) -> (Point, Clock, Stamp) {
        let (point, _) = engine.marker(slot);
        let (mut clock, stamp) = (Clock::default(), Stamp(1));
        clock.see(other, stamp);
        (point, clock, stamp)
    }

    fn knows(engine: &Engine, slot: Slot, stamp: Stamp) -> bool {
        engine.lock().host_clock().covers(slot, stamp)
    }

    #[test]
    fn p02_a_success_reports_the_work_and_all_before_it_as_complete() {
        let (engine, one, two) = engine();
        let (point, clock, stamp) = over(&engine, one, two);
        assert!(!knows(&engine, one, point.stamp) && !knows(&engine, two, stamp));
        engine.report_done(point, &clock, &Ok(()));
        assert!(knows(&engine, one, point.stamp) && knows(&engine, two, stamp));
    }

    #[test]
    fn p02_an_error_reports_the_work_as_complete_only_if_it_is_the_works_own() {
        let (engine, one, two) = engine();
        let (point, clock, stamp) = over(&engine, one, two);
        engine.report_done(point, &clock, &Err(refusal()));
        assert!(!knows(&engine, one, point.stamp), "the work has succeeded");
        let own = refusal();
        engine.lock().fail_queue(one, point.stamp, own.clone());
        engine.report_done(point, &clock, &Err(refusal()));
        assert!(!knows(&engine, one, point.stamp), "the error only has the same kind");
        engine.report_done(point, &clock, &Err(own));
        assert!(knows(&engine, one, point.stamp) && knows(&engine, two, stamp));
    }

    #[test]
    fn p01_work_that_is_not_done_is_never_reported_as_complete() {
        let (engine, one, two) = engine();
        let (point, clock, stamp) = over(&engine, one, two);
        let later = Point { stamp: Stamp(point.stamp.0 + 1), ..point };
        engine.report_done(later, &clock, &Ok(()));
        assert!(!knows(&engine, one, point.stamp) && !knows(&engine, two, stamp));
    }
}

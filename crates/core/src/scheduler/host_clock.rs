//! What the program was told is over.

use crate::error::Result;
use crate::memory::uses::Use;
use crate::scheduler::engine::Engine;
use crate::scheduler::queue_state::Reached;
use crate::scheduler::state::State;
use fencepost_sync::{Clock, Point};

impl Engine {
    /// As [`State::report_done`].
    pub(crate) fn report_done(&self, point: Point, clock: &Clock, answer: &Result<()>) {
        self.lock().report_done(point, clock, answer);
    }
}

impl State {
    /// What the program was told is over.
    pub(crate) fn host_clock(&self) -> &Clock {
        &self.host_clock
    }

    /// Tells the program `answer`, which a call for `point` is about to return. The program knows from it that the work is
    /// over, with all that it came after, if the answer is the outcome of the work itself: success, or the error that the
    /// work has ended with. A call that is refused, or that ends because the device is lost, says nothing of the work.
    pub(crate) fn report_done(&mut self, point: Point, clock: &Clock, answer: &Result<()>) {
        let outcome = match answer {
            Ok(()) => true,
            Err(error) => self.queue(point.slot).result(point.stamp).is_err_and(|own| own.is(error)),
        };
        if outcome {
            self.note_over(point, Some(clock));
        }
    }

    /// Tells the program that uses of an array are over.
    pub(crate) fn report_uses_done<'a>(&mut self, uses: impl Iterator<Item = &'a Use>) {
        uses.for_each(|earlier| {
            self.note_over(earlier.point(), earlier.origin.as_ref().map(|origin| &origin.clock))
        });
    }

    /// Every way by which the program gets to know anything ends here, and it never gets to know of what is not over.
    fn note_over(&mut self, point: Point, clock: Option<&Clock>) {
        if self.reached(point) != Reached::Done {
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
    use crate::record::cpu::cpu_recorder as cpu;
    use crate::record::cpu::cpu_recorder::CpuOptions;
    use crate::scheduler::ordering::policy::Policy;
    use crate::scheduler::priority::Priority;
    use fencepost_sync::{Slot, Stamp};
    use std::sync::Arc;

    fn engine() -> (Arc<Engine>, Slot, Slot) {
        let (device, lanes) = cpu::open(&CpuOptions::default());
        let engine = Engine::new(device, lanes, Policy::Checked, false);
        let [one, two] = ["one", "two"]
            .map(|label| engine.new_queue(label, Priority::Normal, false).expect("the device is there"));
        (engine, one, two)
    }

    fn refusal() -> Error {
        Kind::WouldDeadlock { callbacks: vec!["one".into()], queue: "one".into() }.into()
    }

    /// A point that the queue was born at, so that it is over, with a clock that knows of another queue.
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
    fn p02_success_says_that_the_work_is_over_and_what_it_came_after() {
        let (engine, one, two) = engine();
        let (point, clock, stamp) = over(&engine, one, two);
        assert!(!knows(&engine, one, point.stamp) && !knows(&engine, two, stamp));
        engine.report_done(point, &clock, &Ok(()));
        assert!(knows(&engine, one, point.stamp) && knows(&engine, two, stamp));
    }

    #[test]
    fn p02_an_error_says_that_the_work_is_over_only_if_it_is_the_works_own() {
        let (engine, one, two) = engine();
        let (point, clock, stamp) = over(&engine, one, two);
        engine.report_done(point, &clock, &Err(refusal()));
        assert!(!knows(&engine, one, point.stamp), "work that has succeeded");
        let own = refusal();
        engine.lock().fail_queue(one, point.stamp, own.clone());
        engine.report_done(point, &clock, &Err(refusal()));
        assert!(!knows(&engine, one, point.stamp), "an error of the same kind");
        engine.report_done(point, &clock, &Err(own));
        assert!(knows(&engine, one, point.stamp) && knows(&engine, two, stamp));
    }

    #[test]
    fn p01_nothing_that_is_not_over_is_ever_known() {
        let (engine, one, two) = engine();
        let (point, clock, stamp) = over(&engine, one, two);
        let later = Point { stamp: Stamp(point.stamp.0 + 1), ..point };
        engine.report_done(later, &clock, &Ok(()));
        assert!(!knows(&engine, one, point.stamp) && !knows(&engine, two, stamp));
    }
}

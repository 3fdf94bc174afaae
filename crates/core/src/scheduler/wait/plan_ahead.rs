//! Limits how far a wait plans ahead of the device.

use crate::scheduler::plan::PlanRest;
use crate::scheduler::plan::due_commands::DueCommands;
use crate::scheduler::priority::Priority;
use crate::scheduler::state::State;
use crate::scheduler::wait::TargetState;
use crate::scheduler::wait_target::WaitTarget;
use fencepost_sync::Slot;

/// After this many plannings of callers for their own queues, the requested commands of other queues are planned too.
const MOST_OWN_PLANNINGS: u32 = 1;

impl State {
    /// Plans the target of a wait if it is unplanned. Plans nothing if an earlier planning left the rest of the queue
    /// until a batch completes, and that batch is not complete yet; `planned` then names the batch.
    pub(crate) fn plan_target(&mut self, target: WaitTarget<'_>, planned: &mut PlanRest) {
        if let (WaitTarget::Point(point), TargetState::Unplanned) = (target, self.target_state(target)) {
            // Without this check, repeated short waits would plan more than one long wait does.
            if let Some(seq) = self.queue(point.slot).ahead.filter(|&seq| !self.batches.is_done(seq)) {
                *planned = PlanRest { roots: vec![point], after: Some(seq) };
                return;
            }
            let priority = self.queue(point.slot).priority.max(Priority::Normal);
            *planned = self.plan([point], priority);
            self.queue_mut(point.slot).ahead = planned.after;
            self.note_own_planning(point.slot);
        }
    }

    /// Records that a caller planned the queue that it waits for. Meanwhile the requested commands of other queues
    /// gather, but for at most [`MOST_OWN_PLANNINGS`] such plannings.
    pub(crate) fn note_own_planning(&mut self, slot: Slot) {
        let lane = self.queue(slot).lane;
        self.lanes[lane].own_plannings += 1;
        if self.lanes[lane].own_plannings > MOST_OWN_PLANNINGS {
            self.lanes[lane].own_plannings = 0;
            self.plan_lane(lane, DueCommands::RequestedExcept(slot));
        }
        debug_assert!(self.lanes[lane].own_plannings <= MOST_OWN_PLANNINGS);
    }
}

#[cfg(test)]
mod tests {
    use crate::device::CostModel;
    use crate::scheduler::command_costs::CommandCosts;
    use crate::scheduler::test_engine::{engine, enqueue, queue, queues};
    use crate::scheduler::wait::*;
    use std::cell::RefCell;

    /// Enqueues many long commands. Returns the last point of each queue.
    fn enqueue_long(engine: &Arc<Engine>, slots: &[Slot]) -> Vec<Point> {
        let many = |&slot: &Slot| (1..400).fold(enqueue(engine, slot), |_, _| enqueue(engine, slot));
        let ends = slots.iter().map(many).collect();
        let mut costs = CommandCosts::new(CostModel::Measured(CostModel::LATENESS));
        let mut state = engine.lock();
        if let Some(Op::Work(work)) = state.queue(slots[0]).pending.front().map(|front| &front.op) {
            costs.expect(work, 0.5);
        }
        state.lanes[0].costs = costs;
        ends
    }

    /// The scheduler often goes through the planned batches, so a batch for each pending command would cost too much.
    #[test]
    fn q01_a_wait_plans_more_only_after_half_of_its_planned_batches_complete() {
        let engine = engine(false);
        let end = enqueue_long(&engine, &[queue(&engine)])[0];
        let mut state = engine.lock();
        let (target, mut planned) = (WaitTarget::Point(end), PlanRest::default());
        (0..4).for_each(|_| state.plan_target(target, &mut planned));
        let at_once = state.lanes[0].ready_len();
        assert!((2..100).contains(&at_once), "{at_once} batches");
        drop(state);
        let middle = planned.after.expect("the planning leaves commands for later");
        for _ in 0..at_once {
            engine.submit_one(0);
            while engine.lock().lanes[0].timeline.in_flight() > 0 {
                engine.poll_lane(0);
            }
            let mut state = engine.lock();
            let left = state.lanes[0].ready_len();
            state.plan_target(target, &mut planned);
            assert_eq!(
                state.lanes[0].ready_len() > left,
                state.batches.is_done(middle),
                "{left} batches are left"
            );
            if state.batches.is_done(middle) {
                assert!(left > 4, "the device has enough work until then");
                return;
            }
        }
        panic!("the middle batch never completes");
    }

    #[test]
    fn q01_repeated_short_waits_plan_no_more_than_one_long_wait() {
        let engine = engine(true);
        let ends = enqueue_long(&engine, &[queue(&engine)]);
        let mut state = engine.lock();
        state.plan_target(WaitTarget::Point(ends[0]), &mut PlanRest::default());
        let (once, mut planned) = (state.lanes[0].ready_len(), PlanRest::default());
        state.plan_target(WaitTarget::Point(ends[0]), &mut planned);
        assert_eq!(state.lanes[0].ready_len(), once);
        assert!(
            planned.after.is_some_and(|seq| !state.batches.is_done(seq)),
            "the wait waits for that batch"
        );
    }

    #[test]
    fn e02_requested_commands_are_planned_despite_many_ready_batches() {
        let engine = engine(true);
        let (other, slots) = (queue(&engine), [(); 12].map(|()| queue(&engine)));
        let requested = enqueue(&engine, other);
        let ends = enqueue_long(&engine, &slots);
        let target =
            |end: &Point| engine.lock().plan_target(WaitTarget::Point(*end), &mut PlanRest::default());
        ends[..10].iter().for_each(target);
        engine.flush(other, Caller::Continues).expect("nothing has failed");
        assert_eq!(engine.lock().reached(requested), PointProgress::Unplanned, "the command gathers");
        let ready = engine.lock().lanes[0].ready_len();
        assert!(ready > 100, "{ready} batches are ready");
        ends[10..].iter().for_each(target);
        assert!(matches!(engine.lock().reached(requested), PointProgress::Planned(_)));
    }

    /// Checks that a flushed queue is planned before the last commands of a long queue, while a caller repeatedly
    /// requests the end of the long queue.
    fn passes_none_over(request: impl Fn(&Engine, Point)) {
        let engine = engine(true);
        let [long, other] = queues(&engine);
        let end = enqueue_long(&engine, &[long])[0];
        let _handle = engine.marker(long);
        request(&engine, end);
        let requested = enqueue(&engine, other);
        engine.flush(other, Caller::Continues).expect("nothing has failed");
        assert_eq!(engine.lock().reached(requested), PointProgress::Unplanned, "the command gathers");
        while engine.lock().reached(requested) == PointProgress::Unplanned {
            request(&engine, end);
            let left = engine.lock().queue(long).pending.len();
            assert!(left > 0, "the command is planned with the last ones of the long queue");
            engine.submit_one(0);
            engine.poll_lane(0);
        }
    }

    /// The caller waits, so it keeps the rest of its planning from one request to the next.
    #[test]
    fn e02_requested_commands_are_planned_while_a_caller_plans_its_own_queue() {
        let planned = RefCell::new(PlanRest::default());
        passes_none_over(|engine, end| {
            engine.lock().plan_target(WaitTarget::Point(end), &mut planned.borrow_mut());
        });
    }

    #[test]
    fn e02_requested_commands_are_planned_while_callers_poll_or_read_repeatedly() {
        passes_none_over(|engine, end| {
            let _ = engine.is_complete(end, &Clock::default());
        });
        passes_none_over(|engine, end| engine.flush(end.slot, Caller::Waits).expect("nothing has failed"));
    }
}

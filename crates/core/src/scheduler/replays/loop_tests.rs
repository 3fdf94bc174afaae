use crate::device::SubmitFailure;
use crate::error::CommandKind;
use crate::scheduler::queues::Priority;
use crate::scheduler::replays::*;
use crate::scheduler::test_engine::{
    TestTask, block, complete_one, engine, enqueue_wait, finish, graph_plan, graph_run, here, node, queue,
    queues, span,
};
use crate::work::graph::control::{ChunkedLoop, ControlLayout, ControlTable, Gate, GateTest};
use crate::work::graph::plan::PlanParts;
use crate::work::graph::run::{GraphRun, GraphStep};
use crate::work::step::{Span, Work};

/// Returns a replay of a loop with an empty body and at most `bound` iterations. A part has two iterations.
fn replay(test: GateTest, bound: u32) -> Arc<GraphRun> {
    let condition = Span { size: 4, ..span(&block()) };
    let gate = |test, previous, own| {
        let condition = condition.clone();
        let bound = Some(bound);
        let gate = Gate { condition, test, parent: None, previous, own, bound, counter: None };
        node(Work::Gate(Box::new(gate)), CommandKind::Gate)
    };
    let nodes = vec![gate(GateTest::Always, None, 0), gate(test, Some(0), 1), gate(test, Some(1), 0)];
    let layout =
        ControlLayout { gates: 2, places: vec![0..0, 0..0], first: vec![0; 3], ..ControlLayout::default() };
    graph_run(graph_plan(PlanParts {
        loops: vec![ChunkedLoop { nodes: 1..3, iterations: 2, dispatches: 2, bound, word: 0 }],
        control: Some(Arc::new(ControlTable { words: block(), counts: block(), layout })),
        ..PlanParts::of_one_queue(nodes)
    }))
}

/// Executes the gate before the loop, and enqueues the loop. Returns the point of the loop.
fn enqueue(engine: &Engine, slot: Slot, run: &Arc<GraphRun>) -> Point {
    let by = Admission { slot, what: CommandKind::Replay(engine.new_kernel("graph").0), at: here() };
    let enqueue = |op: Op| {
        engine.enqueue_replay(by, run, vec![op], &[], Vec::new()).expect("the queue has not failed").1
    };
    let front = GraphStep { run: run.clone(), segment: Some(0) };
    finish(engine, enqueue(Op::Work(Work::Graph(Box::new(front)))));
    enqueue(Op::Loop(Box::new(LoopRun::new(run, 1, run.plan.loops[0].clone()))))
}

fn is_held(engine: &Engine, slot: Slot) -> bool {
    matches!(engine.lock().queue(slot).hold, Some(HoldReason::Loop(_)))
}

#[test]
fn g06_two_chunks_of_a_loop_are_planned_and_the_next_one_after_the_first() {
    let engine = engine(false);
    let slots @ [slot, other] = queues(&engine);
    let point = enqueue(&engine, slot, &replay(GateTest::Always, 100));
    enqueue_wait(&engine, other, point);
    let after = engine.lock().queue(other).end(other);
    for round in 0..4 {
        let mut state = engine.lock();
        state.plan([after], Priority::Normal);
        assert_eq!(state.lanes[0].ready_len(), 2, "round {round}");
        assert!(state.chunk_before(after).is_some_and(|seq| !state.batches.is_done(seq)));
        drop(state);
        assert_eq!(slots.map(|slot| is_held(&engine, slot)), [true; 2]);
        complete_one(&engine);
        assert_eq!(slots.map(|slot| is_held(&engine, slot)), [false; 2], "round {round}");
        assert_eq!(engine.lock().reached(point), PointProgress::Unplanned);
    }
    finish(&engine, after);
}

#[test]
fn q16_the_memory_of_a_running_loop_does_not_count_towards_the_backlog() {
    let engine = engine(false);
    let slot = queue(&engine);
    let plan = replay(GateTest::Always, 100).plan.clone();
    let run = GraphRun::only(plan, Vec::new(), 64, here());
    let step = |segment| {
        let step = GraphStep { run: run.clone(), segment: Some(segment) };
        Op::Work(Work::Graph(Box::new(step)))
    };
    assert_eq!([0, 1, 2].map(|segment| step(segment).held_bytes()), [64, 0, 0]);
    let ops = vec![step(0), Op::Loop(Box::new(LoopRun::new(&run, 1, run.plan.loops[0].clone())))];
    let by = Admission { slot, what: CommandKind::Replay(engine.new_kernel("graph").0), at: here() };
    let (_, point, _) =
        engine.enqueue_replay(by, &run, ops, &[], Vec::new()).expect("the queue has not failed");
    let mut state = engine.lock();
    assert_eq!(state.queue(slot).backlog().bytes, 64);
    state.plan([point], Priority::Normal);
    assert_eq!(state.reached(point), PointProgress::Unplanned, "the loop runs");
    assert_eq!(state.queue(slot).backlog().bytes, 0);
    drop(state);
    finish(&engine, point);
}

#[test]
fn g06_a_loop_that_ends_needs_no_further_chunk() {
    let engine = engine(false);
    let slot = queue(&engine);
    // The condition is 0 from the start, so the gate before the loop allows one iteration.
    let point = enqueue(&engine, slot, &replay(GateTest::NonZero, 100));
    engine.lock().plan([point], Priority::Normal);
    complete_one(&engine);
    let mut state = engine.lock();
    state.plan([point], Priority::Normal);
    assert_eq!(state.lanes[0].ready_len(), 1, "the chunk that is planned ahead");
    assert!(matches!(state.reached(point), PointProgress::Planned(_)));
    drop(state);
    finish(&engine, point);
}

#[test]
fn g06_a_loop_within_the_bound_of_two_chunks_holds_nothing() {
    for (bound, chunks) in [(0, 0), (1, 1), (2, 1), (3, 2), (6, 2)] {
        let engine = engine(false);
        let slot = queue(&engine);
        let point = enqueue(&engine, slot, &replay(GateTest::Always, bound));
        engine.lock().plan([point], Priority::Normal);
        assert!(!is_held(&engine, slot), "bound {bound}");
        let reached = engine.lock().reached(point);
        assert_eq!(matches!(reached, PointProgress::Planned(_)), chunks > 0, "bound {bound}: {reached:?}");
        assert_eq!(engine.lock().lanes[0].ready_len(), chunks, "bound {bound}");
        finish(&engine, point);
    }
}

#[test]
fn g06_an_early_wake_changes_nothing_and_a_loop_goes_on_after_it() {
    let engine = engine(false);
    let slot = queue(&engine);
    let point = enqueue(&engine, slot, &replay(GateTest::Always, 100));
    engine.lock().plan([point], Priority::Normal);
    engine.lock().wake_all_waiters();
    engine.unlock(engine.lock());
    assert!(is_held(&engine, slot), "no chunk is complete");
    complete_one(&engine);
    assert!(!is_held(&engine, slot), "the waker of the chunk is registered again");
    finish(&engine, point);
}

#[test]
fn g06_tasks_of_a_context_without_threads_poll_again_when_a_loop_goes_on() {
    let engine = engine(false);
    let slot = queue(&engine);
    let point = enqueue(&engine, slot, &replay(GateTest::Always, 100));
    let (woken, waker) = TestTask::new();
    let mut state = engine.lock();
    state.plan([point], Priority::Normal);
    state.waiters.wakers.register(WakeCondition::point(point), &waker);
    drop(state);
    complete_one(&engine);
    assert_eq!((woken.woken(), is_held(&engine, slot)), (1, false));
    finish(&engine, point);
}

#[test]
fn g06_a_failed_queue_drops_its_loop_while_chunks_are_in_flight() {
    let engine = engine(false);
    let slots @ [slot, other] = queues(&engine);
    let point = enqueue(&engine, slot, &replay(GateTest::Always, 100));
    enqueue_wait(&engine, other, point);
    let after = engine.lock().queue(other).end(other);
    engine.lock().plan([after], Priority::Normal);
    engine.submit_one(0);
    let mut state = engine.lock();
    state.fail_queue(slot, point.stamp, ErrorDetail::Busy { array: "x".into() }.into());
    assert!(slots.iter().all(|&slot| state.queue(slot).hold.is_none()));
    state.plan([after], Priority::Normal);
    assert!(state.queue(slot).pending.is_empty(), "the loop is dropped");
    engine.unlock(state);
    finish(&engine, after);
    let state = engine.lock();
    assert!(state.queue(slot).result(point.stamp).is_err() && state.queue(other).result(after.stamp).is_ok());
}

/// The later chunk has a waker, which continues the loops of the context: also the one whose chunk has no word to read.
#[test]
fn g06_a_refused_chunk_ends_its_loop_once_though_a_later_chunk_is_planned() {
    let engine = engine(false);
    let slot = queue(&engine);
    let point = enqueue(&engine, slot, &replay(GateTest::Always, 100));
    let mut state = engine.lock();
    state.plan([point], Priority::Normal);
    assert_eq!(state.lanes[0].ready_len(), 2);
    let mut batch = state.lanes[0].take(Priority::Normal).expect("the first chunk is planned");
    state.lanes[0].token = true;
    drop(state);
    let steps = Arc::new(std::mem::take(&mut batch.steps));
    let object = "a chunk".into();
    let message = "refused by the test".into();
    let error = ErrorDetail::Device { object, message }.into();
    engine.fail_batch(0, batch, steps, SubmitFailure { step: Some(0), error, lost: false });
    let is_refusal = |error: &Error| error.to_string().contains("refused by the test");
    let error = engine.wait(point, crate::scheduler::wakers::Deadline::after(None)).unwrap_err();
    assert!(is_refusal(&error), "{error}");
    assert!(engine.take_queue_error(slot).is_some_and(|error| is_refusal(&error)));
    finish(&engine, enqueue(&engine, slot, &replay(GateTest::Always, 3)));
}

#[test]
fn g06_a_loop_waits_while_the_host_accesses_its_bytes() {
    let engine = engine(false);
    let slot = queue(&engine);
    let run = replay(GateTest::Always, 100);
    let words = run.plan.control.as_ref().expect("the graph has a table").words.clone();
    let point = enqueue(&engine, slot, &run);
    let mut state = engine.lock();
    words.order().readers = 1;
    state.memory.host_uses = 1;
    state.plan([point], Priority::Normal);
    assert_eq!((state.queue(slot).hold, state.lanes[0].ready_len()), (Some(HoldReason::Host(words.id)), 0));
    words.order().readers = 0;
    state.memory.host_uses = 0;
    state.release(HoldReason::Host(words.id));
    drop(state);
    finish(&engine, point);
}

#[test]
fn g12_a_loop_beyond_its_limit_and_a_loop_at_the_end_of_a_context_fail_their_queue() {
    for ending in [false, true] {
        let engine = engine(false);
        let slot = queue(&engine);
        let point = enqueue(&engine, slot, &replay(GateTest::Always, 1000));
        engine.lock().plan([point], Priority::Normal);
        complete_one(&engine);
        if ending {
            engine.lock().loops.ending = true;
        } else {
            engine.lock().loops.limit = Some(std::time::Duration::ZERO);
        }
        engine.lock().plan([point], Priority::Normal);
        complete_one(&engine);
        let error = engine.wait(point, crate::scheduler::wakers::Deadline::after(None)).unwrap_err();
        assert_eq!(matches!(error.detail(), ErrorDetail::Cancelled { .. }), ending, "{error}");
        assert_eq!(matches!(error.detail(), ErrorDetail::LoopTooLong { .. }), !ending, "{error}");
        assert!(engine.take_queue_error(slot).is_some());
    }
}

#[test]
fn g12_a_cancelled_loop_lets_the_queues_go_on_that_wait_for_it() {
    let engine = engine(false);
    let slots @ [slot, other] = queues(&engine);
    let before = engine.lock().last_stamp();
    let point = enqueue(&engine, slot, &replay(GateTest::Always, 1000));
    enqueue_wait(&engine, other, point);
    let after = engine.lock().queue(other).end(other);
    engine.lock().plan([after], Priority::Normal);
    assert_eq!(slots.map(|slot| is_held(&engine, slot)), [true; 2]);
    engine.cancel_replay(before, point, "graph");
    assert_eq!(slots.map(|slot| is_held(&engine, slot)), [false; 2]);
    finish(&engine, after);
    let result = engine.wait(point, crate::scheduler::wakers::Deadline::after(None));
    assert!(matches!(result.unwrap_err().detail(), ErrorDetail::Cancelled { graph } if graph == "graph"));
    assert!(engine.lock().queue(slot).error.is_none());
}

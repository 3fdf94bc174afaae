//! Tests of waits, polls and flushes on an engine whose threads never run. All work happens inside the test's calls.

use crate::api::context::Context;
use crate::error::ErrorDetail;
use crate::memory::uses::Policy;
use crate::record::cpu::cpu_recorder as cpu;
use crate::record::cpu::cpu_recorder::SimulatorOptions;
use crate::runtime::event::UserEvent;
use crate::runtime::pending::{FutureLate, Pending};
use crate::scheduler::batch::BatchStatus;
use crate::scheduler::queues::Priority;
use crate::scheduler::relay::{SignalledBy, Signaller};
use crate::scheduler::test_engine::{
    TestTask, batch_of, engine, enqueue, enqueue_callback, enqueue_wait, finish, hold, queue, queue_of,
    queues, reached_by_planning,
};
use crate::scheduler::wait::*;
use fencepost_sync::Lost;
use fencepost_sync::backend::Fence;
use fencepost_sync::prim::{Mutex, lock};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, Weak};

/// More turns than any test needs.
pub(crate) const TURNS: usize = 1000;

/// A fence that reports the loss of the device once a test sets the flag.
struct Losable {
    fence: Arc<dyn Fence>,
    lost: AtomicBool,
}

impl Losable {
    fn checked(&self, reached: Result<TimelineValue, Lost>) -> std::result::Result<TimelineValue, Lost> {
        let lost = self.lost.load(Ordering::SeqCst);
        if lost { Err(Lost { reason: "the test loses the device".into() }) } else { reached }
    }
}

impl Fence for Losable {
    fn completed(&self) -> Result<TimelineValue, Lost> {
        self.checked(self.fence.completed())
    }

    fn wait(&self, value: TimelineValue, limit: Duration) -> Result<TimelineValue, Lost> {
        self.checked(self.fence.wait(value, limit))
    }
}

/// Returns an engine without threads, and its fence, through which a test can lose the device.
fn losable() -> (Arc<Engine>, Arc<Losable>) {
    let (device, mut lanes) = cpu::open(&SimulatorOptions::default());
    let fence = Arc::new(Losable { fence: lanes[0].fence.clone(), lost: AtomicBool::new(false) });
    lanes[0].fence = fence.clone();
    (Engine::new(device, lanes, Policy::Unchecked, false), fence)
}

/// Makes a queue with one command.
fn one_command(engine: &Engine) -> (Slot, Point) {
    let slot = queue(engine);
    (slot, enqueue(engine, slot))
}

/// Checks that running `end` wakes each of two tasks that wait for `target` once.
fn wakes_each_task_once(engine: &Engine, target: WaitTarget<'_>, end: impl FnOnce()) {
    let [(one, first), (two, second)] = [TestTask::new(), TestTask::new()];
    for waker in [&first, &second, &first] {
        assert!(engine.register_waker(target, waker).is_none());
    }
    end();
    assert_eq!([one.woken(), two.woken()], [1, 1]);
    assert!(engine.register_waker(target, &first).is_some());
}

#[test]
fn e05_every_task_that_awaits_a_point_is_woken_once() {
    let engine = engine(false);
    let (_, point) = one_command(&engine);
    wakes_each_task_once(&engine, WaitTarget::Point(point), || finish(&engine, point));
}

#[test]
fn e05_every_task_that_awaits_a_batch_is_woken_once() {
    let engine = engine(false);
    let (_, point) = one_command(&engine);
    engine.lock().plan([point], Priority::Normal);
    let seq = batch_of(&engine.lock(), point);
    wakes_each_task_once(&engine, WaitTarget::Batch(seq), || finish(&engine, point));
}

#[test]
fn q17_every_task_that_awaits_a_submission_is_woken_once_before_the_work_is_complete() {
    let engine = engine(false);
    let (_, point) = one_command(&engine);
    engine.lock().plan([point], Priority::Normal);
    wakes_each_task_once(&engine, WaitTarget::Submitted(point), || assert!(engine.submit_one(0)));
    assert_ne!(engine.lock().reached(point), PointProgress::Done);
}

#[test]
fn q17_a_planning_wakes_the_task_of_a_queue_that_only_waits_for_submitted_work() {
    let engine = engine(false);
    let [first, second] = queues(&engine);
    let point = enqueue(&engine, first);
    enqueue_wait(&engine, second, point);
    let there = engine.lock().queue(second).end(second);
    engine.lock().plan([point], Priority::Normal);
    assert!(engine.submit_one(0));
    let (task, waker) = TestTask::new();
    assert!(engine.register_waker(WaitTarget::Submitted(there), &waker).is_none());
    let mut state = engine.lock();
    state.plan([there], Priority::Normal);
    engine.unlock(state);
    assert_eq!(task.woken(), 1);
}

#[test]
fn q17_a_task_that_awaits_the_submission_of_failed_work_is_woken() {
    let engine = engine(false);
    let (slot, point) = one_command(&engine);
    let (task, waker) = TestTask::new();
    assert!(engine.register_waker(WaitTarget::Submitted(point), &waker).is_none());
    let mut state = engine.lock();
    state.fail_queue(slot, point.stamp, ErrorDetail::Busy { array: "x".into() }.into());
    state.plan([point], Priority::Normal);
    engine.unlock(state);
    assert!(task.woken() > 0);
    assert!(matches!(engine.register_waker(WaitTarget::Submitted(point), &waker), Some(Err(_))));
}

#[test]
fn q17_without_threads_a_signal_wakes_the_task_of_a_held_submission() {
    let engine = engine(false);
    let slot = queue(&engine);
    let gate = hold(&engine, slot);
    let point = enqueue(&engine, slot);
    let (task, waker) = TestTask::new();
    assert!(engine.poll_submission(point, &waker).is_none());
    assert_eq!(task.woken(), 0);
    gate.signal();
    assert!(task.woken() > 0);
    assert!((0..TURNS).any(|_| engine.poll_submission(point, &waker).is_some()));
}

#[test]
fn q17_a_wait_for_a_submission_submits_and_completes_nothing() {
    for threads in [false, true] {
        let engine = engine(threads);
        let (_, point) = one_command(&engine);
        let wait = |limit| engine.wait_for(WaitTarget::Submitted(point), limit).expect("nothing has failed");
        assert!(wait(Deadline::after(None)) && wait(Deadline::now()));
        let state = engine.lock();
        assert_eq!((state.lanes[0].timeline.in_flight(), state.lanes[0].watchers), (1, 0));
        assert_ne!(state.reached(point), PointProgress::Done, "threads: {threads}");
    }
}

#[test]
fn q17_without_threads_a_wait_for_a_submission_lasts_until_the_lane_has_room() {
    let engine = engine(false);
    let slot = queue(&engine);
    let points = [(); 3].map(|()| {
        let point = enqueue(&engine, slot);
        engine.lock().plan([point], Priority::Normal);
        engine.submit_one(0);
        point
    });
    assert!(engine.lock().lanes[0].has_ready(), "two batches are in flight, and the third waits");
    let wait = engine.wait_for(WaitTarget::Submitted(points[2]), Deadline::after(None));
    assert!(wait.expect("nothing has failed") && !engine.lock().lanes[0].has_ready());
    assert_eq!(engine.lock().reached(points[0]), PointProgress::Done);
}

#[test]
fn e05_without_threads_a_task_is_woken_while_work_remains() {
    for by_batch in [false, true] {
        let engine = engine(false);
        let slot = queue(&engine);
        let point = [(); 64].map(|()| enqueue(&engine, slot))[63]; // more commands than one turn completes
        engine.lock().plan([point], Priority::Normal);
        let seq = batch_of(&engine.lock(), point);
        let (task, waker) = TestTask::new();
        let over = || match by_batch {
            true => engine.poll_unflushed(WaitTarget::Batch(seq), &waker).is_some(),
            false => engine.poll(point, &waker).is_some(),
        };
        while !over() {
            assert!(task.woken() > 0, "by batch: {by_batch}");
        }
    }
}

#[test]
fn e05_without_threads_a_task_is_not_woken_while_no_work_is_ready() {
    let engine = engine(false);
    let slot = queue(&engine);
    let gate = hold(&engine, slot);
    let point = enqueue(&engine, slot);
    let (task, waker) = TestTask::new();
    assert!(engine.poll(point, &waker).is_none());
    assert_eq!(task.woken(), 0);
    gate.signal();
    assert!(task.woken() > 0);
}

#[test]
fn e05_a_wait_that_plans_wakes_the_tasks_of_the_points_it_completes() {
    let engine = engine(false);
    let (slot, there) = reached_by_planning(&engine);
    let gate = hold(&engine, slot);
    let after = enqueue(&engine, slot);
    let (task, waker) = TestTask::new();
    assert!(engine.register_waker(WaitTarget::Point(there), &waker).is_none());
    assert!(!engine.wait(after, Deadline::now()).expect("nothing has failed"));
    assert_eq!(task.woken(), 1);
    gate.signal();
}

#[test]
fn e05_a_flush_that_submits_wakes_the_tasks_of_the_points_it_completes() {
    let engine = engine(true);
    let (slot, there) = reached_by_planning(&engine);
    enqueue(&engine, slot);
    let (task, waker) = TestTask::new();
    assert!(engine.register_waker(WaitTarget::Point(there), &waker).is_none());
    engine.flush(slot, Caller::Waits).expect("nothing has failed");
    assert_eq!(task.woken(), 1);
}

/// A fence that records, during each wait for it, the number of watchers of the lane. A watcher is a caller that waits
/// for the fence in place of the completer.
struct Watched {
    fence: Arc<dyn Fence>,
    engine: OnceLock<Weak<Engine>>,
    watchers: Mutex<Vec<u32>>,
}

impl Fence for Watched {
    fn completed(&self) -> Result<TimelineValue, Lost> {
        self.fence.completed()
    }

    fn wait(&self, value: TimelineValue, limit: Duration) -> Result<TimelineValue, Lost> {
        if let Some(engine) = self.engine.get().and_then(Weak::upgrade) {
            lock(&self.watchers).push(engine.lock().lanes[0].watchers);
        }
        self.fence.wait(value, limit)
    }
}

#[test]
fn e05_a_caller_watches_only_the_next_value_of_a_lane() {
    let (device, mut lanes) = cpu::open(&SimulatorOptions::default());
    let fence = lanes[0].fence.clone();
    let watchers = Mutex::default();
    let fence = Arc::new(Watched { fence, engine: OnceLock::new(), watchers });
    lanes[0].fence = fence.clone();
    let engine = Engine::new(device, lanes, Policy::Unchecked, true);
    fence.engine.set(Arc::downgrade(&engine)).expect("the engine is set once");
    let slot = queue(&engine);
    for (batches, expected) in [(2, [0]), (1, [1])] {
        let points: Vec<Point> = (0..batches).map(|_| enqueue(&engine, slot)).collect();
        points.iter().for_each(|&point| drop(engine.lock().plan([point], Priority::Normal)));
        (0..batches).for_each(|_| assert!(engine.submit_one(0)));
        finish(&engine, points[batches - 1]);
        assert_eq!(std::mem::take(&mut *lock(&fence.watchers)), expected, "{batches} batches");
        assert_eq!(engine.lock().lanes[0].watchers, 0);
    }
}

#[test]
fn d03_a_device_loss_wakes_every_task_that_awaits_a_host_event() {
    let engine = engine(false);
    let gate = Signaller::new(&engine, "gate", SignalledBy::Program);
    let lose = || engine.lose("the test loses the device");
    wakes_each_task_once(&engine, WaitTarget::User(gate.state()), lose);
    assert!(engine.is_signalled(gate.state()).is_err());
}

#[test]
fn d03_every_wait_returns_the_device_loss() {
    for threads in [false, true] {
        let engine = engine(threads);
        let slot = queue(&engine);
        let planned = enqueue(&engine, slot);
        engine.lock().plan([planned], Priority::Normal);
        let seq = batch_of(&engine.lock(), planned);
        let point = enqueue(&engine, slot);
        engine.lose("the test loses the device");
        let clock = Clock::default();
        for point in [planned, point] {
            assert!(engine.wait(point, Deadline::after(None)).is_err());
            assert!(engine.is_complete(point, &clock).is_err());
            assert!(matches!(engine.poll(point, Waker::noop()), Some(Err(_))));
            assert!(matches!(engine.register_waker(WaitTarget::Point(point), Waker::noop()), Some(Err(_))));
            assert!(engine.wait_for(WaitTarget::Submitted(point), Deadline::after(None)).is_err());
            assert!(matches!(engine.poll_submission(point, Waker::noop()), Some(Err(_))));
        }
        assert!(engine.wait_for(WaitTarget::Batch(seq), Deadline::after(None)).is_err());
        assert!(matches!(engine.register_waker(WaitTarget::Batch(seq), Waker::noop()), Some(Err(_))));
        assert!(matches!(engine.poll_unflushed(WaitTarget::Batch(seq), Waker::noop()), Some(Err(_))));
        assert!(engine.flush(slot, Caller::Continues).is_err() && engine.flush(slot, Caller::Waits).is_err());
    }
}

#[test]
fn d03_without_threads_every_wait_for_a_host_event_detects_the_loss() {
    type Ask = fn(&Engine, &UserSignal, Point) -> bool;
    let asks: [Ask; 4] = [
        |engine, _, point| engine.wait(point, Deadline::now()).is_err(),
        |engine, _, point| engine.is_complete(point, &Clock::default()).is_err(),
        |engine, event, _| engine.is_signalled(event).is_err(),
        |engine, _, _| {
            engine.make_progress(Duration::from_nanos(1));
            engine.lock().lost.is_some()
        },
    ];
    for (at, request) in asks.into_iter().enumerate() {
        let (engine, fence) = losable();
        let slot = queue(&engine);
        let gate = hold(&engine, slot);
        let point = enqueue(&engine, slot);
        assert!(!request(&engine, gate.state(), point), "case {at}");
        fence.lost.store(true, Ordering::SeqCst);
        assert!((0..TURNS).any(|_| request(&engine, gate.state(), point)), "case {at}");
    }
}

#[test]
fn r01_every_wait_for_a_failed_point_returns_its_error() {
    let engine = engine(false);
    let (slot, point) = one_command(&engine);
    engine.lock().fail_queue(slot, point.stamp, ErrorDetail::Busy { array: "x".into() }.into());
    assert!(engine.wait(point, Deadline::after(None)).is_err());
    assert!(engine.is_complete(point, &Clock::default()).is_err());
    assert!(matches!(engine.poll(point, Waker::noop()), Some(Err(_))));
    assert!(matches!(engine.register_waker(WaitTarget::Point(point), Waker::noop()), Some(Err(_))));
    assert!(engine.wait_for(WaitTarget::Submitted(point), Deadline::after(None)).is_err());
    assert!(engine.flush(slot, Caller::Continues).is_err() && engine.flush(slot, Caller::Waits).is_err());
}

#[test]
fn r01_a_context_whose_own_queue_failed_refuses_every_flush() {
    let engine = engine(false);
    let slot = queue(&engine);
    let own = enqueue(&engine, Slot::CONTEXT);
    assert!(engine.flush(slot, Caller::Continues).is_ok());
    engine.lock().fail_queue(Slot::CONTEXT, own.stamp, ErrorDetail::Busy { array: "x".into() }.into());
    assert!(engine.flush(slot, Caller::Continues).is_err() && engine.flush(slot, Caller::Waits).is_err());
    assert!(engine.lock().queue(slot).error.is_none());
}

#[test]
fn q06_repeated_waits_with_a_zero_limit_finish() {
    let engine = engine(false);
    let (_, point) = one_command(&engine);
    let wait = |_| engine.wait(point, Deadline::now()).expect("nothing has failed");
    assert!((0..TURNS).any(wait));
    assert_eq!(engine.lock().lanes[0].watchers, 0);
}

#[test]
fn q05_polling_finishes_and_advances_the_host_clock() {
    let engine = engine(false);
    let (slot, point) = one_command(&engine);
    let poll = |_| engine.is_complete(point, &Clock::default()).expect("nothing has failed");
    assert!(!engine.lock().host_clock().covers(slot, point.stamp));
    assert!((0..TURNS).any(poll));
    assert!(engine.lock().host_clock().covers(slot, point.stamp));
}

#[test]
fn q10_a_wait_for_a_low_queue_lifts_planned_and_unplanned_commands() {
    for planned in [false, true] {
        let engine = engine(false);
        let slot = queue_of(&engine, Priority::Low);
        let point = enqueue(&engine, slot);
        let mut state = engine.lock();
        if planned {
            state.plan([point], Priority::Low);
        }
        state.plan_target(WaitTarget::Point(point), &mut PlanRest::default());
        let seq = batch_of(&state, point);
        let at_first = if planned { Priority::Low } else { Priority::Normal };
        assert_eq!(state.batches.status(seq), BatchStatus::Ready(at_first));
        engine.next_step(&mut state, seq);
        assert_eq!(state.batches.status(seq), BatchStatus::Ready(Priority::Normal), "planned: {planned}");
    }
}

#[test]
fn q04_flushed_commands_are_planned_or_urgent() {
    for other in [Priority::Normal, Priority::High] {
        let engine = engine(true);
        let slot = queue(&engine);
        queue_of(&engine, other);
        enqueue(&engine, slot);
        assert!(!engine.lock().urgent_for(0));
        engine.flush(slot, Caller::Continues).expect("nothing has failed");
        // If all priorities are equal, the lane thread plans the queue, so that commands flushed together share a
        // batch.
        assert_eq!(engine.lock().lanes[0].has_ready(), other == Priority::High);
        assert!(engine.lock().urgent_for(0));
    }
}

#[test]
fn q04_a_flush_before_a_wait_submits_and_leaves_completion_to_the_completer() {
    let engine = engine(true);
    let slot = queue(&engine);
    enqueue(&engine, slot);
    engine.flush(slot, Caller::Waits).expect("nothing has failed");
    let state = engine.lock();
    assert_eq!((state.lanes[0].timeline.in_flight(), state.lanes[0].watchers), (1, 0));
    assert!(state.lanes[0].is_unwatched());
}

#[test]
fn q04_without_threads_a_flush_submits() {
    let engine = engine(false);
    let (slot, point) = one_command(&engine);
    engine.flush(slot, Caller::Continues).expect("nothing has failed");
    assert!(matches!(engine.lock().reached(point), PointProgress::Done | PointProgress::Planned(_)));
    assert!(!engine.lock().lanes[0].has_ready());
}

#[test]
fn e07_starting_a_point_submits_it_whether_or_not_it_is_planned() {
    for planned in [false, true] {
        let engine = engine(false);
        let (_, point) = one_command(&engine);
        if planned {
            engine.lock().plan([point], Priority::Normal);
        }
        engine.submit_up_to(engine.lock(), point, Caller::Continues);
        assert_ne!(engine.lock().reached(point), PointProgress::Unplanned);
        assert!(!engine.lock().lanes[0].has_ready(), "planned: {planned}");
    }
}

#[test]
fn q11_a_wait_in_a_callback_is_refused_only_for_points_after_it() {
    let engine = engine(false);
    let [first, second] = queues(&engine);
    let other = enqueue(&engine, second);
    let seen = Arc::new(Mutex::new(None));
    let inside = Arc::downgrade(&engine);
    let note = seen.clone();
    enqueue_callback(&engine, first, move || {
        let engine = inside.upgrade().expect("the engine runs this callback");
        let after = Point { slot: first, stamp: fencepost_sync::Stamp(u64::MAX) };
        let free = engine.wait(other, Deadline::after(None)).is_ok();
        let refused = engine.check_cycles(after).is_err();
        let allowed = engine.check_cycles(other).is_ok();
        *lock(&note) = Some([free, refused, allowed]);
    });
    let end = engine.lock().queue(first).end(first);
    finish(&engine, end);
    assert_eq!(*lock(&seen), Some([true; 3]));
}

#[test]
fn e07_polling_drives_the_other_context_that_it_waits_for() {
    let contexts = [1, 2].map(context);
    let [here, there] = contexts.each_ref().map(|ctx| ctx.queue("queue"));
    let filled = there.full::<u32, 1>([16], 7).expect("there is memory");
    here.wait_for(&there.marker()).expect("nothing has failed");
    let own = here.full::<u32, 1>([16], 8).expect("there is memory");
    let end = here.marker();
    assert!((0..TURNS).any(|_| end.is_complete().expect("nothing has failed")));
    drop((filled, own));
}

#[test]
fn e05_every_task_that_awaits_a_host_event_is_woken_once() {
    let engine = engine(false);
    let gate = Signaller::new(&engine, "gate", SignalledBy::Program);
    let [(one, first), (two, second)] = [TestTask::new(), TestTask::new()];
    for waker in [&first, &second, &first] {
        assert!(engine.register_signal_waker(gate.state(), waker).is_none());
    }
    gate.signal();
    assert_eq!([one.woken(), two.woken()], [1, 1]);
    assert!(engine.register_signal_waker(gate.state(), &first).is_some());
}

/// Function that makes one kind of future.
type MakeFuture = Box<dyn Fn() -> Pending<()>>;

/// Returns a context without threads.
fn context(seed: u64) -> Context {
    Context::simulated(SimulatorOptions { seed, threads: false, ..SimulatorOptions::default() })
}

fn is_pending(future: &mut Pending<()>, waker: &Waker) -> bool {
    Pin::new(future).poll(&mut std::task::Context::from_waker(waker)).is_pending()
}

/// Returns a function for each kind of future, and the user event that all these futures wait for.
fn open_futures(ctx: &Context) -> (UserEvent, Vec<MakeFuture>) {
    let queue = ctx.queue("held");
    let gate = ctx.user_event("gate");
    let array = queue.array(&[7_u32; 4]).expect("there is memory");
    queue.wait_for(&gate.event()).expect("nothing has failed");
    let event = gate.event();
    let marker = queue.marker();
    let read = move || {
        let mut reading = queue.read(&array);
        Pending::late(FutureLate(Box::pin(async move { (&mut reading).await.map(drop) })))
    };
    let all = ctx.clone();
    let futures: [MakeFuture; 4] = [
        Box::new(move || event.done()),
        Box::new(move || marker.done()),
        Box::new(read),
        Box::new(move || all.synchronize()),
    ];
    (gate, Vec::from(futures))
}

#[test]
fn e05_a_future_registers_one_waker_per_condition_and_none_after_its_drop() {
    let ctx = context(0);
    let (gate, futures) = open_futures(&ctx);
    let wakers = || ctx.owner.engine().lock().waiters.wakers.len();
    for (at, future) in futures.iter().enumerate() {
        let mut future = future();
        let mut polled = |count: usize| {
            for _ in 0..count {
                assert!(is_pending(&mut future, &TestTask::new().1));
            }
            wakers()
        };
        let once = polled(1);
        assert!(once > 0 && polled(100) == once, "kind {at}");
        drop(future);
        assert_eq!(wakers(), 0, "kind {at}");
    }
    gate.signal();
}

#[test]
fn e05_only_the_task_that_polled_last_is_woken() {
    let ctx = context(0);
    let (gate, futures) = open_futures(&ctx);
    let mut futures: Vec<_> = futures.iter().map(|future| future()).collect();
    let [(earlier, first), (later, second)] = [TestTask::new(), TestTask::new()];
    for waker in [&first, &second] {
        assert!(futures.iter_mut().all(|future| is_pending(future, waker)));
    }
    let _ = [&earlier, &later].map(|task| task.woken());
    gate.signal();
    assert!(earlier.woken() == 0 && later.woken() >= futures.len());
}

#[test]
fn e07_a_dropped_future_leaves_no_waker_in_the_contexts_it_waits_for() {
    let contexts = [1, 2, 3].map(context);
    let [near, middle, far] = contexts.each_ref().map(|ctx| ctx.queue("queue"));
    let gate = contexts[2].user_event("gate");
    far.wait_for(&gate.event()).expect("nothing has failed");
    middle.wait_for(&far.marker()).expect("nothing has failed");
    near.wait_for(&middle.marker()).expect("nothing has failed");
    let wakers = || contexts.each_ref().map(|ctx| ctx.owner.engine().lock().waiters.wakers.len());
    let relays = wakers();
    let mut future = near.finish();
    for round in 0..100 {
        assert!(is_pending(&mut future, &TestTask::new().1));
        let now = wakers();
        assert!(now.iter().zip(relays).all(|(now, before)| *now <= before + 2), "round {round}: {now:?}");
    }
    assert!(wakers().iter().zip(relays).all(|(now, before)| *now > before));
    drop(future);
    assert_eq!(wakers(), relays);
    gate.signal();
}

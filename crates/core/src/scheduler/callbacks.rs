//! Host callbacks, run in queue order: on the context's callback thread or, without threads, on a thread that makes
//! progress. User code may wait, and its panics are caught.
//!
//! A thread runs deferred calls in this order: relays, then the program's destructors, tasks and callbacks.
//!
//! Waits in callbacks may form a cycle that can never end. So when a thread waits inside a callback, the wait is
//! recorded with the awaited point. That point may come after another callback, whose thread may be waiting as well. If
//! this chain leads back to the first thread, none of the waits can end, so one of them fails.

use crate::error::{Error, ErrorDetail, Result, panic_text};
use crate::scheduler::batch::{Callback, Op};
use crate::scheduler::engine::Engine;
use crate::scheduler::queue::{HoldReason, PointProgress};
use crate::scheduler::relay::Relay;
use crate::scheduler::state::State;
use crate::scheduler::threads::{
    SignallingMark, ThreadId, enter_callback, is_signalling, is_thread_of_a_lane, leave_callback, this_thread,
};
use fencepost_kernels::report;
use fencepost_kernels::report::drop_payload;
use fencepost_sync::prim::{MutexGuard, assert_unlocked, thread_local};
use fencepost_sync::{HoldId, InTask, PerProcess, Point, Slot, TasksLater};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;

/// Guard that marks this thread as [running a callback](crate::scheduler::threads::is_inside_callback) until it is
/// dropped.
pub(crate) struct CallbackMark(());

impl CallbackMark {
    pub(crate) fn enter() -> Self {
        enter_callback();
        Self(())
    }
}

impl Drop for CallbackMark {
    /// Removes the polls recorded in the callback, which will not poll again.
    fn drop(&mut self) {
        leave_callback();
        forget_polls(this_thread());
    }
}

impl Engine {
    /// Runs the due callbacks on this thread. Returns `true` if there were any.
    ///
    /// Some threads must not run a callback now, because it may wait for something that the thread does next. So lane
    /// threads and threads that signal an event wake the waiting calls and tasks of the context instead. A thread that
    /// polls relays runs the callbacks after it has polled all relays.
    pub(crate) fn run_due_callbacks(&self) -> bool {
        let mut state = self.lock();
        if is_thread_of_a_lane() || is_signalling() {
            // Waiters are woken only once, because a woken relay calls this function again on the same thread.
            if state.callbacks.announce() {
                state.wake_all_waiters();
            }
            self.unlock(state);
            return false;
        }
        let engine = self.me.clone();
        let later = move || {
            if let Some(engine) = engine.upgrade() {
                engine.make_progress(Duration::ZERO);
            }
        };
        if state.callbacks.are_due() && defer_calls(later) {
            return false;
        }
        let any = state.callbacks.are_due();
        drop(self.run_callbacks(state));
        any
    }

    /// Runs the due callbacks, including those that become due during the call.
    pub(crate) fn run_callbacks<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        while let Some((id, slot, run)) = state.callbacks.next_due() {
            state = self.run_callback(state, id, slot, run);
        }
        state
    }

    /// Runs one callback without holding S, the state lock, and then resumes its queue.
    pub(crate) fn run_callback<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        id: HoldId,
        slot: Slot,
        run: Callback,
    ) -> MutexGuard<'a, State> {
        state.callbacks.begin(id);
        drop(state);
        let inside = CallbackMark::enter();
        let run = || run.call();
        #[cfg(target_arch = "wasm32")]
        let run = || fencepost_sync::page::in_turn(run); // so that no turn of the page is inside a callback
        let panic = catch_unwind(AssertUnwindSafe(run)).err().map(panic_text);
        drop(inside);
        // The callback may have blocked, and consumed a wake-up that was meant for a future that this thread polls.
        fencepost_sync::note_nested();
        let mut state = self.lock();
        state.finish_callback(id, slot, panic);
        if !self.threads {
            state.wake_all_waiters(); // without threads, only polls make progress, perhaps on another thread
        }
        self.unlock(state);
        self.lock()
    }

    /// Fails if a wait of this thread, which runs a callback, for `point` could never end.
    ///
    /// # Errors
    /// `WouldDeadlock`.
    pub(crate) fn check_cycles(&self, point: Point) -> Result<()> {
        let Some(cycle) = self.cycle(point) else { return Ok(()) };
        // The links are not read under a single lock. If a second search finds the same links, all of them existed at
        // the same time.
        if self.cycle(point).as_ref() != Some(&cycle) || !refuse(&cycle) {
            return Ok(());
        }
        let queue = self.lock().queue(point.slot).label.to_string();
        let callbacks = cycle.iter().map(|link| link.before.queue.to_string()).collect();
        Err(ErrorDetail::WouldDeadlock { queue, callbacks }.into())
    }

    /// Records that this thread polls for `point`. Returns an error if waiting for it could never end.
    pub(crate) fn check_poll(&self, point: Point, waker: &Waker) -> Option<Error> {
        if waker.will_wake(Waker::noop()) {
            return None; // a no-op waker means a single check, not a wait
        }
        note_poll(self, point, waker);
        self.check_cycles(point).err()
    }

    /// Returns the callbacks in the cycle that this thread would close by waiting for `point`.
    fn cycle(&self, point: Point) -> Option<Vec<WaitLink>> {
        let mut links = Vec::new();
        let mut seen = Vec::new();
        follow(self.callback_before(point)?, &mut seen, &mut links).then_some(links)
    }

    /// Returns the callback that must run before `point` is reached, in this context or in a context that it waits for.
    fn callback_before(&self, point: Point) -> Option<BlockingCallback> {
        let mut other: Option<Arc<Self>> = None;
        let mut at = point;
        loop {
            let relay = {
                let state = other.as_deref().unwrap_or(self).lock();
                if let Some(before) = state.callback_before(at) {
                    return Some(before);
                }
                state.held_by(at)?
            };
            let (engine, point) = relay.origin_point()?;
            (other, at) = (Some(engine), point);
        }
    }
}

impl State {
    /// Resumes the queue of a callback that has run. A callback that panicked fails its queue.
    fn finish_callback(&mut self, id: HoldId, slot: Slot, panic: Option<String>) {
        self.callbacks.end(id);
        self.release(HoldReason::Callback(id));
        if self.lost.is_some() {
            return;
        }
        let front = self.queue(slot).pending.front();
        // If the queue failed meanwhile, it has already dropped the callback.
        let due = front.filter(|front| matches!(front.op, Op::DueCallback(due) if due == id));
        if let Some(first) = due.map(|front| front.stamp) {
            if let Some(panic) = panic {
                let queue = self.queue(slot).label.to_string();
                self.fail_queue(slot, first, ErrorDetail::CallbackPanicked { queue, panic }.into());
            } else {
                self.queue_mut(slot).pop(None);
            }
        }
        self.collect_wakers();
        self.free_slot(slot);
    }

    /// Returns the callback that holds back the queue of a point that is not planned.
    pub(crate) fn callback_before(&self, point: Point) -> Option<BlockingCallback> {
        let Some(HoldReason::Callback(callback)) = self.queue(point.slot).hold else { return None };
        if self.reached(point) != PointProgress::Unplanned {
            return None;
        }
        let is_due = |op: &Op| matches!(op, Op::DueCallback(id) if *id == callback);
        let held = self.queues.held(HoldReason::Callback(callback));
        let mut queues = held.into_iter().map(|slot| self.queue(slot));
        let of = queues.find(|queue| queue.pending.front().is_some_and(|front| is_due(&front.op)));
        let queue = of.map(|queue| queue.label.clone()).unwrap_or_default();
        let thread = self.callbacks.thread_of(callback);
        Some(BlockingCallback { callback, queue, thread })
    }
}

/// Host callbacks of a context that are due or running, and the callback thread.
///
/// A callback is either due or running, and holds its queue until it has run.
#[derive(Default)]
pub(crate) struct Callbacks {
    /// Due callbacks, in the order in which they became due.
    due: VecDeque<(HoldId, Slot, Callback)>,
    /// In a context without threads: `true` once waiting calls and tasks were notified that callbacks are due.
    announced: bool,
    /// Running callbacks. A callback may run inside a wait of another one, on the same thread.
    running: Vec<(HoldId, ThreadId)>,
    /// Callback thread; `None` in a context without threads, where any thread that makes progress runs callbacks.
    pub(crate) thread: Option<ThreadId>,
    /// `true` while the callback thread is parked.
    pub(crate) idle: bool,
}

impl Callbacks {
    /// Adds a callback that has become due.
    pub(crate) fn add(&mut self, id: HoldId, slot: Slot, run: Callback) {
        self.due.push_back((id, slot, run));
        self.announced = false;
    }

    /// Returns `true` if a callback is due.
    pub(crate) fn are_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Removes and returns the callback that became due first.
    pub(crate) fn next_due(&mut self) -> Option<(HoldId, Slot, Callback)> {
        self.due.pop_front()
    }

    /// Removes and returns all due callbacks after the loss of the device.
    pub(crate) fn take_due(&mut self) -> VecDeque<(HoldId, Slot, Callback)> {
        std::mem::take(&mut self.due)
    }

    /// Marks all due callbacks as announced. Returns `true` if one of them was not announced before.
    fn announce(&mut self) -> bool {
        self.are_due() && !std::mem::replace(&mut self.announced, true)
    }

    /// Records that this thread runs a callback.
    fn begin(&mut self, id: HoldId) {
        self.running.push((id, this_thread()));
    }

    /// Records that a callback has run.
    fn end(&mut self, id: HoldId) {
        self.running.retain(|(running, _)| *running != id);
    }

    /// Returns the thread that runs a callback, or the callback thread if the callback is not yet running.
    fn thread_of(&self, callback: HoldId) -> Option<ThreadId> {
        let running = self.running.iter().find(|(id, _)| *id == callback);
        running.map(|(_, thread)| *thread).or(self.thread)
    }

    /// Returns `true` if the callback thread is parked and must be notified, and marks it as awake. It must be notified
    /// if callbacks are due, or if `over` says that the context has ended.
    pub(crate) fn wake_thread(&mut self, over: bool) -> bool {
        let wakes = self.idle && (over || self.are_due());
        self.idle &= !wakes;
        wakes
    }
}

/// A callback that must run before a point is reached.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct BlockingCallback {
    pub(crate) callback: HoldId,
    pub(crate) queue: Arc<str>,
    /// Thread that runs the callback, or the callback thread if the callback is not yet running.
    pub(crate) thread: Option<ThreadId>,
}

/// A recorded wait of a thread that runs a callback.
struct BlockedWait {
    number: u64,
    thread: ThreadId,
    engine: Weak<Engine>,
    point: Point,
    /// Poll of a task, or `None` if the thread blocks.
    poll: Option<Polled>,
}

/// A poll of a task. A single poll does not prove that the thread has nothing else to do.
struct Polled {
    waker: Waker,
    sure: PollEvidence,
}

/// Evidence that a thread does nothing but poll a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PollEvidence {
    No,
    /// The task was woken to see if the thread polls it again.
    Requested,
    /// The thread polled the task again after it was woken.
    Yes,
}

/// Recorded waits of the process.
#[derive(Default)]
struct BlockedWaits {
    numbers: u64,
    waits: Vec<BlockedWait>,
}

/// Lock of the recorded waits. A lock of `std` even in loom models, because a static needs a constant initializer. No
/// other lock is taken under it.
static WAITS: PerProcess<Mutex<BlockedWaits>> =
    PerProcess::new(Mutex::new(BlockedWaits { numbers: 0, waits: Vec::new() }), Mutex::default);

/// Number of recorded polls.
static POLLS: AtomicU32 = AtomicU32::new(0);

fn waits() -> std::sync::MutexGuard<'static, BlockedWaits> {
    WAITS.get().lock().unwrap_or_else(PoisonError::into_inner)
}

impl BlockedWaits {
    fn push(&mut self, engine: &Engine, point: Point, poll: Option<Polled>) -> u64 {
        self.numbers += 1;
        let number = self.numbers;
        let thread = this_thread();
        let engine = engine.me.clone();
        POLLS.fetch_add(u32::from(poll.is_some()), Ordering::Relaxed);
        self.waits.push(BlockedWait { number, thread, engine, point, poll });
        number
    }

    fn take(&mut self, of: impl FnMut(&mut BlockedWait) -> bool) -> Vec<BlockedWait> {
        let taken: Vec<BlockedWait> = self.waits.extract_if(.., of).collect();
        let polls = taken.iter().filter(|wait| wait.poll.is_some()).count();
        POLLS.fetch_sub(polls as u32, Ordering::Relaxed);
        taken
    }
}

/// Record of a thread that blocks for a point without a time limit. Dropping it removes the record.
pub(crate) struct Blocked(u64);

impl Blocked {
    pub(crate) fn note(engine: &Engine, point: Point) -> Self {
        Self(waits().push(engine, point, None))
    }

    /// Records the wait again if it was removed: when a callback on this thread is [refused](refuse) a wait, all waits
    /// of the thread are removed.
    pub(crate) fn renew(&mut self, engine: &Engine, point: Point) {
        let mut waits = waits();
        if !waits.waits.iter().any(|wait| wait.number == self.0) {
            self.0 = waits.push(engine, point, None);
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        waits().waits.retain(|wait| wait.number != self.0);
    }
}

/// Records that this thread polls a point.
fn note_poll(engine: &Engine, point: Point, waker: &Waker) {
    let mut waits = waits();
    let thread = this_thread();
    let polls = waits
        .waits
        .iter_mut()
        .filter(|wait| wait.thread == thread && wait.point == point && wait.engine.ptr_eq(&engine.me));
    let known = polls.filter_map(|wait| wait.poll.as_mut()).find(|poll| poll.waker.will_wake(waker));
    match known {
        Some(poll) if poll.sure == PollEvidence::Requested => poll.sure = PollEvidence::Yes,
        Some(_) => {}
        None => {
            waits.push(engine, point, Some(Polled { waker: waker.clone(), sure: PollEvidence::No }));
        }
    }
}

/// Removes the recorded polls by a thread.
pub(crate) fn forget_polls(thread: ThreadId) {
    let gone: Vec<BlockedWait> = waits().take(|wait| wait.thread == thread && wait.poll.is_some());
    drop(gone); // outside the lock, because dropping a waker may run user code
}

/// Removes the recorded polls with `waker`, because its future was dropped.
pub(crate) fn forget_polls_of(waker: &Waker) {
    let of = |wait: &mut BlockedWait| wait.poll.as_ref().is_some_and(|poll| poll.waker.will_wake(waker));
    // Most futures are polled outside callbacks, so checking this counter usually avoids the lock.
    if POLLS.load(Ordering::Relaxed) > 0 {
        let gone: Vec<BlockedWait> = waits().take(of);
        drop(gone);
    }
}

/// A callback, and the wait of the thread that runs it. The last link of a cycle has no wait, because its thread is the
/// calling thread.
#[derive(PartialEq, Eq)]
struct WaitLink {
    before: BlockingCallback,
    wait: Option<u64>,
}

/// Follows the waits that start with the thread of `before`. Returns `true` if they lead to the calling thread.
fn follow(before: BlockingCallback, seen: &mut Vec<ThreadId>, links: &mut Vec<WaitLink>) -> bool {
    let Some(thread) = before.thread.filter(|thread| !seen.contains(thread)) else { return false };
    if thread == this_thread() {
        links.push(WaitLink { before, wait: None });
        return true;
    }
    seen.push(thread);
    for (number, engine, point) in waits_of(thread) {
        links.push(WaitLink { before: before.clone(), wait: Some(number) });
        let next = engine.upgrade().and_then(|engine| engine.callback_before(point));
        if next.is_some_and(|next| follow(next, seen, links)) {
            return true;
        }
        links.pop();
    }
    false
}

fn waits_of(thread: ThreadId) -> Vec<(u64, Weak<Engine>, Point)> {
    let waits = waits();
    let of = waits.waits.iter().filter(|wait| wait.thread == thread);
    of.map(|wait| (wait.number, wait.engine.clone(), wait.point)).collect()
}

/// Returns `true` if the wait of this thread is refused, which breaks the cycle. But if a task in the cycle may have
/// been polled just once, this call only wakes it and refuses nothing. If its thread then polls it again, that poll
/// searches for the cycle too.
fn refuse(cycle: &[WaitLink]) -> bool {
    let thread = this_thread();
    let mut noted = waits();
    let others: Vec<u64> = cycle.iter().filter_map(|link| link.wait).collect();
    let mut there = noted.waits.iter_mut().filter(|wait| others.contains(&wait.number));
    let unsure: Vec<&mut Polled> = there
        .by_ref()
        .filter_map(|wait| wait.poll.as_mut())
        .filter(|poll| poll.sure != PollEvidence::Yes)
        .collect();
    let sure = unsure.is_empty();
    let mut requested = Vec::new();
    for poll in unsure {
        if std::mem::replace(&mut poll.sure, PollEvidence::Requested) == PollEvidence::No {
            requested.push(poll.waker.clone());
        }
    }
    // If the wait of another thread in the cycle has failed meanwhile, the cycle is broken, and this thread may wait.
    let all = others.iter().all(|number| noted.waits.iter().any(|wait| wait.number == *number));
    let refused = sure && all;
    let gone: Vec<BlockedWait> = match refused {
        true => noted.take(|wait| wait.thread == thread),
        false => Vec::new(),
    };
    drop(noted);
    drop(gone);
    crate::scheduler::callbacks::wake_all(requested);
    refused
}

thread_local! {
    /// Relays that were woken while this thread was polling relays; `None` while it polls none.
    static RELAYS: RefCell<Option<VecDeque<Arc<Relay>>>> = RefCell::default();
    /// Deferred runs of the callbacks of contexts.
    static CALLBACKS: RefCell<Vec<Box<dyn FnOnce()>>> = RefCell::default();
    /// Deferred drops of values of the program.
    static DROPS: RefCell<Vec<Box<dyn FnOnce()>>> = RefCell::default();
}

/// Runs `first`, and then the relays that were woken on this thread meanwhile: in a loop instead of recursively,
/// because a chain of relays may be long. User code runs last, because it may wait for any of the relays: first
/// destructors, then tasks, then callbacks.
pub(crate) fn run_with_deferred<R>(first: impl FnOnce() -> R) -> R {
    let outermost = with_relays(|list| {
        let outermost = list.is_none();
        list.get_or_insert_default();
        outermost
    });
    let later = TasksLater::enter();
    let result = first();
    while let Some(relay) = outermost.then(next_relay).flatten() {
        relay.poll_or_start();
    }
    let tasks = later.end();
    if outermost {
        DROPS.try_with(RefCell::take).unwrap_or_default().into_iter().for_each(|run| run());
    }
    wake_each(tasks);
    if outermost {
        CALLBACKS.try_with(RefCell::take).unwrap_or_default().into_iter().for_each(|run| run());
    }
    result
}

/// Calls `wakers`: first those of relays, and then those of tasks, which may block.
pub(crate) fn wake_all(wakers: Vec<Waker>) {
    if !wakers.is_empty() {
        run_with_deferred(|| wake_each(wakers));
    }
}

/// Drops `things` one after the other, or later if this thread is polling relays: they may hold values of the program
/// whose destructors wait.
pub(crate) fn drop_all<T: 'static>(things: Vec<T>) {
    if things.is_empty() {
        return;
    }
    if is_polling_relays() && DROPS.try_with(|_| ()).is_ok() {
        DROPS.with(|drops| drops.borrow_mut().push(Box::new(|| drop_all(things))));
        return;
    }
    for thing in things {
        let _in = InTask::enter();
        catch_panic("a destructor", || drop(thing));
    }
}

/// Defers `run`, which runs the callbacks of a context, until this thread has polled all relays. Does nothing and
/// returns `false` if the thread is not polling relays.
pub(crate) fn defer_calls(run: impl FnOnce() + 'static) -> bool {
    let deferred = is_polling_relays() && CALLBACKS.try_with(|_| ()).is_ok();
    if deferred {
        CALLBACKS.with(|left| left.borrow_mut().push(Box::new(run)));
    }
    deferred
}

/// Defers a relay until this thread has polled the relays before it. Does nothing and returns `false` if the thread is
/// not polling relays.
pub(crate) fn defer_relay(relay: &Arc<Relay>) -> bool {
    with_relays(|list| list.as_mut().map(|list| list.push_back(relay.clone())).is_some())
}

fn is_polling_relays() -> bool {
    with_relays(|list| list.is_some())
}

/// Removes and returns the relay that was woken first. If there is none, the thread stops counting as polling relays.
fn next_relay() -> Option<Arc<Relay>> {
    with_relays(|list| {
        let first = list.as_mut().and_then(VecDeque::pop_front);
        if first.is_none() {
            *list = None;
        }
        first
    })
}

/// Calls `look` with the list of relays. In a destructor at the end of a thread, the list may be gone; then the thread
/// polls no relays.
fn with_relays<R>(look: impl FnOnce(&mut Option<VecDeque<Arc<Relay>>>) -> R) -> R {
    let mut look = Some(look);
    let looked = RELAYS.try_with(|woken| look.take().map(|look| look(&mut woken.borrow_mut())));
    match (looked, look) {
        (Ok(Some(looked)), _) => looked,
        (_, Some(look)) => look(&mut None),
        _ => unreachable!("bug: the list is read without a call"),
    }
}

/// Calls `wakers` in order.
pub(crate) fn wake_each(wakers: Vec<Waker>) {
    for waker in wakers {
        catch_panic("a waker", || waker.wake());
    }
}

/// Runs user code and logs its panic. Meanwhile the thread does not count as signalling an event, so that waits in the
/// user code may run callbacks.
pub(crate) fn catch_panic(what: &str, run: impl FnOnce()) {
    assert_unlocked(what);
    let _signals = SignallingMark::set(false);
    if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
        drop_payload(payload);
        report!(Error, "{what} of the program panicked");
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod callbacks_tests {
    use super::*;
    use crate::scheduler::queues::Priority;
    use crate::scheduler::test_engine::{engine, enqueue_callback, hold, queue};

    #[test]
    fn r01_a_queue_that_failed_during_a_callback_is_unchanged_by_its_end() {
        for panic in [None, Some(String::from("why"))] {
            let engine = engine(false);
            let slot = queue(&engine);
            enqueue_callback(&engine, slot, || ());
            let mut state = engine.lock();
            let callback = state.queue(slot).end(slot);
            state.plan([callback], Priority::Normal);
            let (id, _, _run) = state.callbacks.next_due().expect("the callback is due");
            state.fail_queue(slot, callback.stamp, ErrorDetail::Busy { array: "x".into() }.into());
            state.plan([callback], Priority::Normal);
            drop(state);
            engine.take_queue_error(slot).expect("the queue has failed");
            let gate = hold(&engine, slot);
            let mut state = engine.lock();
            state.finish_callback(id, slot, panic);
            let after = state.queue(slot).end(slot);
            state.plan([after], Priority::Normal);
            assert_eq!(state.reached(after), PointProgress::Unplanned, "the gate is not signalled");
            assert!(state.queue(slot).error.is_none());
            drop(state);
            gate.signal();
        }
    }
}

#[cfg(test)]
mod callback_cycles_tests {
    use super::*;
    use crate::scheduler::callbacks::CallbackMark;
    use crate::scheduler::test_engine::{TestTask, engine, queue};
    use fencepost_sync::HoldId;
    use std::sync::mpsc::channel;
    use std::thread;

    fn link(wait: u64) -> WaitLink {
        let queue = "q".into();
        let thread = Some(this_thread());
        WaitLink { before: BlockingCallback { callback: HoldId(1), queue, thread }, wait: Some(wait) }
    }

    #[test]
    fn q11_one_of_two_threads_that_find_the_same_cycle_is_refused() {
        let (engine, (report_done, told), (go, gone)) = (engine(false), channel(), channel());
        let own = Blocked::note(&engine, Point::START);
        let number = own.0;
        let other = engine.clone();
        let second = thread::spawn(move || {
            let wait = Blocked::note(&other, Point::START);
            report_done.send(wait.0).expect("the test receives");
            gone.recv().expect("the test sends");
            refuse(&[link(number)])
        });
        assert!(refuse(&[link(told.recv().expect("the other thread waits"))]));
        go.send(()).expect("the other thread receives");
        assert!(!second.join().expect("no panic"));
    }

    #[test]
    fn q11_renew_records_a_wait_that_a_refusal_removed() {
        let engine = engine(false);
        let mut wait = Blocked::note(&engine, Point::START);
        assert!(refuse(&[]) && waits_of(this_thread()).is_empty());
        wait.renew(&engine, Point::START);
        assert_eq!(waits_of(this_thread()).len(), 1);
        drop(wait);
        assert!(waits_of(this_thread()).is_empty());
    }

    #[test]
    fn q11_the_end_of_a_callback_removes_its_recorded_polls() {
        let engine = engine(false);
        let point = engine.marker(queue(&engine)).0;
        let inside = CallbackMark::enter();
        let waker = TestTask::new().1;
        assert!(engine.check_poll(point, &waker).is_none());
        assert!(engine.check_poll(point, &waker).is_none());
        assert_eq!(waits_of(this_thread()).len(), 1);
        drop(inside);
        assert!(waits_of(this_thread()).is_empty());
    }

    #[test]
    fn q11_a_future_dropped_in_a_callback_removes_its_recorded_poll() {
        let engine = engine(false);
        let point = engine.marker(queue(&engine)).0;
        let _inside = CallbackMark::enter();
        let wakers = [(); 2].map(|()| TestTask::new().1);
        wakers.iter().for_each(|waker| assert!(engine.check_poll(point, waker).is_none()));
        engine.forget(&wakers[0]);
        assert_eq!(waits_of(this_thread()).len(), 1);
        engine.forget(&wakers[1]);
        assert!(waits_of(this_thread()).is_empty());
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod deferred_calls_tests {
    use super::*;
    use crate::scheduler::relay::{Relay, RelaySource, SignalledBy, Signaller, UserSignal};
    use crate::scheduler::test_engine::{engine, enqueue_callback, queue};
    use fencepost_sync::TaskWaker;
    use std::sync::Mutex;
    use std::task::{Wake, Waker};
    use std::time::Duration;

    type Notes = Arc<Mutex<Vec<&'static str>>>;

    /// A task that, when it is woken, records whether the relay has signalled.
    struct Task(Notes, Arc<UserSignal>);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.note("task");
        }
    }

    impl Task {
        fn note(&self, what: &'static str) {
            let signalled = self.1.result().is_some();
            self.0.lock().expect("no panic").push(if signalled { what } else { "before the relay" });
        }
    }

    /// A value that, when it is dropped, records whether the relay has signalled.
    struct Dropped(Task);

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.note("drop");
        }
    }

    #[test]
    fn relays_run_before_drops_and_drops_before_tasks_and_tasks_before_callbacks() {
        let near = engine(false);
        let far = engine(false);
        let notes = Notes::default();
        let from = Signaller::new(&near, "from", SignalledBy::Program);
        let to = Signaller::new(&far, "to", SignalledBy::Program);
        let signalled = to.state().clone();
        Relay::attach(&far, to, RelaySource::User(Arc::downgrade(&near), from.state().clone()), None);
        let noting = notes.clone();
        enqueue_callback(&far, queue(&far), move || noting.lock().expect("no panic").push("callback"));
        let mut task_waker = TaskWaker::default();
        let dropped = Dropped(Task(notes.clone(), signalled.clone()));
        let task = task_waker.set(&Waker::from(Arc::new(Task(notes.clone(), signalled)))).clone();
        run_with_deferred(|| {
            far.make_progress(Duration::ZERO); // the callback becomes due
            task.wake();
            drop_all(vec![dropped]);
            run_with_deferred(|| from.signal());
            assert!(notes.lock().expect("no panic").is_empty());
        });
        assert_eq!(*notes.lock().expect("no panic"), ["drop", "task", "callback"]);
    }
}

#[cfg(test)]
mod drop_tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    struct Bomb(Rc<Cell<u32>>);

    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            assert!(self.0.get() != 1, "the test panics here");
        }
    }

    #[test]
    fn a_panic_in_a_destructor_does_not_stop_the_other_drops() {
        let dropped = Rc::<Cell<u32>>::default();
        drop_all(vec![Bomb(dropped.clone()), Bomb(dropped.clone()), Bomb(dropped.clone())]);
        assert_eq!(dropped.get(), 3);
    }
}

//! The threads of a context: two for each lane, and one for host callbacks. Also thread-local marks of threads that run
//! callbacks or signal events for the program. Threads with work to do are notified after the release of S, the state
//! lock.
//!
//! A waker or a destructor of the program may wait for work that this very thread would submit or complete. So before a
//! lane thread runs user code that may wait, another thread takes over its *post*, the work of the lane, and the
//! replaced thread ends when the user code returns.

use crate::scheduler::callbacks;
#[cfg(not(target_arch = "wasm32"))]
use crate::scheduler::callbacks::CallbackMark;
use crate::scheduler::engine::Engine;
#[cfg(not(target_arch = "wasm32"))]
use crate::scheduler::engine::SLICE;
use crate::scheduler::lanes::{Plannable, ThreadRest};
#[cfg(not(target_arch = "wasm32"))]
use crate::scheduler::plan::open_batch::DueCommands;
use crate::scheduler::queues::Priority;
use crate::scheduler::state::{AfterUnlock, State};
use fencepost_sync::Slot;
#[cfg(not(target_arch = "wasm32"))]
use fencepost_sync::TimelineValue;
use fencepost_sync::prim::{Condvar, MutexGuard, thread_local};
#[cfg(not(target_arch = "wasm32"))]
use fencepost_sync::prim::{lock, sleep, sleep_for, yield_now};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
#[cfg(not(target_arch = "wasm32"))]
use web_time::Instant;

/// Longest park of a lane thread while its lane is in use; in a browser, the shortest time between two turns that plan
/// unflushed commands while the device is busy.
pub(crate) const TICK: Duration = Duration::from_millis(1);
/// Number of ticks after the last submission until the lane thread parks without a timeout.
#[cfg(not(target_arch = "wasm32"))]
const TICKS: u32 = if cfg!(fencepost_loom) { 1 } else { 8 };

/// Ticks of a lane thread since the last submission.
#[derive(Default)]
#[cfg(not(target_arch = "wasm32"))]
struct IdleTicks {
    ticks: u32,
    /// Value that the next submission had when the count began.
    upto: TimelineValue,
    /// `true` if the last park was a tick. Then the program has had time to enqueue more commands, so pending commands
    /// are planned now.
    ticked: bool,
}
#[cfg(not(target_arch = "wasm32"))]
impl IdleTicks {
    /// Counts the next park of a lane thread. `pending` is the value of the lane's next submission. Returns `true` if
    /// that park is a tick.
    fn count_park(&mut self, pending: TimelineValue) -> bool {
        if pending != self.upto {
            self.ticks = 0;
            self.upto = pending;
        }
        self.ticks += 1;
        self.ticks <= TICKS
    }
}
#[cfg(not(target_arch = "wasm32"))]
impl Engine {
    /// Runs the thread of a lane: it plans pending commands, submits batches and parks. Commands that are not urgent
    /// wait for a tick, so that the program has time to enqueue more commands for the same batch.
    pub(crate) fn lane_thread(&self, lane: usize) {
        let mut resting = IdleTicks::default();
        while !is_replaced() {
            // Lets other threads take S, the state lock, between two batches.
            self.yield_lock();
            let mut state = self.lock();
            while !(state.urgent_for(lane) || (resting.ticked && state.something_for(lane))) {
                if state.finished() {
                    return;
                }
                state = self.park_lane_thread(lane, state, &mut resting);
            }
            // Before a tick and without urgent commands, the thread only submits, so that pending commands gather.
            let due = std::mem::take(&mut resting.ticked) || state.could_plan(lane, true);
            self.submit_next(lane, state, due.then_some(DueCommands::All));
        }
    }

    /// Parks for one tick at a time while the lane is in use, and for [`TICKS`] ticks after that. Later, parks until
    /// notified.
    fn park_lane_thread<'a>(
        &'a self,
        lane: usize,
        mut state: MutexGuard<'a, State>,
        resting: &mut IdleTicks,
    ) -> MutexGuard<'a, State> {
        let has_work = state.something_for(lane);
        let at = &mut state.lanes[lane];
        let tick = resting.count_park(at.timeline.pending()) || at.needs_cleanup || has_work;
        resting.ticked = tick;
        at.rest = if tick { ThreadRest::Ticking } else { ThreadRest::Asleep };
        let mut state = match tick {
            true => self.park_for_tick(lane, state),
            false if state.needs_loss_poll(lane) => self.idle_poll(lane, state),
            false => sleep(&self.work[lane], state),
        };
        state.lanes[lane].rest = ThreadRest::Awake;
        if lane == 0 {
            state.report_guards();
        }
        if lane == 0 && state.deliveries.running.is_some() {
            let limit = lock(&self.print_options).limit;
            state.announce_overdue(limit);
            self.unlock(state);
            state = self.lock();
        }
        self.idle_round(lane, state)
    }

    /// Parks for one tick. In a model the tick ends at once.
    fn park_for_tick<'a>(&'a self, lane: usize, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if cfg!(fencepost_loom) {
            drop(state);
            yield_now();
            return self.lock();
        }
        sleep_for(&self.work[lane], state, TICK)
    }

    /// Parks for at most one slice. If the slice passes, polls for device loss.
    fn idle_poll<'a>(&'a self, lane: usize, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.lanes[lane].rest = ThreadRest::PollingForLoss;
        let start = Instant::now();
        let state = sleep_for(&self.work[lane], state, SLICE);
        if start.elapsed() < SLICE {
            return state;
        }
        drop(state);
        self.poll_loss();
        self.lock()
    }

    /// Lets the driver release resources, and notifies the completer if no caller waits for the batches in flight. A
    /// caller that submits a batch in order to wait for it does not notify the completer, but may then drop the result
    /// without waiting.
    fn idle_round<'a>(&'a self, lane: usize, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let unwatched = state.lanes[lane].is_unwatched();
        let at = &mut state.lanes[lane];
        let completer = at.idle && unwatched;
        let needs_cleanup = std::mem::take(&mut at.needs_cleanup);
        if !completer && !needs_cleanup {
            return state;
        }
        at.idle &= !completer;
        drop(state);
        if completer {
            self.in_flight[lane].notify_all();
        }
        let tidied = !needs_cleanup || self.device.poll_loss();
        let mut state = self.lock();
        state.lanes[lane].needs_cleanup |= !tidied;
        state
    }

    /// Runs the completer of a lane: it waits natively for the next value, so that futures and callbacks make progress,
    /// and memory is reused.
    pub(crate) fn completer(&self, lane: usize) {
        while !is_replaced() {
            let next = {
                let mut state = self.lock();
                while !state.lanes[lane].is_unwatched() {
                    if state.finished() {
                        return;
                    }
                    state.lanes[lane].idle = true;
                    state = sleep(&self.in_flight[lane], state);
                    state.lanes[lane].idle = false;
                }
                if state.lost.is_some() {
                    return;
                }
                TimelineValue(state.lanes[lane].timeline.completed().0 + 1)
            };
            self.wait_native(lane, next, SLICE);
        }
    }

    /// Runs the callback thread: it calls the due callbacks in order until the context ends.
    pub(crate) fn callback_thread(&self) {
        let _inside = CallbackMark::enter(); // a waker that waits here delays the callbacks
        let mut state = self.lock();
        state.callbacks.thread = Some(this_thread());
        loop {
            state = self.run_callbacks(state);
            if state.finished() {
                state.callbacks.thread = None;
                return;
            }
            state.callbacks.idle = true;
            state = sleep(&self.calls, state);
            state.callbacks.idle = false;
        }
    }
}

/// Number of a thread. The standard library's thread ids do not distinguish the threads of a loom model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadId(u64);

static THREADS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static THIS_THREAD: ThreadId = ThreadId(THREADS.fetch_add(1, Ordering::Relaxed));
    /// Number of nested callbacks running on this thread, plus one on the callback thread of a context.
    static DEPTH: Cell<u32> = Cell::default();
    /// `true` while this thread signals an event for the program.
    static SIGNALS: Cell<bool> = Cell::default();
}

#[cfg(not(target_arch = "wasm32"))]
thread_local! {
    /// `true` on a thread that belongs to a context.
    static BELONGS: Cell<bool> = Cell::default();
}

/// Marks this thread as one of a context.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn belong_to_a_context() {
    BELONGS.with(|belongs| belongs.set(true));
}

/// Returns `true` if a context may need what this thread does next, because it belongs to a context or runs a callback.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn is_needed() -> bool {
    BELONGS.with(Cell::get) || is_inside_callback()
}

/// Calls `run`, which signals an event, with the signalling mark of this thread set. While it is set, no context runs
/// callbacks on this thread, because a callback may wait for something that the thread does next.
pub(crate) fn signal(run: impl FnOnce()) {
    let _signals = SignallingMark::set(true);
    run();
}

/// Guard that sets or clears the signalling mark of this thread until it is dropped. If user code called by the signal
/// waits, the wait clears the mark, so that callbacks can run: until the wait ends, the thread does nothing else
/// anyway.
pub(crate) struct SignallingMark(bool);

impl SignallingMark {
    pub(crate) fn set(now: bool) -> Self {
        Self(SIGNALS.with(|signals| signals.replace(now)))
    }
}

impl Drop for SignallingMark {
    fn drop(&mut self) {
        SIGNALS.with(|signals| signals.set(self.0));
    }
}

pub(crate) fn this_thread() -> ThreadId {
    THIS_THREAD.with(|thread| *thread)
}

/// Returns `true` if this thread runs a callback, or is the callback thread of a context. In that case, later callbacks
/// of that context cannot run before the current call returns.
pub(crate) fn is_inside_callback() -> bool {
    DEPTH.with(Cell::get) > 0
}

/// Returns `true` while this thread signals an event for the program.
pub(crate) fn is_signalling() -> bool {
    SIGNALS.with(Cell::get)
}

/// Counts one more callback on this thread.
pub(crate) fn enter_callback() {
    DEPTH.with(|depth| depth.set(depth.get() + 1));
}

/// Undoes one [`enter_callback`].
pub(crate) fn leave_callback() {
    debug_assert!(is_inside_callback(), "bug: a callback ends that has not begun");
    DEPTH.with(|depth| depth.set(depth.get() - 1));
}

/// Threads to notify, computed under S and used after S is released.
#[derive(Default)]
pub(crate) struct ThreadWakeups {
    /// For each lane, `true` to notify its thread, and `true` to notify its completer.
    lanes: smallvec::SmallVec<[(bool, bool); 2]>,
    /// `true` to notify the callback thread.
    calls: bool,
    /// `true` to notify the message thread.
    messages: bool,
    /// `true` to notify the parked callers.
    callers: bool,
    /// Condition variables of callers that are parked for a batch and can go on.
    parked: smallvec::SmallVec<[Arc<Condvar>; 2]>,
}

impl ThreadWakeups {
    /// Returns the wakeups for a caller that is about to park. Sleeping callers are left out, because this caller has
    /// changed nothing that they wait for. Callers parked for a batch stay included, because each of them is notified
    /// only once.
    pub(crate) fn without_callers(self) -> Self {
        Self { callers: false, ..self }
    }
}

impl State {
    /// Returns the threads to notify after a change of the state, and marks them as awake, so that each is notified
    /// once.
    pub(crate) fn wakeups(&mut self) -> ThreadWakeups {
        let over = self.finished();
        let mut wakeups = ThreadWakeups::default();
        for lane in 0..self.lanes.len() {
            let thread = match self.lanes[lane].rest {
                ThreadRest::Awake => false,
                ThreadRest::Ticking => over || self.urgent_for(lane),
                ThreadRest::Asleep => over || self.something_for(lane) || self.needs_loss_poll(lane),
                ThreadRest::PollingForLoss => over || self.something_for(lane),
            };
            let completer = self.lanes[lane].idle && (over || self.lanes[lane].is_unwatched());
            let at = &mut self.lanes[lane];
            if thread {
                at.rest = ThreadRest::Awake;
            }
            at.idle &= !completer;
            wakeups.lanes.push((thread, completer));
        }
        wakeups.calls = self.callbacks.wake_thread(over);
        wakeups.messages = self.deliveries.wake_thread(over, &self.queues);
        wakeups.callers = self.waiters.asleep > 0;
        wakeups.parked = self.due_callers();
        wakeups
    }

    /// Returns `true` if the threads have nothing more to do, because the device is lost or the context is closing.
    pub(crate) fn finished(&self) -> bool {
        self.lost.is_some() || self.closing
    }

    /// Returns `true` if the thread of a lane can submit or plan something.
    pub(crate) fn something_for(&self, lane: usize) -> bool {
        self.work_for(lane, false)
    }

    /// Returns `true` if the thread of a lane can submit something, or plan commands, provided that they were requested
    /// or there are many.
    pub(crate) fn urgent_for(&self, lane: usize) -> bool {
        self.work_for(lane, true)
    }

    /// Returns `true` if the thread of this lane must poll for device loss. Lane 0 does so if a task waits while
    /// nothing is in flight, because then no fence would report the loss.
    pub(crate) fn needs_loss_poll(&self, lane: usize) -> bool {
        let idle = || self.lanes.iter().all(|lane| lane.timeline.in_flight() == 0);
        lane == 0 && self.waiters.wakers.has_completion_wakers() && idle()
    }

    /// Returns `true` if the thread of a lane can submit a batch or plan a queue. With `urgent`, only urgent queues
    /// count. Returns `false` while the token is taken, because its holder notifies the thread when it returns the
    /// token.
    fn work_for(&self, lane: usize, urgent: bool) -> bool {
        let at = &self.lanes[lane];
        self.lost.is_none() && !at.token && (self.choose(lane).is_some() || self.could_plan(lane, urgent))
    }

    /// Returns `true` if a queue could be planned on a lane now. With `urgent`, only urgent queues count. Queues whose
    /// commands gather do not count.
    fn could_plan(&self, lane: usize, urgent: bool) -> bool {
        self.lanes[lane].has_room(false) && self.has_plannable(lane, urgent)
    }

    /// Like [`could_plan`](Self::could_plan), even if the lane has no room for another batch: a planning may also hand out
    /// a callback, which needs no batch.
    pub(crate) fn has_plannable(&self, lane: usize, urgent: bool) -> bool {
        let gathers = |priority: Priority| self.plannable(lane, priority) == Plannable::Nothing;
        let own = self.queue(Slot::CONTEXT);
        let plans = |priority: Priority| {
            let plans_own = || {
                priority == own.priority && (!urgent || own.urgent()) && self.queues.plans_context_on(lane)
            };
            (self.queues.can_plan(lane, priority, urgent) || plans_own()) && !gathers(priority)
        };
        Priority::ORDER.into_iter().any(plans)
    }
}

impl Engine {
    /// Releases S. Then runs the deferred drops, notifies the threads that have work, and calls the deferred wakers.
    pub(crate) fn unlock(&self, mut state: MutexGuard<'_, State>) {
        let wakeups = state.wakeups();
        self.unlock_with(state, &wakeups);
    }

    /// Releases S for a caller that next polls the fence of a lane. The caller is made a watcher, so that the lane's
    /// completer is not woken.
    pub(crate) fn unlock_watched(&self, mut state: MutexGuard<'_, State>, lane: usize) {
        state.lanes[lane].watchers += 1;
        let wakeups = state.wakeups();
        state.lanes[lane].watchers -= 1;
        self.unlock_with(state, &wakeups);
    }

    /// Like [`unlock`](Self::unlock), but notifies only the threads of `wakeups`.
    pub(crate) fn unlock_with(&self, mut state: MutexGuard<'_, State>, wakeups: &ThreadWakeups) {
        let AfterUnlock { dropped, wakers, times, planned_any: _ } = std::mem::take(&mut state.after);
        drop(state);
        drop(times);
        if !dropped.is_empty() {
            callbacks::drop_all(dropped);
        }
        self.notify(wakeups);
        if !wakers.is_empty() {
            callbacks::wake_all(wakers);
        }
    }

    /// Notifies the threads that have work to do now.
    pub(crate) fn notify_due_threads(&self) {
        self.unlock(self.lock());
    }

    pub(crate) fn notify(&self, wakeups: &ThreadWakeups) {
        let wake = |condvar: &Condvar, due: bool| {
            if due {
                condvar.notify_all();
            }
        };
        for (lane, &(thread, completer)) in wakeups.lanes.iter().enumerate() {
            wake(&self.work[lane], thread);
            wake(&self.in_flight[lane], completer);
        }
        wake(&self.calls, wakeups.calls);
        wake(&self.messages, wakeups.messages);
        wake(&self.done, wakeups.callers);
        wakeups.parked.iter().for_each(|caller| caller.notify_all());
    }
}

/// Function that starts a thread to replace a lane thread.
type ReplaceThread = Box<dyn FnOnce() + Send>;

thread_local! {
    /// Function that replaces this thread. `Some` on a lane thread that was not yet replaced.
    static POST: RefCell<Option<ReplaceThread>> = RefCell::default();
    /// `true` if another thread has replaced this one.
    static REPLACED: Cell<bool> = Cell::default();
}

/// Registers this thread as a lane thread. `replace` starts another thread for the same lane.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn set_post(replace: impl FnOnce() + Send + 'static) {
    debug_assert!(!is_replaced(), "bug: a replaced thread takes a post");
    POST.with(|own| own.replace(Some(Box::new(replace))));
}

/// Returns `true` if this is a lane thread. A lane thread never runs callbacks, not even of a context without threads,
/// because they may wait for this thread.
pub(crate) fn is_thread_of_a_lane() -> bool {
    // In a destructor at the end of a thread, the thread-local may be gone. Such a thread no longer serves a lane.
    POST.try_with(|own| own.borrow().is_some()).unwrap_or(false)
}

/// Returns `true` if another thread has replaced this one.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn is_replaced() -> bool {
    REPLACED.with(Cell::get)
}

/// Replaces this thread if it is a lane thread, because it is about to wait.
pub(crate) fn replace_lane_thread() {
    if let Some(replace) = POST.try_with(RefCell::take).ok().flatten() {
        REPLACED.with(|replaced| replaced.set(true));
        replace();
    }
}

/// Replaces this thread if it is a lane thread inside a waker or destructor of the program, because that code may
/// wait for a result.
pub(crate) fn replace_lane_thread_in_task() {
    if fencepost_sync::in_task() {
        replace_lane_thread();
    }
}

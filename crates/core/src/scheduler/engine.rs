//! The scheduler of one context: its state lock S, its condition variables and its lanes. Also operations on all
//! queues, and the end of queues and of the context.

use crate::device::{CostModel, Device, Lane, Recorder};
use crate::error::{Error, ErrorDetail, KernelId, Result};
use crate::memory::uses::Policy;
use crate::scheduler::batch::{Command, Op};
use crate::scheduler::complete::PointHistory;
use crate::scheduler::messages::PrintOptions;
use crate::scheduler::queue::{HoldReason, QueueState};
use crate::scheduler::queues::Priority;
use crate::scheduler::state::State;
use crate::scheduler::times::QueueTiming;
use crate::scheduler::wait::Caller;
#[cfg(not(target_arch = "wasm32"))]
use crate::scheduler::wakers::Deadline;
use crate::scheduler::wakers::WakeCondition;
use crate::work::kernel_launch::LaunchPool;
use crate::work::step::Work;
use fencepost_kernels::report;
use fencepost_profile::WaitCause;
use fencepost_sync::backend::Fence;
use fencepost_sync::prim::{Condvar, Mutex, MutexGuard, lock, try_lock, yield_now};
use fencepost_sync::{Clock, HoldId, Point, Process, Slot, Stamp};
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// Longest native wait in a context with threads. Between two such waits, a waiter checks for a lost device.
pub(crate) const SLICE: Duration = Duration::from_millis(100);

/// Maximum number of times that a thread yields so that others can take S.
const MOST_YIELDS: usize = 1000;

/// Time after which an ending context stops its chunked loops.
pub(crate) const LOOPS_END: Duration = Duration::from_secs(5);

/// State that the threads, queues and arrays of a context share.
pub(crate) struct Engine {
    state: Mutex<State>,
    /// Process that made the engine. In a child of fork(2), a thread of the parent may have held S at the fork, so the
    /// child uses `in_child` instead of `state`. It does no work.
    process: Process,
    in_child: OnceLock<Mutex<State>>,
    /// Number of slots, for use by `in_child`.
    slots: AtomicU32,
    /// Number of threads that wait for S.
    waiting: AtomicU32,
    /// Notified when a lane may have work to plan or to submit. The lane's thread sleeps here.
    pub(crate) work: Vec<Condvar>,
    /// Notified when work is in flight on a lane and no caller polls its fence. The lane's completer sleeps here.
    pub(crate) in_flight: Vec<Condvar>,
    /// Notified of any progress. Waiting callers sleep here.
    pub(crate) done: Condvar,
    /// Notified when callbacks are due. The callback thread sleeps here.
    pub(crate) calls: Condvar,
    /// Notified when messages are due. The message thread sleeps here.
    pub(crate) messages: Condvar,
    pub(crate) lanes: Vec<EngineLane>,
    pub(crate) device: Arc<dyn Device>,
    pub(crate) launches: LaunchPool,
    pub(crate) print_options: Mutex<PrintOptions>,
    /// `true` if the context has threads. Without them, calls that flush or wait do all the work.
    pub(crate) threads: bool,
    /// In a browser: `true` while a turn is scheduled.
    #[cfg(target_arch = "wasm32")]
    pub(crate) scheduled: std::sync::atomic::AtomicBool,
    /// In a browser: `true` while a timer will start a turn.
    #[cfg(target_arch = "wasm32")]
    pub(crate) tick_scheduled: std::sync::atomic::AtomicBool,
    /// In a browser: the number of turns.
    #[cfg(target_arch = "wasm32")]
    pub(crate) turns: std::sync::atomic::AtomicU32,
    /// In a browser: the start of the current tick.
    #[cfg(target_arch = "wasm32")]
    pub(crate) last_tick: Mutex<web_time::Instant>,
    /// In a browser: the time at which the last handle was dropped, if work was left.
    #[cfg(target_arch = "wasm32")]
    pub(crate) closed: OnceLock<web_time::Instant>,
    pub(crate) me: Weak<Engine>,
}

/// The part of a lane outside S.
pub(crate) struct EngineLane {
    /// Recorder of the lane's batches. Only the holder of the lane's token uses it, so no thread ever blocks on this
    /// mutex.
    pub(crate) recorder: Mutex<Box<dyn Recorder>>,
    pub(crate) fence: Arc<dyn Fence>,
    /// `true` if a submission returns before its work is complete. Otherwise waiting callers leave submissions to the
    /// lane thread, so that they can return at their timeouts.
    pub(crate) async_submit: bool,
}

impl Engine {
    pub(crate) fn new(device: Arc<dyn Device>, lanes: Vec<Lane>, policy: Policy, threads: bool) -> Arc<Self> {
        let mut state = State::new(lanes.iter().map(|lane| lane.cost_model), policy);
        for (at, lane) in state.lanes.iter_mut().zip(&lanes) {
            at.has_thread = threads;
            at.executes_in_submit = lane.executes_in_submit;
        }
        let engine = |me: &Weak<Engine>| Self {
            state: Mutex::new(state),
            process: Process::this(),
            in_child: OnceLock::new(),
            slots: AtomicU32::new(1),
            waiting: AtomicU32::new(0),
            work: lanes.iter().map(|_| Condvar::new()).collect(),
            in_flight: lanes.iter().map(|_| Condvar::new()).collect(),
            done: Condvar::new(),
            calls: Condvar::new(),
            messages: Condvar::new(),
            lanes: lanes.into_iter().map(EngineLane::new).collect(),
            device,
            launches: LaunchPool::default(),
            print_options: Mutex::default(),
            threads,
            #[cfg(target_arch = "wasm32")]
            scheduled: Default::default(),
            #[cfg(target_arch = "wasm32")]
            tick_scheduled: Default::default(),
            #[cfg(target_arch = "wasm32")]
            turns: Default::default(),
            #[cfg(target_arch = "wasm32")]
            last_tick: Mutex::new(web_time::Instant::now()),
            #[cfg(target_arch = "wasm32")]
            closed: OnceLock::new(),
            me: me.clone(),
        };
        let engine = Arc::new_cyclic(engine);
        #[cfg(target_arch = "wasm32")]
        engine.listen();
        engine
    }

    /// Takes S, or the state that replaces it in a child of fork(2).
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        if self.process.is_left() {
            return self.lock_in_child();
        }
        if cfg!(fencepost_loom) {
            return lock(&self.state);
        }
        if let Some(state) = try_lock(&self.state) {
            return state;
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let state = lock(&self.state);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        state
    }

    /// Returns `true` in a child, made by fork(2), of the process that made the engine.
    pub(crate) fn is_in_child(&self) -> bool {
        self.process.is_left()
    }

    /// Returns an error in a child process. Calls that take a lock other than S check this first, because a thread of
    /// the parent may have held that lock.
    pub(crate) fn check_process(&self) -> Result<(), Error> {
        if self.is_in_child() { Err(self.forked()) } else { Ok(()) }
    }

    /// Returns an error if the device is lost, or in a child process.
    pub(crate) fn check_device(&self) -> Result<(), Error> {
        self.lock().check_not_lost()
    }

    /// Returns the error of calls in a child process.
    #[cold]
    pub(crate) fn forked(&self) -> Error {
        ErrorDetail::Forked { device: self.device.caps().adapter.clone() }.into()
    }

    #[cold]
    fn lock_in_child(&self) -> MutexGuard<'_, State> {
        lock(self.in_child.get_or_init(|| Mutex::new(self.state_in_child())))
    }

    /// Returns the state for a child process: failed queues on a lost device.
    fn state_in_child(&self) -> State {
        let error = self.forked();
        let lanes = self.lanes.iter().map(|_| CostModel::Unknown);
        let mut state = State::new(lanes, Policy::default());
        let made = self.slots.load(Ordering::Relaxed) as usize;
        while state.queues.len() < made {
            let label = "(of the parent)".into();
            state.queues.push(QueueState::new(label, 0, Priority::Normal, Clock::default(), Stamp(0)));
        }
        state.queues.for_each(|queue| {
            queue.failures.fail(Stamp(0)..=Stamp(u64::MAX), &error);
            queue.error = Some(error.clone());
        });
        state.lost = Some(error);
        state
    }

    /// Yields while other threads wait for S. Without this call, a thread that takes S repeatedly would starve the
    /// others, because a thread that has just released a mutex usually wins it again.
    pub(crate) fn yield_lock(&self) {
        for _ in 0..MOST_YIELDS {
            if self.waiting.load(Ordering::Relaxed) == 0 {
                return;
            }
            yield_now();
        }
    }

    pub(crate) fn new_hold(&self) -> HoldId {
        self.lock().new_hold()
    }

    /// Returns the number of a new kernel, and its name. The number stays valid while the name is held.
    pub(crate) fn new_kernel(&self, name: &str) -> (KernelId, Arc<str>) {
        self.lock().kernels.note(name)
    }

    /// Makes a queue on the lane with the fewest queues, ordered after everything enqueued so far. It is timed if
    /// `timing` is true and the device has timestamps.
    #[track_caller]
    pub(crate) fn new_queue(&self, label: &str, priority: Priority, timing: bool) -> Result<Slot, Error> {
        let mut state = self.lock();
        state.check_not_lost()?;
        let lane = state.queues.emptiest_lane(state.lanes.len());
        let slot = state.new_queue(label.into(), priority, lane, std::panic::Location::caller());
        self.slots.store(state.queues.len() as u32, Ordering::Relaxed);
        let clocked = self.device.caps().timestamps;
        let timed = timing && clocked;
        let noted = state.notes.is_noting();
        let notes = || noted.then(|| QueueTiming::for_notes(clocked));
        state.queue_mut(slot).timing = timed.then(QueueTiming::for_events).or_else(notes);
        Ok(slot)
    }

    /// Makes an internal queue for one command. The queue lives until [`release_helper`](Self::release_helper).
    pub(crate) fn helper(&self, label: &str, priority: Priority) -> Result<Slot, Error> {
        let mut state = self.lock();
        state.check_not_lost()?;
        let lane = state.queues.emptiest_lane(state.lanes.len());
        let slot = state.new_helper(label.into(), priority, lane);
        self.slots.store(state.queues.len() as u32, Ordering::Relaxed);
        Ok(slot)
    }

    /// Releases a hold and resumes all queues that it held.
    pub(crate) fn release(&self, hold: HoldId) {
        let mut state = self.lock();
        state.release(HoldReason::User(hold));
        let wakers = state.waiters.wakers.take(WakeCondition::User(hold));
        state.after.wakers.extend(wakers);
        if !self.threads {
            state.wake_all_waiters(); // a task that found no work can now make progress
        }
        self.unlock(state);
        #[cfg(target_arch = "wasm32")]
        self.schedule();
    }

    /// Flushes all queues, waits for them unless the device is lost, and lets the threads end.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn close(&self) {
        // No user event of the program holds a queue any more, because a handle of such an event keeps its context
        // alive.
        let ends = self.lock().queues.ends();
        let deadline = Deadline::after(Some(LOOPS_END));
        if ends.iter().any(|&end| matches!(self.wait(end, deadline), Ok(false))) {
            self.end_loops();
        }
        for end in ends {
            if let Err(error) = self.wait(end, Deadline::after(None)) {
                report!(Debug, "a wait failed while a context closed: {error}");
            }
        }
        self.lock().closing = true;
        self.notify_due_threads();
    }

    /// Stops the chunked loops: no further chunk is planned.
    pub(crate) fn end_loops(&self) {
        let mut state = self.lock();
        state.loops.ending = true;
        let holds = state.queues.iter().filter_map(|queue| queue.hold);
        let loops: Vec<HoldReason> = holds.filter(|hold| matches!(hold, HoldReason::Loop(_))).collect();
        loops.into_iter().for_each(|hold| _ = state.release(hold));
        self.unlock(state);
    }

    /// Closes a helper queue. Its slot becomes free once its work is done.
    pub(crate) fn release_helper(&self, slot: Slot) {
        let mut state = self.lock();
        state.queue_mut(slot).open = false;
        state.free_slot(slot);
        self.unlock(state);
    }

    /// Closes a queue whose handle is dropped. Its work is flushed, so that nothing is lost.
    pub(crate) fn close_queue(&self, slot: Slot) {
        let mut state = self.lock();
        let queue = state.queue_mut(slot);
        queue.open = false;
        queue.forget_waits();
        state.free_slot(slot);
        if state.lost.is_some() || state.queue(slot).is_finished() {
            return self.unlock(state);
        }
        if self.threads {
            return self.flush_locked(state, slot, Caller::Continues);
        }
        let end = state.queue(slot).end(slot);
        let priority = state.queue(slot).priority;
        state.plan([end], priority);
        self.unlock(state);
    }

    /// Flushes all queues. Returns the ends of those with work left.
    ///
    /// # Errors
    /// `DeviceLost`.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn close_in_page(&self) -> Result<Vec<Point>> {
        self.flush_all()?;
        let state = self.lock();
        let ends: Vec<Point> =
            state.queues.ends().into_iter().filter(|end| !state.queue(end.slot).is_finished()).collect();
        drop(state);
        if !ends.is_empty() {
            let _ = self.closed.set(web_time::Instant::now());
        }
        Ok(ends)
    }

    /// Returns `true` if a pending command waits for another context.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn waits_for_other_context(&self) -> bool {
        let state = self.lock();
        let mut pending = state.queues.iter().flat_map(|queue| queue.pending.iter());
        pending.any(|command| matches!(&command.op, Op::WaitUser(event) if event.source().is_some()))
    }

    /// Logs an error that no call can return. Keeps the first one.
    pub(crate) fn note_drop_error(&self, error: Error) {
        report!(Error, "{error}");
        self.lock().drop_error.get_or_insert(error);
    }

    /// Plans all enqueued commands.
    ///
    /// # Errors
    /// `DeviceLost`.
    pub(crate) fn flush_all(&self) -> Result<()> {
        let state = self.lock();
        state.check_not_lost()?;
        let ends: Vec<Point> =
            state.queues.unplanned().into_iter().map(|slot| state.queue(slot).end(slot)).collect();
        self.submit_all_up_to(state, &ends);
        Ok(())
    }

    /// Plans all enqueued commands. Returns the end of each queue with the history of that point, the oldest queue
    /// first. If `after` is true, it also enqueues a fence that completes after everything that any context has
    /// submitted to the hardware queue.
    ///
    /// # Errors
    /// `DeviceLost`.
    pub(crate) fn finish_all(&self, after: bool) -> Result<Vec<(Point, Arc<PointHistory>)>> {
        let mut state = self.lock();
        state.check_not_lost()?;
        if after {
            let stamp = state.next_stamp();
            state.queue_mut(Slot::CONTEXT).push(Command { stamp, op: Op::Work(Work::QueueFence) });
        }
        let ends = state.all_ends();
        let unplanned = ends.iter().map(|(end, _)| *end);
        let unplanned = unplanned.filter(|end| !state.queue(end.slot).pending.is_empty()).collect::<Vec<_>>();
        self.submit_all_up_to(state, &unplanned);
        Ok(ends)
    }

    fn submit_all_up_to(&self, mut state: MutexGuard<'_, State>, ends: &[Point]) {
        for priority in Priority::ORDER {
            let roots = ends.iter().copied().filter(|end| state.queue(end.slot).priority == priority);
            let roots: Vec<Point> = roots.collect();
            state.plan(roots, priority);
        }
        self.unlock(state);
        if !self.threads {
            self.make_progress(Duration::ZERO);
        }
    }

    /// Orders the next commands of `slot` after everything enqueued so far on any queue. Does nothing under policies
    /// other than `Unchecked`, which order the commands themselves.
    pub(crate) fn wait_for_all(&self, slot: Slot, at: &'static Location<'static>) {
        let mut state = self.lock();
        if state.policy() != Policy::Unchecked || state.lost.is_some() {
            return;
        }
        let ends: Vec<Point> = state.queues.ends().into_iter().filter(|end| end.slot != slot).collect();
        for point in ends {
            state.push_wait(slot, point, WaitCause::Policy, at);
        }
    }

    /// Orders the next commands of `slot` after everything enqueued so far on `before`, even if `slot` has failed.
    pub(crate) fn order_after(&self, slot: Slot, before: Slot, at: &'static Location<'static>) {
        let mut state = self.lock();
        if state.lost.is_none() && slot != before {
            let (point, past) = state.queues.marker(before);
            state.queue_mut(slot).clock.join(&past.clock);
            state.push_wait(slot, point, WaitCause::Queue, at);
            // If `slot` has failed, the new wait fails with it.
            state.queue_mut(slot).extend_failure();
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if self.lock().lost.is_some() {
            // A lost device must not be called, not even to free it, and it may still use memory of the recorders.
            std::mem::forget((self.device.clone(), std::mem::take(&mut self.lanes)));
        }
    }
}

impl EngineLane {
    fn new(lane: Lane) -> Self {
        Self { recorder: Mutex::new(lane.recorder), fence: lane.fence, async_submit: lane.async_submit }
    }
}

impl State {
    /// Returns the ends of all existing queues, oldest queue first. The work of queues that no longer exist is done.
    /// The first end is that of the context's own queue. Its clock covers everything enqueued so far: once the program
    /// knows that this end is complete, it knows that everything is.
    fn all_ends(&mut self) -> Vec<(Point, Arc<PointHistory>)> {
        let mut here: Vec<Slot> = self.queues.slots().filter(|&slot| !self.queue(slot).free).collect();
        here.sort_unstable_by_key(|&slot| self.queue(slot).born);
        let mut ends: Vec<(Point, Arc<PointHistory>)> =
            here.into_iter().map(|slot| self.queues.marker(slot)).collect();
        Arc::make_mut(&mut ends[0].1).clock = Clock::after_all(self.last_stamp());
        ends
    }
}

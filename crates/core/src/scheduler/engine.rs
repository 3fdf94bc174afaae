//! The scheduler of one context: its lock, its condition variables, its lanes.

use crate::device::recorder::Recorder;
use crate::device::{Device, Lane};
use crate::error::Error;
use crate::error::site::KernelId;
use crate::scheduler::ordering::policy::Policy;
use crate::scheduler::priority::Priority;
use crate::scheduler::queue_state::Hold;
use crate::scheduler::queue_timing::QueueTiming;
use crate::scheduler::state::{AfterUnlock, State};
use crate::scheduler::wakers::WakeCondition;
use crate::work::kernel_launch::LaunchPool;
use fencepost_sync::backend::Fence;
use fencepost_sync::prim::{Condvar, Mutex, MutexGuard, lock, yield_now};
use fencepost_sync::{HoldId, Slot};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Native waits come in slices of this, so that a loss is seen.
pub(crate) const SLICE: Duration = Duration::from_millis(100);

/// How often a thread yields so that others can have S.
const TURNS: usize = 1000;

/// Everything that threads, queues and arrays of a context share.
pub(crate) struct Engine {
    state: Mutex<State>,
    /// Threads that wait for S.
    waiting: AtomicU32,
    /// Tells the thread of a lane that there may be something to plan or to submit.
    pub(crate) work: Vec<Condvar>,
    /// Tells the completer of a lane that the device has something that nobody watches.
    pub(crate) in_flight: Vec<Condvar>,
    /// Tells waiting callers that something has moved.
    pub(crate) done: Condvar,
    /// For the callback thread.
    pub(crate) calls: Condvar,
    pub(crate) lanes: Vec<EngineLane>,
    pub(crate) device: Arc<dyn Device>,
    pub(crate) launches: LaunchPool,
    /// Whether lanes have threads. Without, whoever flushes or waits does their work.
    pub(crate) threads: bool,
    /// Whether a microtask is on its way.
    #[cfg(target_arch = "wasm32")]
    pub(crate) scheduled: std::sync::atomic::AtomicBool,
    pub(crate) me: Weak<Engine>,
}

/// A lane, as far as the state lock does not guard it.
pub(crate) struct EngineLane {
    /// For the holder of the token only, so nobody ever waits for this lock.
    pub(crate) recorder: Mutex<Box<dyn Recorder>>,
    pub(crate) fence: Arc<dyn Fence>,
    pub(crate) async_submit: bool,
}

impl Engine {
    pub(crate) fn new(device: Arc<dyn Device>, lanes: Vec<Lane>, policy: Policy, threads: bool) -> Arc<Self> {
        let mut state = State::new(lanes.iter().map(|lane| lane.pace), policy);
        state.lanes.iter_mut().for_each(|lane| lane.has_thread = threads);
        let engine = |me: &Weak<Engine>| Self {
            state: Mutex::new(state),
            waiting: AtomicU32::new(0),
            work: lanes.iter().map(|_| Condvar::new()).collect(),
            in_flight: lanes.iter().map(|_| Condvar::new()).collect(),
            done: Condvar::new(),
            calls: Condvar::new(),
            lanes: lanes.into_iter().map(EngineLane::new).collect(),
            device,
            launches: LaunchPool::default(),
            threads,
            #[cfg(target_arch = "wasm32")]
            scheduled: Default::default(),
            me: me.clone(),
        };
        let engine = Arc::new_cyclic(engine);
        #[cfg(target_arch = "wasm32")]
        engine.listen();
        engine
    }

    /// Takes S.
    #[cfg(not(fencepost_loom))]
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        if let Ok(state) = self.state.try_lock() {
            return state;
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let state = lock(&self.state);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        state
    }

    /// Takes S.
    #[cfg(fencepost_loom)]
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Lets threads that wait for S have it before this one takes it again. The system's lock goes to the thread that comes
    /// first, and that is the one that has just released it: a thread that plans piece by piece would keep all others out.
    pub(crate) fn let_others(&self) {
        for _ in 0..TURNS {
            if self.waiting.load(Ordering::Relaxed) == 0 {
                return;
            }
            yield_now();
        }
    }

    /// Releases S, does what had to wait for that, and wakes whoever has something to do now.
    pub(crate) fn unlock(&self, mut state: MutexGuard<'_, State>) {
        let AfterUnlock { dropped, wakers, times, moved: _ } = std::mem::take(&mut state.after);
        let wakeups = state.wakeups();
        drop(state);
        drop(times);
        crate::scheduler::deferred_calls::drop_all(dropped);
        self.notify(&wakeups);
        crate::scheduler::deferred_calls::wake_all(wakers);
    }

    /// As [`unlock`](Self::unlock), for a caller who looks for the end of what was submitted on a lane: its completer is not
    /// woken for that.
    pub(crate) fn unlock_watched(&self, mut state: MutexGuard<'_, State>, lane: usize) {
        state.lanes[lane].watchers += 1;
        let wakeups = state.wakeups();
        state.lanes[lane].watchers -= 1;
        let AfterUnlock { times, .. } = std::mem::take(&mut state.after);
        drop(state);
        drop(times);
        self.notify(&wakeups);
    }

    pub(crate) fn new_hold(&self) -> HoldId {
        self.lock().new_hold()
    }

    /// The number of a new kernel, and its name, for as long as it lives.
    pub(crate) fn new_kernel(&self, name: &str) -> (KernelId, Arc<str>) {
        self.lock().kernels.note(name)
    }

    /// Makes a queue, ordered after everything enqueued so far, on the lane with the fewest queues; timed if that is
    /// wanted and the device can.
    #[track_caller]
    pub(crate) fn new_queue(&self, label: &str, priority: Priority, timing: bool) -> Result<Slot, Error> {
        let mut state = self.lock();
        state.lost()?;
        let lane = state.idlest_lane();
        let slot = state.new_queue(label.into(), priority, lane, std::panic::Location::caller());
        let clocked = self.device.caps().timestamps;
        let (timed, noted) = (timing && clocked, state.is_noting());
        let notes = || noted.then(|| QueueTiming::for_notes(clocked));
        state.queue_mut(slot).timing = timed.then(QueueTiming::for_events).or_else(notes);
        Ok(slot)
    }

    /// Makes a queue of the context's own for one command, until it is [let go](Self::release_helper).
    pub(crate) fn helper(&self, label: &str, priority: Priority) -> Result<Slot, Error> {
        let mut state = self.lock();
        state.lost()?;
        let lane = state.idlest_lane();
        Ok(state.new_helper(label.into(), priority, lane))
    }

    /// Ends a helper once its work is done.
    pub(crate) fn release_helper(&self, slot: Slot) {
        let mut state = self.lock();
        state.queue_mut(slot).open = false;
        state.free_slots();
        self.unlock(state);
    }

    /// Drops the handle of a queue: its work is flushed, and none of it lost.
    pub(crate) fn close_queue(&self, slot: Slot) {
        let mut state = self.lock();
        let queue = state.queue_mut(slot);
        queue.open = false;
        queue.forget_waits();
        state.free_slots();
        if state.lost.is_some() || state.queue(slot).spent() {
            return self.unlock(state);
        }
        if self.threads {
            return self.start(state, slot);
        }
        let (end, priority) = (state.queue(slot).end(slot), state.queue(slot).priority);
        state.plan([end], priority);
        self.unlock(state);
    }

    /// Lets go of a hold, and of all queues that it held.
    pub(crate) fn release(&self, hold: HoldId) {
        let mut state = self.lock();
        state.release(|held| held == Hold::User(hold));
        let wakers = state.wakers.take(WakeCondition::User(hold));
        state.after.wakers.extend(wakers);
        if !self.threads {
            state.wake_all_waiters(); // there is something to do for who found nothing
        }
        self.unlock(state);
        #[cfg(target_arch = "wasm32")]
        self.schedule();
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if self.lock().lost.is_some() {
            // No call is made to a lost device, not even the one that gives it back; it may still be at memory of the
            // recorders' own.
            std::mem::forget((self.device.clone(), std::mem::take(&mut self.lanes)));
        }
    }
}

impl EngineLane {
    fn new(lane: Lane) -> Self {
        Self { recorder: Mutex::new(lane.recorder), fence: lane.fence, async_submit: lane.async_submit }
    }
}

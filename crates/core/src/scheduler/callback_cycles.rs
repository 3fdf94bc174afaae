//! Detects waits in callbacks that form a cycle and could never end.
//!
//! A wait of a thread that runs a callback is recorded with the point that the thread waits for. The point may come
//! after another callback, and the thread that runs that callback may wait as well. If this chain leads back to the
//! first thread, no wait in the chain can end, so one of the waits fails.

use crate::error::{Error, Kind, Result};
use crate::scheduler::callback_state::BlockingCallback;
use crate::scheduler::engine::Engine;
use crate::scheduler::thread_state::{ThreadId, this_thread};
use fencepost_sync::Point;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;

/// A wait of a thread that runs callbacks.
struct BlockedWait {
    number: u64,
    thread: ThreadId,
    engine: Weak<Engine>,
    point: Point,
    /// `None` if the thread blocks.
    poll: Option<Polled>,
}

/// A poll of a task. One poll does not prove that the thread has nothing else to do.
struct Polled {
    waker: Waker,
    sure: PollEvidence,
}

/// Evidence that a thread does nothing but poll a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PollEvidence {
    No,
    /// The task was woken to find out whether the thread polls it again.
    Requested,
    /// The thread polled the task again after it was woken.
    Yes,
}

/// Recorded waits of the whole process.
struct BlockedWaits {
    numbers: u64,
    waits: Vec<BlockedWait>,
}

/// Lock of the recorded waits. It is a lock of `std` even in loom models, since a static needs a constant initializer.
/// No other lock is taken while it is held.
static WAITS: Mutex<BlockedWaits> = Mutex::new(BlockedWaits { numbers: 0, waits: Vec::new() });

/// Number of recorded waits that are polls.
static POLLS: AtomicU32 = AtomicU32::new(0);

fn waits() -> MutexGuard<'static, BlockedWaits> {
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BlockedWaits {
    fn push(&mut self, engine: &Engine, point: Point, poll: Option<Polled>) -> u64 {
        self.numbers += 1;
        let (number, thread, engine) = (self.numbers, this_thread(), engine.me.clone());
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

/// Record that this thread blocks for a point without a time limit. Dropping it removes the record.
pub(crate) struct Blocked(u64);

impl Blocked {
    pub(crate) fn note(engine: &Engine, point: Point) -> Self {
        Self(waits().push(engine, point, None))
    }

    /// Records the wait again if it was removed. A callback that ran on this thread meanwhile may have been
    /// [refused](refuse) a wait, which removes all waits of the thread.
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
    let (mut waits, thread) = (waits(), this_thread());
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

/// Removes the recorded polls of a thread.
pub(crate) fn forget_polls(thread: ThreadId) {
    let gone: Vec<BlockedWait> = waits().take(|wait| wait.thread == thread && wait.poll.is_some());
    drop(gone); // outside the lock: dropping a waker may run user code
}

/// Removes the recorded polls of `waker`. Its future was dropped.
pub(crate) fn forget_polls_of(waker: &Waker) {
    let of = |wait: &mut BlockedWait| wait.poll.as_ref().is_some_and(|poll| poll.waker.will_wake(waker));
    // Most futures are polled outside callbacks, so this counter saves the lock.
    if POLLS.load(Ordering::Relaxed) > 0 {
        let gone: Vec<BlockedWait> = waits().take(of);
        drop(gone);
    }
}

/// A callback, with a recorded wait of the thread that runs it. The last link of a cycle has no wait: its thread is the
/// calling thread.
#[derive(PartialEq, Eq)]
struct WaitLink {
    before: BlockingCallback,
    wait: Option<u64>,
}

impl Engine {
    /// Fails if a wait of this thread for `point` could never end. The thread runs a callback.
    ///
    /// # Errors
    /// `WouldDeadlock`.
    pub(crate) fn check_cycles(&self, point: Point) -> Result<()> {
        let Some(cycle) = self.cycle(point) else { return Ok(()) };
        // The links are not read under one lock. A second search that finds the same links proves that all of them
        // existed at one moment.
        if self.cycle(point).as_ref() != Some(&cycle) || !refuse(&cycle) {
            return Ok(());
        }
        let queue = self.lock().queue(point.slot).label.to_string();
        let callbacks = cycle.iter().map(|link| link.before.queue.to_string()).collect();
        Err(Kind::WouldDeadlock { queue, callbacks }.into())
    }

    /// Records a poll of this thread for `point` and returns an error if the wait of the task could never end.
    pub(crate) fn check_poll(&self, point: Point, waker: &Waker) -> Option<Error> {
        if waker.will_wake(Waker::noop()) {
            return None; // a waker that does nothing means a single check, not a wait
        }
        note_poll(self, point, waker);
        self.check_cycles(point).err()
    }

    /// Returns the callbacks of the cycle that a wait of this thread for `point` would close.
    fn cycle(&self, point: Point) -> Option<Vec<WaitLink>> {
        let (mut links, mut seen) = (Vec::new(), Vec::new());
        follow(self.callback_before(point)?, &mut seen, &mut links).then_some(links)
    }

    /// Returns the callback that must run before `point` is reached, in this context or in one that it waits for.
    fn callback_before(&self, point: Point) -> Option<BlockingCallback> {
        let (mut other, mut at): (Option<Arc<Self>>, Point) = (None, point);
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

/// Follows the waits of the thread that runs `before`. Returns `true` if they lead to the calling thread.
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

/// Returns `true` if the wait of this thread is refused, which ends the cycle. A task of another thread in the cycle
/// may have been polled once only. Such a task is woken first, and this call refuses nothing. If the thread polls the
/// task again, that poll searches for the cycle too.
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
    let (sure, mut requested) = (unsure.is_empty(), Vec::new());
    for poll in unsure {
        if std::mem::replace(&mut poll.sure, PollEvidence::Requested) == PollEvidence::No {
            requested.push(poll.waker.clone());
        }
    }
    // If the wait of another thread of the cycle has failed meanwhile, the cycle is broken and this thread waits.
    let all = others.iter().all(|number| noted.waits.iter().any(|wait| wait.number == *number));
    let refused = sure && all;
    let gone: Vec<BlockedWait> = match refused {
        true => noted.take(|wait| wait.thread == thread),
        false => Vec::new(),
    };
    drop(noted);
    drop(gone);
    crate::scheduler::deferred_calls::wake_all(requested);
    refused
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::callbacks::Inside;
    use crate::scheduler::test_engine::{TestTask, engine, queue};
    use fencepost_sync::HoldId;
    use std::sync::mpsc::channel;
    use std::thread;

    fn link(wait: u64) -> WaitLink {
        let (queue, thread) = ("q".into(), Some(this_thread()));
        WaitLink { before: BlockingCallback { callback: HoldId(1), queue, thread }, wait: Some(wait) }
    }

    #[test]
    fn q11_one_of_two_threads_that_find_the_same_cycle_is_refused() {
        let (engine, (report_done, told), (go, gone)) = (engine(false), channel(), channel());
        let own = Blocked::note(&engine, Point::START);
        let (number, other) = (own.0, engine.clone());
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
        let inside = Inside::enter();
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
        let (point, _inside) = (engine.marker(queue(&engine)).0, Inside::enter());
        let wakers = [(); 2].map(|()| TestTask::new().1);
        wakers.iter().for_each(|waker| assert!(engine.check_poll(point, waker).is_none()));
        engine.forget(&wakers[0]);
        assert_eq!(waits_of(this_thread()).len(), 1);
        engine.forget(&wakers[1]);
        assert!(waits_of(this_thread()).is_empty());
    }
}

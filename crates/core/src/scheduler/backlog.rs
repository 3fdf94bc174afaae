//! The limit of the work that a context has taken and not yet given to the device. S is the state lock.

use crate::device::backlog_limit::BacklogLimit;
use crate::error::{Error, Kind, Result};
use crate::scheduler::engine::{Engine, SLICE};
use crate::scheduler::queue_state::{Backlog, Hold};
use crate::scheduler::state::State;
use crate::scheduler::state_dump::describe_hold;
use crate::scheduler::thread_posts::replace_lane_thread;
use crate::scheduler::thread_state::{SignallingMark, is_inside_callback};
use crate::scheduler::user_signal::SignalledBy;
use fencepost_sync::prim::{MutexGuard, assert_unlocked};
use fencepost_sync::{HoldId, Slot};
use std::task::Waker;
use std::time::Duration;
use web_time::Instant;

/// While the context's backlog is full, a queue goes on if its own backlog is below `1 / SHARES` of the limit.
const SHARES: usize = 16;

/// Longest time that a call waits for one callback or for another context. The program may be waiting for the call to
/// return.
const LONGEST_HOLD: Duration = Duration::from_secs(10);

impl Backlog {
    /// Returns `true` if this is at least `1 / parts` of a limit.
    #[inline]
    fn fills(self, limit: BacklogLimit, parts: usize) -> bool {
        self.commands >= limit.commands.div_ceil(parts).max(1)
            || self.bytes >= limit.bytes.div_ceil(parts as u64).max(1)
    }
}

impl State {
    /// Returns `true` if a queue takes no further command now. A queue with little work of its own always takes one, so
    /// that a queue with much work cannot stop the others.
    #[inline]
    fn is_full(&self, slot: Slot) -> bool {
        let Some(limit) = self.backlog_limit else { return false };
        let own = self.queue(slot).backlog();
        if slot == Slot::CONTEXT {
            return own.fills(limit, 1);
        }
        own.fills(limit, SHARES) && self.queues.backlog().fills(limit, 1)
    }

    /// Returns `true` if other calls wait for room in this queue. A new call must then wait for its turn.
    #[inline]
    fn has_callers_for_room(&self, slot: Slot) -> bool {
        !self.callers_for_room.is_empty() && self.callers_for_room.iter().any(|(of, _)| *of == slot)
    }

    /// Marks all commands of a queue as requested, so that the threads plan them.
    fn request_all(&mut self, slot: Slot) {
        let end = self.queue(slot).enqueued();
        self.queue_mut(slot).request(end);
    }

    #[cold]
    fn backlog_error(&self, slot: Slot, why: &str) -> Error {
        let Backlog { commands, bytes } =
            if slot == Slot::CONTEXT { self.queue(slot).backlog() } else { self.queues.backlog() };
        let BacklogLimit { commands: most_commands, bytes: most_bytes } =
            self.backlog_limit.unwrap_or_default();
        let queue = self.queue(slot).label.to_string();
        Kind::Backlog { queue, commands, bytes, most_commands, most_bytes, why: why.into() }.into()
    }
}

/// A call that waits for room. It is listed in `State::callers_for_room` until it is dropped.
struct CallerForRoom<'a> {
    engine: &'a Engine,
    id: HoldId,
}

impl Drop for CallerForRoom<'_> {
    fn drop(&mut self) {
        let mut state = self.engine.lock();
        state.callers_for_room.retain(|(_, id)| *id != self.id);
        let next = !state.callers_for_room.is_empty();
        drop(state);
        if next {
            self.engine.done.notify_all();
        }
    }
}

impl Engine {
    /// Takes S once a queue takes another command.
    ///
    /// # Errors
    /// Returns `Backlog`, or the error of the queue.
    #[inline]
    pub(crate) fn lock_with_room(&self, slot: Slot) -> Result<MutexGuard<'_, State>> {
        let state = self.lock();
        if state.is_full(slot) || state.has_callers_for_room(slot) {
            self.wait_for_room(state, slot)
        } else {
            Ok(state)
        }
    }

    /// Waits until a queue takes another command. The callers of a queue get room in the order of their calls.
    ///
    /// The wait ends with an error once the queue waits for the program, which may be this very thread.
    #[cold]
    fn wait_for_room<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        slot: Slot,
    ) -> Result<MutexGuard<'a, State>> {
        state.check(slot)?;
        if cfg!(target_arch = "wasm32") || self.is_in_function() || is_inside_callback() {
            let what = if is_inside_callback() { "a host callback" } else { "this call" };
            return Err(
                state.backlog_error(slot, &format!("{what} must not block until the device has taken it"))
            );
        }
        let caller = CallerForRoom { engine: self, id: state.new_hold() };
        state.callers_for_room.push_back((slot, caller.id));
        drop(state);
        assert_unlocked("a wait for room");
        let _mark = SignallingMark::set(false);
        replace_lane_thread();
        let mut held: Option<(Hold, Instant)> = None;
        loop {
            state = self.lock();
            if let Err(error) = state.check(slot) {
                drop(state);
                return Err(error);
            }
            let first = state.callers_for_room.iter().find(|(of, _)| *of == slot).map(|(_, id)| *id);
            if first == Some(caller.id) && !state.is_full(slot) {
                drop(state);
                drop(caller);
                return Ok(self.lock());
            }
            state.request_all(slot);
            self.unlock(state);
            let end = self.lock().queue(slot).end(slot);
            let relay = self.held_by(end);
            if let Some(relay) = &relay {
                relay.poll(Waker::noop());
            }
            state = self.lock();
            let hold = state.queue(slot).hold;
            if held.map(|(hold, _)| hold) != hold {
                held = hold.map(|hold| (hold, Instant::now()));
            }
            let waits_for_the_program = held.is_some_and(|(hold, since)| match hold {
                Hold::Host(_) => true,
                Hold::User(hold) => {
                    let by = state.held_event(hold).map(|event| event.signalled_by());
                    by == Some(SignalledBy::Program)
                        || by != Some(SignalledBy::OwnThread) && since.elapsed() > LONGEST_HOLD
                }
                Hold::Callback(_) => since.elapsed() > LONGEST_HOLD,
                Hold::Drain(_) | Hold::Loop(_) => false,
            });
            if waits_for_the_program && let Some(hold) = hold {
                let error = state.backlog_error(slot, &format!("the queue waits: {}", describe_hold(hold)));
                drop(state);
                return Err(error);
            }
            let goes_on = first == Some(caller.id) && !state.is_full(slot);
            if self.threads && !goes_on {
                self.park(state, SLICE);
                continue;
            }
            drop(state);
            if !self.threads {
                self.make_progress(SLICE);
            }
        }
    }
}

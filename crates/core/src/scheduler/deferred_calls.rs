//! In which order a thread does what comes of a step: relays, then destructors of the program, then its tasks, then its callbacks.

use crate::scheduler::engine::Engine;
use crate::scheduler::relay::Relay;
use crate::scheduler::user_code::{drop_all, wake_each};
use fencepost_sync::TasksLater;
use fencepost_sync::prim::thread_local;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

thread_local! {
    /// Relays that were woken on this thread while it is at one.
    static WOKEN: RefCell<Option<VecDeque<Arc<Relay>>>> = RefCell::default();
    /// Contexts whose callbacks this thread has left for later.
    static LEFT: RefCell<Vec<Weak<Engine>>> = RefCell::default();
    /// What this thread drops later.
    static DROPS: RefCell<Vec<Box<dyn FnOnce()>>> = RefCell::default();
}

/// Runs `first`, then the relays that it has woken on this thread, and what they have: one after the other, not one inside the
/// other, as a chain may be long. Code of the program comes last, destructors, tasks and then callbacks: it may wait for any of
/// the relays.
pub(crate) fn in_turn<R>(first: impl FnOnce() -> R) -> R {
    let outermost = woken(|list| {
        let outermost = list.is_none();
        list.get_or_insert_default();
        outermost
    });
    let later = TasksLater::enter();
    let result = first();
    while let Some(relay) = outermost.then(next).flatten() {
        relay.look_or_start();
    }
    let tasks = later.end();
    if outermost {
        DROPS.with(RefCell::take).into_iter().for_each(|run| run());
    }
    wake_each(tasks);
    if outermost {
        let left = LEFT.with(RefCell::take);
        left.iter().filter_map(Weak::upgrade).for_each(|engine| engine.turn(Duration::ZERO));
    }
    result
}

/// Leaves the callbacks of a context for when this thread has looked at all relays; whether it is at them.
pub(crate) fn leave_calls(engine: &Weak<Engine>) -> bool {
    let is_at_relays = woken(|list| list.is_some());
    if is_at_relays {
        LEFT.with(|left| left.borrow_mut().push(engine.clone()));
    }
    is_at_relays
}

/// Leaves `things` to be dropped when this thread has looked at all relays; gives them back if it is at none.
pub(crate) fn leave_drops<T: 'static>(things: Vec<T>) -> Option<Vec<T>> {
    if !woken(|list| list.is_some()) {
        return Some(things);
    }
    DROPS.with(|drops| drops.borrow_mut().push(Box::new(|| drop_all(things))));
    None
}

/// Leaves a relay for when this thread has looked at those before; whether it is at one.
pub(crate) fn leave_relay(relay: &Arc<Relay>) -> bool {
    woken(|list| list.as_mut().map(|list| list.push_back(relay.clone())).is_some())
}

/// The relay that was woken first; if there is none, nobody is at one any more.
fn next() -> Option<Arc<Relay>> {
    woken(|list| {
        let first = list.as_mut().and_then(VecDeque::pop_front);
        if first.is_none() {
            *list = None;
        }
        first
    })
}

fn woken<R>(look: impl FnOnce(&mut Option<VecDeque<Arc<Relay>>>) -> R) -> R {
    WOKEN.with(|woken| look(&mut woken.borrow_mut()))
}

#[cfg(all(test, not(fencepost_loom)))]
mod tests {
    use super::*;
    use crate::record::cpu::cpu_recorder as cpu;
    use crate::record::cpu::cpu_recorder::CpuOptions;
    use crate::scheduler::ordering::policy::Policy;
    use crate::scheduler::queue_state::Priority;
    use crate::scheduler::relay::Origin;
    use crate::scheduler::user_signal::{Signaller, UserState};
    use fencepost_sync::Bell;
    use std::panic::Location;
    use std::sync::Mutex;
    use std::task::{Wake, Waker};

    fn engine() -> Arc<Engine> {
        let (device, lanes) = cpu::open(&CpuOptions { threads: false, ..CpuOptions::default() });
        Engine::new(device, lanes, Policy::Unchecked, false)
    }

    type Notes = Arc<Mutex<Vec<&'static str>>>;

    /// Notes, when it is woken, whether the relay has signalled.
    struct Task(Notes, Arc<UserState>);

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

    /// Notes, when it is dropped, whether the relay has signalled.
    struct Dropped(Task);

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.note("drop");
        }
    }

    #[test]
    fn a_thread_looks_at_relays_and_then_drops_and_then_wakes_tasks_and_then_runs_callbacks() {
        let (near, far, notes) = (engine(), engine(), Notes::default());
        let (from, to) = (Signaller::new(&near, "from"), Signaller::new(&far, "to"));
        let signalled = to.state().clone();
        Relay::attach(&far, to, Origin::User(from.state().clone()), None);
        let slot = far.new_queue("q", Priority::Normal, false).expect("the device is there");
        let noting = notes.clone();
        let callback = Box::new(move || noting.lock().expect("no panic").push("callback"));
        far.enqueue_callback(slot, callback, Location::caller()).expect("nothing has failed");
        let mut bell = Bell::default();
        let dropped = Dropped(Task(notes.clone(), signalled.clone()));
        let task = bell.set(&Waker::from(Arc::new(Task(notes.clone(), signalled)))).clone();
        in_turn(|| {
            far.turn(Duration::ZERO); // the callback is due
            task.wake();
            drop_all(vec![dropped]);
            in_turn(|| from.signal());
            assert!(notes.lock().expect("no panic").is_empty());
        });
        assert_eq!(*notes.lock().expect("no panic"), ["drop", "task", "callback"]);
    }
}

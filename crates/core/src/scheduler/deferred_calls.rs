//! The order in which a thread runs deferred calls: relays, then destructors of the program, then its tasks, then its
//! callbacks.

use crate::scheduler::user_code::{catch_panic, wake_each};
use fencepost_sync::prim::thread_local;
use fencepost_sync::{InTask, TasksLater};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

/// An action that a thread defers while it polls relays, and runs afterwards.
pub(crate) trait Deferred {
    fn run(self: Arc<Self>);
}

thread_local! {
    /// Relays that were woken while this thread polls relays. `None` while the thread polls none.
    static RELAYS: RefCell<Option<VecDeque<Arc<dyn Deferred>>>> = RefCell::default();
    /// Deferred calls that run the callbacks of contexts.
    static CALLBACKS: RefCell<Vec<Box<dyn FnOnce()>>> = RefCell::default();
    /// Deferred drops.
    static DROPS: RefCell<Vec<Box<dyn FnOnce()>>> = RefCell::default();
}

/// Runs `first`, then the relays that were woken on this thread meanwhile. The relays run in a loop and not
/// recursively, because a chain of relays may be long. User code runs last, because it may wait for any of the relays:
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
        relay.run();
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

/// Calls `wakers`: first those of relays, then those of tasks, whose code may wait.
pub(crate) fn wake_all(wakers: Vec<Waker>) {
    if !wakers.is_empty() {
        run_with_deferred(|| wake_each(wakers));
    }
}

/// Drops `things` one after the other. Each may hold values of the program whose destructors wait. A thread that polls
/// relays defers the drops.
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

/// Defers `run`, which runs the callbacks of a context, until this thread has polled all relays. Returns `false`
/// without deferring it if the thread polls none.
pub(crate) fn defer_calls(run: impl FnOnce() + 'static) -> bool {
    let deferred = is_polling_relays() && CALLBACKS.try_with(|_| ()).is_ok();
    if deferred {
        CALLBACKS.with(|left| left.borrow_mut().push(Box::new(run)));
    }
    deferred
}

/// Defers a relay until this thread has polled the relays before it. Returns `false` if the thread polls none.
pub(crate) fn defer_relay(relay: &Arc<impl Deferred + 'static>) -> bool {
    with_relays(|list| list.as_mut().map(|list| list.push_back(relay.clone())).is_some())
}

fn is_polling_relays() -> bool {
    with_relays(|list| list.is_some())
}

/// Removes and returns the relay that was woken first. If there is none, the thread no longer counts as polling relays.
fn next_relay() -> Option<Arc<dyn Deferred>> {
    with_relays(|list| {
        let first = list.as_mut().and_then(VecDeque::pop_front);
        if first.is_none() {
            *list = None;
        }
        first
    })
}

/// Calls `look` with the list of relays. In a destructor at the end of a thread, the list may be gone already; the
/// thread then polls no relays.
fn with_relays<R>(look: impl FnOnce(&mut Option<VecDeque<Arc<dyn Deferred>>>) -> R) -> R {
    let mut look = Some(look);
    let looked = RELAYS.try_with(|woken| look.take().map(|look| look(&mut woken.borrow_mut())));
    match (looked, look) {
        (Ok(Some(looked)), _) => looked,
        (_, Some(look)) => look(&mut None),
        _ => unreachable!("bug: the list is read without a call"),
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod tests {
    use super::*;
    use crate::scheduler::relay::{Relay, RelaySource};
    use crate::scheduler::signaller::Signaller;
    use crate::scheduler::test_engine::{engine, enqueue_callback, queue};
    use crate::scheduler::user_signal::SignalledBy;
    use crate::scheduler::user_signal::UserSignal;
    use fencepost_sync::TaskWaker;
    use std::sync::Mutex;
    use std::task::{Wake, Waker};
    use std::time::Duration;

    type Notes = Arc<Mutex<Vec<&'static str>>>;

    /// A task that notes, when it is woken, whether the relay has signalled.
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

    /// A value that notes, when it is dropped, whether the relay has signalled.
    struct Dropped(Task);

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.note("drop");
        }
    }

    #[test]
    fn relays_run_before_drops_and_drops_before_tasks_and_tasks_before_callbacks() {
        let (near, far, notes) = (engine(false), engine(false), Notes::default());
        let (from, to) = (
            Signaller::new(&near, "from", SignalledBy::Program),
            Signaller::new(&far, "to", SignalledBy::Program),
        );
        let signalled = to.state().clone();
        Relay::attach(&far, to, RelaySource::User(Arc::downgrade(&near), from.state().clone()), None);
        let noting = notes.clone();
        enqueue_callback(&far, queue(&far), move || noting.lock().expect("no panic").push("callback"));
        let mut task_waker = TaskWaker::default();
        let dropped = Dropped(Task(notes.clone(), signalled.clone()));
        let task = task_waker.set(&Waker::from(Arc::new(Task(notes.clone(), signalled)))).clone();
        run_with_deferred(|| {
            far.make_progress(Duration::ZERO); // the callback is due
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

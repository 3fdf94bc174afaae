//! A program's own code inside calls of ours: its panics end nothing but itself, and it may wait.

use crate::scheduler::callbacks::Signals;
use crate::scheduler::deferred_calls::in_turn;
use crate::scheduler::deferred_calls::leave_drops;
use fencepost_sync::InTask;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Calls `wakers`: first those of the library, then those of tasks, which may wait.
pub(crate) fn wake_all(wakers: Vec<Waker>) {
    if !wakers.is_empty() {
        in_turn(|| wake_each(wakers));
    }
}

/// Calls `wakers`, one after the other.
pub(crate) fn wake_each(wakers: Vec<Waker>) {
    for waker in wakers {
        shielded("a waker", || waker.wake());
    }
}

/// Drops `things`, one after the other: what they hold of the program's may wait in its destructor. A thread that is at relays
/// does so later.
pub(crate) fn drop_all<T: 'static>(things: Vec<T>) {
    if things.is_empty() {
        return;
    }
    if let Some(things) = leave_drops(things) {
        for thing in things {
            let _in = InTask::enter();
            shielded("a destructor", || drop(thing));
        }
    }
}

/// Runs code of the program, to which it makes no difference that the thread signals an event.
fn shielded(what: &str, run: impl FnOnce()) {
    let _signals = Signals::set(false);
    if catch_unwind(AssertUnwindSafe(run)).is_err() {
        log::error!("{what} of the program panicked");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    struct Bomb(Rc<Cell<u32>>);

    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            assert!(self.0.get() != 1, "on purpose");
        }
    }

    #[test]
    fn one_panic_keeps_nothing_else_from_being_dropped() {
        let dropped = Rc::<Cell<u32>>::default();
        drop_all(vec![Bomb(dropped.clone()), Bomb(dropped.clone()), Bomb(dropped.clone())]);
        assert_eq!(dropped.get(), 3);
    }
}

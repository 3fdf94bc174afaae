//! A program's own code on threads of ours: its panics end nothing but itself.

use crate::across::in_turn;
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

/// Drops `things`, one after the other.
pub(super) fn drop_all<T>(things: Vec<T>) {
    for thing in things {
        shielded("a destructor", || drop(thing));
    }
}

fn shielded(what: &str, run: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(run)).is_err() {
        log::error!("{what} of the program panicked");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    struct Bomb<'c>(&'c Cell<u32>);

    impl Drop for Bomb<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            assert!(self.0.get() != 1, "on purpose");
        }
    }

    #[test]
    fn one_panic_keeps_nothing_else_from_being_dropped() {
        let dropped = Cell::new(0);
        drop_all(vec![Bomb(&dropped), Bomb(&dropped), Bomb(&dropped)]);
        assert_eq!(dropped.get(), 3);
    }
}

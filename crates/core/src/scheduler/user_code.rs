//! A program's own code inside calls of ours: its panics end nothing but itself, and it may wait.

use crate::scheduler::thread_state::Signals;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Calls `wakers`, one after the other.
pub(crate) fn wake_each(wakers: Vec<Waker>) {
    for waker in wakers {
        catch_panic("a waker", || waker.wake());
    }
}

/// Runs code of the program, to which it makes no difference that the thread signals an event.
pub(crate) fn catch_panic(what: &str, run: impl FnOnce()) {
    let _signals = Signals::set(false);
    if catch_unwind(AssertUnwindSafe(run)).is_err() {
        log::error!("{what} of the program panicked");
    }
}

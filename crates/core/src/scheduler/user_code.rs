//! Runs user code inside library calls. A panic in that code ends nothing else, and the code may wait.

use crate::scheduler::thread_state::SignallingMark;
use fencepost_kernels::report;
use fencepost_kernels::report::drop_payload;
use fencepost_sync::prim::assert_unlocked;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Calls `wakers` in order.
pub(crate) fn wake_each(wakers: Vec<Waker>) {
    for waker in wakers {
        catch_panic("a waker", || waker.wake());
    }
}

/// Runs user code and logs its panic. Meanwhile the thread does not count as signalling an event, so a wait in the user
/// code may run callbacks.
pub(crate) fn catch_panic(what: &str, run: impl FnOnce()) {
    assert_unlocked(what);
    let _signals = SignallingMark::set(false);
    if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
        drop_payload(payload);
        report!(Error, "{what} of the program panicked");
    }
}

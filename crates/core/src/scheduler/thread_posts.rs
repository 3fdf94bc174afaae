//! Replaces a lane thread that runs user code.
//!
//! A waker, or the drop of a command, may wait for work that this very thread would submit or complete. So another
//! thread first takes over the *post*, which is the work of a lane, and this thread ends when the user code returns.

use fencepost_sync::prim::thread_local;
use std::cell::{Cell, RefCell};

/// Function that starts another thread in place of a lane thread.
type ReplaceThread = Box<dyn FnOnce() + Send>;

thread_local! {
    /// `Some` if this is a lane thread that no other thread has replaced.
    static POST: RefCell<Option<ReplaceThread>> = RefCell::default();
    /// `true` if another thread has replaced this one.
    static REPLACED: Cell<bool> = Cell::default();
}

/// Registers this thread as a lane thread. `replace` starts another thread for the same lane.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn set_post(replace: impl FnOnce() + Send + 'static) {
    debug_assert!(!is_replaced(), "bug: a replaced thread takes a post");
    POST.with(|own| own.replace(Some(Box::new(replace))));
}

/// Returns `true` if this is a lane thread. A lane thread runs no callback, not even one of a context without threads,
/// because the callback may wait for this thread.
pub(crate) fn is_thread_of_a_lane() -> bool {
    // In a destructor at the end of a thread, the thread-local may be gone already. That thread no longer runs a lane.
    POST.try_with(|own| own.borrow().is_some()).unwrap_or(false)
}

/// Returns `true` if another thread has replaced this one.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn is_replaced() -> bool {
    REPLACED.with(Cell::get)
}

/// Replaces this thread with another one if it is a lane thread, because it is about to wait.
pub(crate) fn replace_lane_thread() {
    if let Some(replace) = POST.try_with(RefCell::take).ok().flatten() {
        REPLACED.with(|replaced| replaced.set(true));
        replace();
    }
}

/// Replaces this thread if it is a lane thread inside a waker or destructor of the program, because that code may
/// wait for a result.
pub(crate) fn replace_lane_thread_in_task() {
    if fencepost_sync::in_task() {
        replace_lane_thread();
    }
}

//! The threads of a lane while they run code of the program.
//!
//! A waker may wait, and so may what is dropped with a command: for something that this very thread would submit, or notice the
//! end of. So another thread takes its place first, and this one ends when that code returns.

use fencepost_sync::prim::thread_local;
use std::cell::{Cell, RefCell};

/// The place of a thread at a lane: the call that starts another thread in it.
pub(crate) struct LanePost(Box<dyn FnOnce() + Send>);

impl LanePost {
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn new(replace: impl FnOnce() + Send + 'static) -> Self {
        Self(Box::new(replace))
    }
}

thread_local! {
    /// The place of this thread at a lane.
    static POST: RefCell<Option<LanePost>> = RefCell::default();
    /// Whether another thread has taken it.
    static REPLACED: Cell<bool> = Cell::default();
}

/// Gives this thread its place at a lane.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn set_post(post: LanePost) {
    POST.with(|own| own.replace(Some(post)));
}

/// Whether this is a thread of a lane, which runs no callbacks: not even those of a context without threads, that wait for it.
pub(crate) fn is_thread_of_a_lane() -> bool {
    POST.with(|own| own.borrow().is_some())
}

/// Whether another thread has taken the place of this one.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn is_replaced() -> bool {
    REPLACED.with(Cell::get)
}

/// Has another thread take the place of this one, if it is a thread of a lane: it is about to wait.
pub(crate) fn replace_lane_thread() {
    if let Some(post) = POST.with(RefCell::take) {
        REPLACED.with(|replaced| replaced.set(true));
        post.0();
    }
}

/// As [`replace_lane_thread`], in a waker of the program's: it asks for something, and may wait for the answer.
pub(crate) fn replace_lane_thread_in_task() {
    if fencepost_sync::in_task() {
        replace_lane_thread();
    }
}

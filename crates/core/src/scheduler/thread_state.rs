//! State of the current thread: the callbacks and signals that it runs for the program.

use fencepost_sync::prim::thread_local;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of a thread. The standard library's identifiers do not distinguish the threads of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadId(u64);

static THREADS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static THIS_THREAD: ThreadId = ThreadId(THREADS.fetch_add(1, Ordering::Relaxed));
    /// Number of nested callbacks that run on this thread. The callback thread of a context counts as one.
    static DEPTH: Cell<u32> = Cell::default();
    /// `true` while this thread signals an event for the program.
    static SIGNALS: Cell<bool> = Cell::default();
}

/// Calls `run`, which signals an event, while the signalling mark of this thread is set. Contexts that make progress
/// because of the signal do not run callbacks on this thread, because a callback may wait for something that the thread
/// does next.
pub(crate) fn signal(run: impl FnOnce()) {
    let _signals = SignallingMark::set(true);
    run();
}

/// Guard that sets or clears the signalling mark of this thread until it is dropped. User code that is called by the
/// signal may wait. The wait clears the mark and so runs callbacks: the thread does nothing else before the wait ends.
pub(crate) struct SignallingMark(bool);

impl SignallingMark {
    pub(crate) fn set(now: bool) -> Self {
        Self(SIGNALS.with(|signals| signals.replace(now)))
    }
}

impl Drop for SignallingMark {
    fn drop(&mut self) {
        SIGNALS.with(|signals| signals.set(self.0));
    }
}

pub(crate) fn this_thread() -> ThreadId {
    THIS_THREAD.with(|thread| *thread)
}

/// Returns `true` if this thread runs a callback, or is the callback thread of a context. Later callbacks of that
/// context cannot run before the current call returns.
pub(crate) fn is_inside_callback() -> bool {
    DEPTH.with(Cell::get) > 0
}

/// Returns `true` while this thread signals an event for the program.
pub(crate) fn is_signalling() -> bool {
    SIGNALS.with(Cell::get)
}

/// Counts one more callback on this thread.
pub(crate) fn enter_callback() {
    DEPTH.with(|depth| depth.set(depth.get() + 1));
}

/// Undoes one [`enter_callback`].
pub(crate) fn leave_callback() {
    debug_assert!(is_inside_callback(), "bug: a callback ends that has not begun");
    DEPTH.with(|depth| depth.set(depth.get() - 1));
}

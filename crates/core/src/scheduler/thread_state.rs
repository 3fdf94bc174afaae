//! What the current thread does for the program: callbacks and signals.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// A thread. The standard library's number does not tell the threads of a model apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadId(u64);

static THREADS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static THIS_THREAD: ThreadId = ThreadId(THREADS.fetch_add(1, Ordering::Relaxed));
    /// How many callbacks run on this thread, one inside the other; the thread of a context for them counts as one.
    static DEPTH: Cell<u32> = Cell::default();
    /// Whether this thread signals an event for the program.
    static SIGNALS: Cell<bool> = Cell::default();
}

/// Signals an event of the program's. Contexts that go on by that run no callbacks on this thread.
pub(crate) fn signal(run: impl FnOnce()) {
    let _signals = Signals::set(true);
    run();
}

/// Whether this thread signals an event, until this is dropped. A wait inside a signal does not: a waker may wait, and nothing
/// comes of the thread before that is over.
pub(crate) struct Signals(bool);

impl Signals {
    pub(crate) fn set(now: bool) -> Self {
        Self(SIGNALS.with(|signals| signals.replace(now)))
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        SIGNALS.with(|signals| signals.set(self.0));
    }
}

pub(crate) fn this_thread() -> ThreadId {
    THIS_THREAD.with(|thread| *thread)
}

/// Whether callbacks have to wait until this call returns: those that run on this thread, and those of a context whose
/// callback thread this is.
pub(crate) fn inside() -> bool {
    DEPTH.with(Cell::get) > 0
}

/// Returns `true` while this thread signals an event for the program.
pub(crate) fn signals() -> bool {
    SIGNALS.with(Cell::get)
}

/// Counts one more callback on this thread.
pub(crate) fn enter_callback() {
    DEPTH.with(|depth| depth.set(depth.get() + 1));
}

/// Ends the count of [`enter_callback`].
pub(crate) fn leave_callback() {
    DEPTH.with(|depth| depth.set(depth.get() - 1));
}

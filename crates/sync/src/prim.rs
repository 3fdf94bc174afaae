//! The locks and thread locals of the whole workspace: `std`'s, or loom's under `--cfg fencepost_loom`.

#[cfg(fencepost_loom)]
pub use loom::{
    sync::{Condvar, Mutex},
    thread::yield_now,
    thread_local,
};
#[cfg(not(fencepost_loom))]
pub use std::{
    sync::{Condvar, Mutex},
    thread::yield_now,
    thread_local,
};

use held::Held;
#[cfg(fencepost_loom)]
use loom::sync as imp;
use std::ops::{Deref, DerefMut};
#[cfg(not(fencepost_loom))]
use std::sync as imp;
use std::time::Duration;
use web_time::Instant;

/// A locked mutex. In a build with debug assertions, each thread counts its locked mutexes: user code runs only while
/// the count is 0, which [`assert_unlocked`] checks.
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    // Field order: the mutex is unlocked before the count is decremented.
    guard: imp::MutexGuard<'a, T>,
    held: Held,
}

impl<T> MutexGuard<'_, T> {
    /// Excludes the guard from the count. For a lock that is held while wgpu is called: on an adopted device, wgpu may
    /// run callbacks of the program.
    #[must_use]
    pub fn uncounted(mut self) -> Self {
        self.held.end();
        self
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

#[cfg(all(debug_assertions, not(fencepost_loom)))]
mod held {
    use std::cell::Cell;

    std::thread_local! {
        static COUNT: Cell<u32> = const { Cell::new(0) };
    }

    /// One entry in the count of this thread's locked mutexes, if `true`.
    #[derive(Debug)]
    pub(super) struct Held(bool);

    impl Held {
        pub(super) fn new() -> Self {
            COUNT.with(|count| count.set(count.get() + 1));
            Self(true)
        }

        pub(super) fn end(&mut self) {
            if std::mem::take(&mut self.0) {
                COUNT.with(|count| count.set(count.get() - 1));
            }
        }

        pub(super) fn count() -> u32 {
            COUNT.with(Cell::get)
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            self.end();
        }
    }
}

#[cfg(not(all(debug_assertions, not(fencepost_loom))))]
mod held {
    /// A placeholder: this build does not count locked mutexes.
    #[derive(Debug)]
    pub(super) struct Held(());

    impl Held {
        #[inline]
        pub(super) fn new() -> Self {
            Self(())
        }

        #[inline]
        pub(super) fn end(&mut self) {}

        #[inline]
        pub(super) fn count() -> u32 {
            0
        }
    }
}

/// Checks that this thread holds no lock of this project, because user code is about to run or to be dropped. A build
/// without debug assertions checks nothing.
///
/// # Panics
/// If the thread holds a lock, which is a bug of this project. A thread that is already panicking is not checked.
#[inline]
#[track_caller]
pub fn assert_unlocked(what: &str) {
    debug_assert!(Held::count() == 0 || std::thread::panicking(), "bug: {what} runs under a lock");
}

/// Locks `mutex`. No user code runs under a lock of this project, so no panic is expected while one is held.
///
/// # Panics
/// If a thread panicked while it held the lock, which is a bug of this project.
#[inline]
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // This attempt is inlined into the caller, because a mutex is usually free. Under loom there is only one way to
    // take a lock, so that a model has fewer orders to explore.
    if cfg!(not(fencepost_loom))
        && let Some(guard) = try_lock(mutex)
    {
        return guard;
    }
    wait_and_lock(mutex)
}

/// Locks `mutex` if no thread holds it, and if no thread has panicked while it held it.
#[inline]
pub fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    mutex.try_lock().ok().map(|guard| MutexGuard { guard, held: Held::new() })
}

#[cold]
fn wait_and_lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    let guard = mutex.lock().expect("bug: a panic held the lock");
    MutexGuard { guard, held: Held::new() }
}

/// Sleeps on `condvar` until it is notified.
///
/// # Panics
/// Panics as [`lock`] does.
pub fn sleep<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    let MutexGuard { guard, held } = guard;
    MutexGuard { guard: condvar.wait(guard).expect("bug: a panic held the lock"), held }
}

/// Sleeps on `condvar` until it is notified or `limit` has passed. Under loom, time never passes.
///
/// # Panics
/// Panics as [`lock`] does.
pub fn sleep_for<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>, limit: Duration) -> MutexGuard<'a, T> {
    let MutexGuard { guard, held } = guard;
    let (guard, _) = condvar.wait_timeout(guard, limit).expect("bug: a panic held the lock");
    MutexGuard { guard, held }
}

/// Returns the rest of a `limit` that began at `start`. Under loom, time never passes.
pub fn left(start: Instant, limit: Duration) -> Duration {
    if cfg!(fencepost_loom) { limit } else { limit.saturating_sub(start.elapsed()) }
}

//! The locks and thread locals of the whole workspace: `std`'s, or loom's under `--cfg fencepost_loom`.

#[cfg(fencepost_loom)]
pub use loom::{
    sync::{Condvar, Mutex, MutexGuard},
    thread::yield_now,
    thread_local,
};
#[cfg(not(fencepost_loom))]
pub use std::{
    sync::{Condvar, Mutex, MutexGuard},
    thread::yield_now,
    thread_local,
};

use std::time::{Duration, Instant};

/// Locks `mutex`. No code of the program runs under a lock of this project, so no panic is expected while one is held.
///
/// # Panics
/// If a thread panicked while it held the lock, which is a bug of this project.
#[inline]
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The compiler inlines this attempt into the caller, because a mutex is usually free. Under loom a lock has only
    // one way, so that a model has fewer orders to explore.
    if cfg!(not(fencepost_loom))
        && let Ok(guard) = mutex.try_lock()
    {
        return guard;
    }
    wait_and_lock(mutex)
}

#[cold]
fn wait_and_lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("bug: a panic held the lock")
}

/// Sleeps on `condvar` until it is notified.
///
/// # Panics
/// Panics as [`lock`] does.
pub fn sleep<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).expect("bug: a panic held the lock")
}

/// Sleeps on `condvar` until it is notified or `limit` has passed. Under loom, time never passes.
///
/// # Panics
/// Panics as [`lock`] does.
pub fn sleep_for<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>, limit: Duration) -> MutexGuard<'a, T> {
    condvar.wait_timeout(guard, limit).expect("bug: a panic held the lock").0
}

/// Returns the rest of a `limit` that counts from `start`. Under loom, time never passes.
pub fn left(start: Instant, limit: Duration) -> Duration {
    if cfg!(fencepost_loom) { limit } else { limit.saturating_sub(start.elapsed()) }
}

//! The threads that help the threads of lanes with long work. All devices of the process share them.
#![allow(unsafe_code, reason = "a thread of the pool executes work that its owner has borrowed")]

use fencepost_sync::Process;
use rayon_core::{ThreadPool, ThreadPoolBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

/// The threads; `None` if the system cannot start them.
static HELPERS: LazyLock<Option<(Process, ThreadPool)>> = LazyLock::new(|| {
    let name = |number| format!("fencepost cpu {number}");
    let pool = ThreadPoolBuilder::new().num_threads(count()).thread_name(name).build();
    pool.ok().filter(|_| count() > 0).map(|pool| (Process::this(), pool))
});

/// Most calls that wait for a free thread. While one launch keeps all threads busy, launches of other contexts would
/// otherwise leave any number of them.
const MOST_WAITING: usize = 4096;

/// Number of calls that wait for a free thread.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of threads that help a lane's thread. The system is asked once, because its answer takes longer
/// than a small launch.
pub(super) fn count() -> usize {
    static COUNT: LazyLock<usize> =
        LazyLock::new(|| available_parallelism().map_or(0, |count| count.get() - 1));
    *COUNT
}

/// Calls `work` on this thread, and on each helping thread that is free before this call of `work` returns. Waits for
/// the threads that have begun, and not for those that are busy with other work.
///
/// # Panics
/// Panics if `work` panics on one of the threads.
pub(super) fn share(work: &(dyn Fn() + Sync)) {
    match HELPERS.as_ref() {
        Some((process, threads)) if !process.is_left() => share_on(threads, work),
        _ => work(), // a child of fork(2) has no threads of its parent
    }
}

fn share_on(threads: &ThreadPool, work: &(dyn Fn() + Sync)) {
    // SAFETY: only the lifetime in the type of the pointer changes. The call in `SharedWork::help` says why the work
    // lives.
    let pointer: *const (dyn Fn() + Sync) =
        unsafe { std::mem::transmute::<*const (dyn Fn() + Sync + '_), _>(std::ptr::from_ref(work)) };
    let shared = Arc::new(SharedWork { work: pointer, state: Mutex::default(), left: Condvar::new() });
    for _ in 0..threads.current_num_threads() {
        if WAITING.fetch_add(1, Ordering::Relaxed) >= MOST_WAITING {
            WAITING.fetch_sub(1, Ordering::Relaxed);
            break; // the threads are busy, and stay so for long
        }
        let shared = shared.clone();
        threads.spawn(move || {
            WAITING.fetch_sub(1, Ordering::Relaxed);
            shared.help();
        });
    }
    let guard = CloseOnDrop(&shared);
    work();
    drop(guard);
    assert!(!shared.state().panicked, "bug: shared work panicked on a helping thread");
}

/// Work that several threads execute.
struct SharedWork {
    work: *const (dyn Fn() + Sync),
    state: Mutex<WorkState>,
    /// Notified when the last helping thread has ended.
    left: Condvar,
}

// SAFETY: the work is `Sync`, so several threads may call it. The other fields are `Send` and `Sync`.
unsafe impl Send for SharedWork {}
// SAFETY: as above.
unsafe impl Sync for SharedWork {}

#[derive(Default)]
struct WorkState {
    /// `true` once no further thread may begin.
    closed: bool,
    /// Number of threads that have begun and not ended.
    helping: usize,
    panicked: bool,
}

impl SharedWork {
    fn state(&self) -> MutexGuard<'_, WorkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the work, unless its owner has closed it.
    fn help(&self) {
        if !self.begin() {
            return;
        }
        // SAFETY: this thread is between `begin` and `end`. `close` returns only when no thread is between them and
        // none can begin, and the owner calls `close` before its borrow of the work ends, even if the work panics.
        let work = unsafe { &*self.work };
        let panicked = catch_unwind(AssertUnwindSafe(work)).is_err();
        self.end(panicked);
    }

    fn begin(&self) -> bool {
        let mut state = self.state();
        state.helping += usize::from(!state.closed);
        !state.closed
    }

    fn end(&self, panicked: bool) {
        let mut state = self.state();
        state.helping -= 1;
        state.panicked |= panicked;
        if state.helping == 0 {
            self.left.notify_all();
        }
    }

    /// Lets no further thread begin, and waits for those that have begun.
    fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        while state.helping > 0 {
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Guard that closes shared work, even if the owner's own part panics.
struct CloseOnDrop<'s>(&'s SharedWork);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::{channel, sync_channel};

    fn threads(count: usize) -> ThreadPool {
        ThreadPoolBuilder::new().num_threads(count).build().expect("the system gives threads")
    }

    #[test]
    fn work_does_not_wait_for_threads_that_are_busy() {
        let threads = threads(1);
        let (busy, is_busy) = channel();
        let (free, is_free) = channel::<()>();
        threads.spawn(move || {
            busy.send(()).expect("the test receives");
            let _ = is_free.recv();
        });
        is_busy.recv().expect("the thread is busy");
        let calls = AtomicU32::new(0);
        share_on(&threads, &|| {
            calls.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        drop(free);
        threads.install(|| ()); // the thread has met the closed work
        assert_eq!(calls.load(Ordering::Relaxed), 1, "closed work is not executed");
    }

    #[test]
    fn work_waits_for_the_threads_that_help() {
        let threads = threads(1);
        let (own, turn) = (std::thread::current().id(), std::sync::Barrier::new(2));
        let ended = AtomicU32::new(0);
        share_on(&threads, &|| {
            turn.wait(); // both threads have begun
            if std::thread::current().id() != own {
                (0..1000).for_each(|_| std::thread::yield_now());
            }
            ended.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(ended.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_panic_of_a_helping_thread_is_a_panic_of_the_owner() {
        let threads = threads(1);
        let own = std::thread::current().id();
        let (sender, receiver) = sync_channel(1);
        let receiver = Mutex::new(receiver);
        let shared = catch_unwind(AssertUnwindSafe(|| {
            share_on(&threads, &|| {
                if std::thread::current().id() == own {
                    receiver.lock().expect("one call").recv().expect("the other thread has begun");
                } else {
                    sender.send(()).expect("the owner receives");
                    std::panic::resume_unwind(Box::new("on purpose"));
                }
            });
        }));
        assert!(shared.is_err());
    }
}

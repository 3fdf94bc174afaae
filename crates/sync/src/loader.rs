//! The lock of Windows' loader. A thread takes it when it starts and when it ends, and so do calls that look for a
//! library. While a thread holds it, no other thread starts or ends, so a wait for one would never end.
//!
//! The loader holds it while it calls the entry point of a library. Rust 1.95 gets the end of a thread from the loader
//! too, so destructors of thread-local values run under this lock. Other systems have no such lock.
#![cfg_attr(windows, allow(unsafe_code, reason = "calls of Windows"))]

use std::sync::mpsc::Receiver;

/// Returns `true` if this thread holds the lock of the loader. It makes no system call.
#[cfg(windows)]
#[inline]
pub fn holds_loader_lock() -> bool {
    lock_of_windows::is_held_here()
}

/// Returns `false`, because this system has no such lock.
#[cfg(not(windows))]
#[inline]
pub fn holds_loader_lock() -> bool {
    false
}

/// Waits until a new thread has started, and so has dropped the other end of the channel. Returns at once if this
/// thread holds the lock of the loader, and on systems without that lock.
///
/// A thread that has not started cannot start while another one holds the lock, and that one may wait for it.
pub fn wait_for_start(started: &Receiver<()>) {
    if cfg!(windows) && !holds_loader_lock() {
        let _ = started.recv(); // an error, because nothing is sent
    }
}

#[cfg(windows)]
mod lock_of_windows {
    use std::ffi::c_void;
    use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

    /// Number of words before the address of the loader's lock in the block of the process.
    const WORDS_BEFORE: usize = if cfg!(target_pointer_width = "64") { 34 } else { 40 };

    /// The block that describes the process to Windows, up to the address of the loader's lock.
    #[repr(C)]
    struct ProcessBlock {
        _before: [AtomicUsize; WORDS_BEFORE],
        loader_lock: AtomicPtr<CriticalSection>,
    }

    /// A critical section of Windows, up to the id of the thread that holds it.
    #[repr(C)]
    struct CriticalSection {
        _debug: AtomicPtr<c_void>,
        _counts: [AtomicI32; 2],
        /// Id of the thread that holds it; 0 if none does.
        holder: AtomicUsize,
    }

    #[cfg_attr(not(target_arch = "x86"), link(name = "ntdll", kind = "raw-dylib"))]
    #[cfg_attr(
        target_arch = "x86",
        link(name = "ntdll", kind = "raw-dylib", import_name_type = "undecorated")
    )]
    unsafe extern "system" {
        safe fn RtlGetCurrentPeb() -> *const c_void;
    }

    #[cfg_attr(not(target_arch = "x86"), link(name = "kernel32", kind = "raw-dylib"))]
    #[cfg_attr(
        target_arch = "x86",
        link(name = "kernel32", kind = "raw-dylib", import_name_type = "undecorated")
    )]
    unsafe extern "system" {
        safe fn GetCurrentThreadId() -> u32;
    }

    pub(super) fn is_held_here() -> bool {
        // SAFETY: the block exists as long as the process, and has this pointer at this place in every Windows since NT
        // 4, and in Wine. All its fields are atomic here, because other threads change it.
        let process = unsafe { &*RtlGetCurrentPeb().cast::<ProcessBlock>() };
        // SAFETY: the pointer is null, or points to a variable of ntdll, which exists as long as the process.
        let lock = unsafe { process.loader_lock.load(Ordering::Relaxed).as_ref() };
        // Only this thread stores or removes its own id, so no other order of memory is needed.
        lock.is_some_and(|lock| lock.holder.load(Ordering::Relaxed) == GetCurrentThreadId() as usize)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[cfg_attr(not(target_arch = "x86"), link(name = "ntdll", kind = "raw-dylib"))]
        #[cfg_attr(
            target_arch = "x86",
            link(name = "ntdll", kind = "raw-dylib", import_name_type = "undecorated")
        )]
        unsafe extern "system" {
            fn LdrLockLoaderLock(flags: u32, disposition: *mut u32, cookie: *mut usize) -> i32;
            fn LdrUnlockLoaderLock(flags: u32, cookie: usize) -> i32;
        }

        #[test]
        fn only_the_thread_that_has_taken_the_lock_holds_it() {
            assert!(!is_held_here());
            let (ask, asked) = std::sync::mpsc::channel::<()>();
            let (answer, answered) = std::sync::mpsc::channel();
            let other = std::thread::spawn(move || {
                answer.send(is_held_here()).expect("the test receives"); // it has started
                asked.recv().expect("the test asks");
                answer.send(is_held_here()).expect("the test receives");
            });
            assert!(!answered.recv().expect("the thread answers"));
            let mut cookie = 0;
            // SAFETY: the loader accepts no disposition if the flags are 0, and the cookie is writable.
            let taken = unsafe { LdrLockLoaderLock(0, std::ptr::null_mut(), &raw mut cookie) };
            assert_eq!(taken, 0, "the lock is taken");
            let here = is_held_here();
            ask.send(()).expect("the thread waits");
            let there = answered.recv().expect("the thread answers");
            // SAFETY: this thread has taken the lock, with this cookie.
            let freed = unsafe { LdrUnlockLoaderLock(0, cookie) };
            assert_eq!(freed, 0, "the lock is free");
            assert_eq!((here, there, is_held_here()), (true, false, false));
            other.join().expect("no panic");
        }
    }
}

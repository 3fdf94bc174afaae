//! Identifies the process that opened a device. In a child of fork(2), the parent's threads do not exist, and locks
//! that they held stay locked, so a child must not use its parent's devices.
#![cfg_attr(unix, allow(unsafe_code, reason = "a hook of the C library"))]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of forks between the first process and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Identity of a process, to recognise children of fork(2).
///
/// # Example
/// ```
/// let opened_in = fencepost_sync::Process::this();
/// assert!(!opened_in.is_left());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Process(u32);

impl Process {
    /// Returns this process. Forks are counted from the first call on.
    pub fn this() -> Self {
        watch();
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Returns `true` in a child that this process has made with fork(2), and in the children of that child. It makes
    /// no system call.
    #[inline]
    pub fn is_left(self) -> bool {
        FORKS.load(Ordering::Relaxed) != self.0
    }

    /// Returns a number above 0.
    pub fn number(self) -> u32 {
        self.0 + 1
    }
}

/// A static value that is separate for each process. A child of fork(2) gets a new value, so a lock in it is free, even
/// if a thread of the parent held it.
///
/// # Example
/// ```
/// use fencepost_sync::PerProcess;
/// use std::sync::Mutex;
/// static NAMES: PerProcess<Mutex<Vec<String>>> = PerProcess::new(Mutex::new(Vec::new()), Mutex::default);
/// NAMES.get().lock().unwrap().push("main".into());
/// assert_eq!(NAMES.get().lock().unwrap().len(), 1);
/// ```
#[derive(Debug)]
pub struct PerProcess<T> {
    process: u32,
    value: T,
    make: fn() -> T,
    /// Values for child processes.
    in_child: OnceLock<Box<Self>>,
}

impl<T> PerProcess<T> {
    /// Creates the value of the first process; `make` creates the values of children.
    pub const fn new(value: T, make: fn() -> T) -> Self {
        Self { process: 0, value, make, in_child: OnceLock::new() }
    }

    /// Returns the value of this process.
    pub fn get(&self) -> &T {
        let Process(process) = Process::this();
        let mut at = self;
        while at.process != process {
            let of_child = || {
                Box::new(Self { process, value: (self.make)(), make: self.make, in_child: OnceLock::new() })
            };
            at = at.in_child.get_or_init(of_child);
        }
        &at.value
    }
}

#[cfg(unix)]
fn watch() {
    extern "C" fn in_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    static WATCHED: std::sync::Once = std::sync::Once::new();
    WATCHED.call_once(|| {
        // SAFETY: the function exists as long as the program, and only changes an atomic, which is allowed after a
        // fork. If memory for the hook is missing, the call returns an error, and forks go unnoticed.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Does nothing, because this system has no fork(2).
#[cfg(not(unix))]
fn watch() {}

//! Messages for the program's logger.
//!
//! A logger is user code. It may call this library. It may also wait for a lock whose owner waits for a thread of this
//! library, such as `stderr().lock()`. So a message is only appended to a list, which is possible under any lock, and a
//! separate thread passes it on. That thread ends when the list is empty. The browser has no threads; there a microtask
//! passes the messages on.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub use log::Level;

/// Maximum number of messages that wait for the logger. Further ones are counted and dropped.
const MAX_MESSAGES: usize = 10_000;

/// Place of a message in the source of this library.
#[derive(Clone, Copy, Debug)]
pub struct LogLocation {
    pub module: &'static str,
    pub file: &'static str,
    pub line: u32,
}

struct Message {
    level: Level,
    origin: LogLocation,
    text: String,
}

/// Messages that the logger has not received.
struct Waiting {
    messages: VecDeque<Message>,
    /// Number of dropped messages.
    left_out: usize,
    /// `true` while a thread passes messages on, or a microtask is scheduled for it.
    running: bool,
}

/// Messages of one process. In a child of fork(2), the parent's threads do not exist, and a lock that one of them held
/// stays locked, so the child has its own messages.
struct Log {
    /// Number of the process; 0 before its first message.
    process: AtomicU32,
    waiting: Mutex<Waiting>,
    /// Notified when the list is empty and the logger has returned.
    logged: Condvar,
    of_child: OnceLock<Box<Log>>,
}

impl Log {
    const fn new(process: u32) -> Self {
        let waiting = Waiting { messages: VecDeque::new(), left_out: 0, running: false };
        Self {
            process: AtomicU32::new(process),
            waiting: Mutex::new(waiting),
            logged: Condvar::new(),
            of_child: OnceLock::new(),
        }
    }

    /// Returns the messages of this process.
    fn of_this_process() -> &'static Self {
        static FIRST: Log = Log::new(0);
        let process = process();
        let _ = FIRST.process.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed);
        let mut log = &FIRST;
        while log.process.load(Ordering::Relaxed) != process {
            log = log.of_child.get_or_init(|| Box::new(Self::new(process)));
        }
        log
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Function that schedules a call of [`pass_on`], in the browser.
static SCHEDULE: OnceLock<fn()> = OnceLock::new();

thread_local! {
    /// `true` on the thread that passes messages on.
    static IS_LOG_THREAD: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Passes a message to the logger: `report!(Error, "queue `{label}` failed")`.
#[doc(hidden)]
#[macro_export]
macro_rules! report {
    ($level:ident, $($text:tt)+) => {
        $crate::call_with_place!(report, $level, $($text)+)
    };
}

/// Calls a function of [`report`](crate::report) with the place of the macro's call.
#[doc(hidden)]
#[macro_export]
macro_rules! call_with_place {
    ($function:ident, $level:ident, $($text:tt)+) => {
        $crate::report::$function(
            $crate::report::Level::$level,
            $crate::report::LogLocation { module: module_path!(), file: file!(), line: line!() },
            format_args!($($text)+),
        )
    };
}

/// Logs on this thread and waits until the logger returns, so that lines of kernels are printed before a wait for them
/// ends. The caller must not hold a lock.
#[doc(hidden)]
#[macro_export]
macro_rules! log_here {
    ($level:ident, $($text:tt)+) => {
        $crate::call_with_place!(log_here, $level, $($text)+)
    };
}

/// Appends a message for the logger. It runs no user code, so it may be called under any lock.
pub fn report(level: Level, origin: LogLocation, text: fmt::Arguments<'_>) {
    if level > log::STATIC_MAX_LEVEL || level > log::max_level() {
        return;
    }
    let message = Message { level, origin, text: text.to_string() };
    let mut waiting = Log::of_this_process().waiting();
    if waiting.messages.len() < MAX_MESSAGES {
        waiting.messages.push_back(message);
    } else {
        waiting.left_out += 1;
    }
    if !waiting.running {
        waiting.running = start();
    }
}

/// Logs on this thread. The caller must not hold a lock.
pub fn log_here(level: Level, origin: LogLocation, text: fmt::Arguments<'_>) {
    if level > log::STATIC_MAX_LEVEL || level > log::max_level() {
        return;
    }
    let mut record = log::Record::builder();
    record.level(level).target(origin.module).module_path_static(Some(origin.module));
    record.file_static(Some(origin.file)).line(Some(origin.line)).args(text);
    log::logger().log(&record.build());
}

/// Waits until the logger has received the messages so far, at most for `limit`; returns `false` if it has not. The
/// limit is needed because the logger may wait for this very thread.
pub fn settle(limit: Duration) -> bool {
    if IS_LOG_THREAD.try_with(std::cell::Cell::get).unwrap_or(true) {
        return false;
    }
    let log = Log::of_this_process();
    let mut waiting = log.waiting();
    if cfg!(target_arch = "wasm32") {
        return !waiting.running; // a browser has no clock of `std`, and no other thread
    }
    let start = Instant::now();
    while waiting.running {
        let left = limit.saturating_sub(start.elapsed());
        if left.is_zero() {
            return false;
        }
        waiting = log.logged.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    true
}

/// Sets the function that schedules calls of [`pass_on`], for the browser.
pub fn schedule_by(schedule: fn()) {
    SCHEDULE.get_or_init(|| schedule);
}

/// Passes messages on to the logger until none is left. The caller must not hold a lock.
pub fn pass_on() {
    let log = Log::of_this_process();
    loop {
        let mut waiting = log.waiting();
        let left_out = std::mem::take(&mut waiting.left_out);
        let messages = std::mem::take(&mut waiting.messages);
        if messages.is_empty() && left_out == 0 {
            waiting.running = false;
            drop(waiting);
            log.logged.notify_all();
            return;
        }
        drop(waiting);
        for Message { level, origin, text } in messages {
            guarded(|| log_here(level, origin, format_args!("{text}")));
        }
        if left_out > 0 {
            let origin = LogLocation { module: module_path!(), file: file!(), line: line!() };
            let text = format_args!("{left_out} messages are left out: the logger was too slow");
            guarded(|| log_here(Level::Warn, origin, text));
        }
    }
}

/// Returns the id of this process, which is above 0. The browser has no processes.
fn process() -> u32 {
    if cfg!(target_arch = "wasm32") { 1 } else { std::process::id() }
}

/// Starts passing messages on. Returns `false` if the system cannot start a thread; the next message tries again.
fn start() -> bool {
    if cfg!(target_arch = "wasm32") {
        return SCHEDULE.get().map(|schedule| schedule()).is_some();
    }
    let run = || {
        IS_LOG_THREAD.set(true);
        pass_on();
    };
    std::thread::Builder::new().name("fencepost log".into()).spawn(run).is_ok()
}

/// Calls the logger. If it panics, the message is lost.
fn guarded(log: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(log)) {
        drop_payload(payload);
    }
}

/// Drops the payload of a panic, whose destructor may panic again.
pub fn drop_payload(payload: Box<dyn std::any::Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
}

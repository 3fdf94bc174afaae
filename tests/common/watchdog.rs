//! Implements rule R04: a hang is a failure that shows the state of every queue.

use super::patience::Patience;
use super::subject::Subject;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Runs a case on a new thread. The error is the message of its panic, or the dump of its contexts if it does not end
/// within `limit`. Time in which the process waits for a processor does not count.
pub fn guard(
    name: &str,
    limit: Duration,
    subject: &Subject,
    run: impl FnOnce(&Subject) + Send + 'static,
) -> Result<(), String> {
    let own = subject.clone();
    within(name, limit, move || run(&own)).map_err(|ended| match ended {
        Ended::Panicked(message) => message,
        Ended::Late => format!("not over within {limit:?}; its contexts:\n{}", shown(subject)),
    })
}

/// Returns the state of a subject's contexts. It cannot be read if a thread is stuck with a context's lock, or on Windows
/// with the lock of the loader, under which no thread starts.
fn shown(subject: &Subject) -> String {
    let subject = subject.clone();
    in_time(move || subject.dump())
        .unwrap_or_else(|| "a thread stays in the lock of a context, or no thread starts".into())
}

/// Runs `look` on a new thread. Returns its result, if it ends within 5 seconds.
pub fn in_time<R: Send + 'static>(look: impl FnOnce() -> R + Send + 'static) -> Option<R> {
    let (sender, seen) = channel();
    thread::spawn(move || sender.send(look()));
    seen.recv_timeout(Duration::from_secs(5)).ok()
}

/// Reason why a thread gave no result.
pub enum Ended {
    /// The thread panicked with this message.
    Panicked(String),
    /// The thread did not end in time. It is left running.
    Late,
}

/// Runs `body` on a new thread and returns its result.
pub fn within<R: Send + 'static>(
    name: &str,
    limit: Duration,
    body: impl FnOnce() -> R + Send + 'static,
) -> Result<R, Ended> {
    let (sender, receiver) = channel();
    let body = move || {
        let outcome = catch_unwind(AssertUnwindSafe(body));
        // The receiver is gone if the limit has passed.
        let _ = sender.send(outcome);
    };
    let mut patience = Patience::new(std::process::id(), limit);
    let thread = thread::Builder::new().name(name.to_owned()).spawn(body).expect("the system has threads");
    let outcome = loop {
        match receiver.recv_timeout(patience.tick()) {
            Ok(outcome) => break outcome,
            Err(_) if patience.is_over() => return Err(Ended::Late),
            Err(_) => {}
        }
    };
    // Join the thread: if a process ends while a thread is ending, some GL loaders free the same memory twice.
    thread.join().expect("its panics are caught");
    outcome.map_err(|panic| Ended::Panicked(text(&*panic)))
}

/// Returns the message of a panic.
pub fn text(panic: &(dyn Any + Send)) -> String {
    let known = panic.downcast_ref::<String>().cloned();
    known
        .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .unwrap_or_else(|| "a panic".into())
}

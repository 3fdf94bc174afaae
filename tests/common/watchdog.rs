//! Rule R04: a hang is a failure that shows the state of every queue.

use super::subject::Subject;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Runs a case on a thread of its own. A panic is its failure; if it is not over within `limit`, so is the dump of
/// its contexts, and the thread is left alone.
pub fn guard(
    name: &str,
    limit: Duration,
    subject: &Subject,
    run: impl FnOnce(&Subject) + Send + 'static,
) -> Result<(), String> {
    let (sender, receiver) = channel();
    let own = subject.clone();
    let body = move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&own)));
        drop(own);
        // Nobody listens any more if the limit has passed.
        let _ = sender.send(outcome);
    };
    let thread = thread::Builder::new().name(name.to_owned()).spawn(body);
    let thread = thread.map_err(|error| format!("no thread for the case: {error}"))?;
    match receiver.recv_timeout(limit) {
        Ok(outcome) => {
            // A process must not end beside a thread that does: some GL loaders then free the same memory twice.
            thread.join().map_err(|panic| text(&*panic))?;
            outcome.map_err(|panic| text(&*panic))
        }
        Err(RecvTimeoutError::Timeout) => {
            Err(format!("not over within {limit:?}; its contexts:\n{}", subject.dump()))
        }
        Err(RecvTimeoutError::Disconnected) => Err("the case ended without a word".into()),
    }
}

fn text(panic: &(dyn Any + Send)) -> String {
    let known = panic.downcast_ref::<String>().cloned();
    known
        .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .unwrap_or_else(|| "a panic".into())
}

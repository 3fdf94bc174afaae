//! Ends programs that hang, and catches their panics.

use super::common::subject::settle;
use super::common::trials::SETTLE;
use super::common::watchdog::{Ended, in_time, within};
use fencepost::ContextWatch;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Time limit of a program. A longer program counts as a hang and fails.
const LIMIT: Duration = Duration::from_secs(60);

/// Start of the message of a hang.
pub const HANG: &str = "not over within";

/// Runs `body` on a new thread. If it does not end in time, the error shows the state of the contexts that it sent.
pub fn guarded<R: Send + 'static>(
    body: impl FnOnce(Sender<ContextWatch>) -> Result<R, String> + Send + 'static,
) -> Result<R, String> {
    let (sender, watch) = channel();
    let ended = within("program", LIMIT, move || body(sender)).unwrap_or_else(|ended| match ended {
        Ended::Panicked(message) => Err(format!("panic: {message}")),
        Ended::Late => Err(format!("{HANG} {LIMIT:?}\n{}", states_of(watch.try_iter()))),
    });
    settle(&watch.try_iter().collect::<Vec<_>>(), SETTLE);
    ended
}

fn states_of(watches: impl Iterator<Item = ContextWatch>) -> String {
    watches.map(state_of).collect::<Vec<_>>().join("\n")
}

/// Returns the state of a context, if its lock can be acquired.
fn state_of(watch: ContextWatch) -> String {
    match in_time(move || watch.state_dump()) {
        Some(state) => state.unwrap_or_else(|| "the context is gone".into()),
        None => "a thread stays in the lock of the context".into(),
    }
}

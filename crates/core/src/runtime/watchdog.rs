//! The watchdog, which prints the states of all contexts and aborts the process if a context is older than the limit in
//! `FENCEPOST_WATCHDOG`.

use crate::runtime::context_watch::ContextWatch;
use fencepost_kernels::report;
use fencepost_sync::PerProcess;
use std::sync::mpsc::channel;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Environment variable with the limit in seconds. Without it the watchdog is off.
const WATCHDOG_VARIABLE: &str = "FENCEPOST_WATCHDOG";

/// Longest wait for the state of a context.
const STATE_TIMEOUT: Duration = Duration::from_secs(5);

/// Watched contexts, each with the time when it was made.
static WATCHED: PerProcess<Mutex<Vec<(Instant, ContextWatch)>>> =
    PerProcess::new(Mutex::new(Vec::new()), Mutex::default);

/// Watches a new context, if the process has a limit. The first call starts the watchdog thread.
pub(crate) fn watch(watch: impl FnOnce() -> ContextWatch) {
    static LIMIT: OnceLock<Option<Duration>> = OnceLock::new();
    let begin = || {
        let limit = limit(&std::env::var(WATCHDOG_VARIABLE).ok()?)?;
        let started =
            thread::Builder::new().name("fencepost watchdog".into()).spawn(move || watch_contexts(limit));
        started.is_ok().then_some(limit)
    };
    if LIMIT.get_or_init(begin).is_some() {
        WATCHED.get().lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), watch()));
    }
}

fn limit(text: &str) -> Option<Duration> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0.0);
    let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    if limit.is_none() {
        report!(
            Warn,
            "{WATCHDOG_VARIABLE} is `{text}`; it must be a number of seconds above 0, so no context is watched"
        );
    }
    limit
}

/// Waits until a context is older than the limit. Then prints all states and aborts the process.
fn watch_contexts(limit: Duration) {
    loop {
        thread::sleep(limit / 10);
        let mut watched = WATCHED.get().lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|(_, watch)| watch.lives());
        if watched.iter().any(|(made, _)| made.elapsed() > limit) {
            let states: Vec<String> = watched.iter().map(|(_, watch)| state(watch)).collect();
            let states = states.join("\n");
            // The text goes to standard error instead of the log, because the process ends here, and even a program
            // without a logger must show the reason.
            eprintln!("{WATCHDOG_VARIABLE}: a context is older than {limit:?}; all contexts:\n{states}");
            std::process::abort();
        }
    }
}

/// Returns the state of a context. It is read on a separate thread, because another thread may hold the lock of the
/// context forever.
fn state(watch: &ContextWatch) -> String {
    let (sender, state) = channel();
    let watch = watch.clone();
    let looked = thread::Builder::new().spawn(move || sender.send(watch.state_dump()));
    match looked.ok().and_then(|_| state.recv_timeout(STATE_TIMEOUT).ok()) {
        Some(state) => state.unwrap_or_else(|| "a context that ended meanwhile".into()),
        None => "a context whose lock another thread holds".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_of_seconds_above_zero() {
        assert_eq!(limit("60"), Some(Duration::from_secs(60)));
        assert_eq!(limit("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(["", "0", "-1", "NaN", "inf", "soon"].map(limit), [None; 6]);
    }
}

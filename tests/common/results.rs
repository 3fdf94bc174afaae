//! Writes the result of each test for other programs. If `FENCEPOST_TEST_RESULTS` names a file, every test that ends
//! appends a line of JSON to it.

use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;
use web_time::Instant;

/// Variable with the file's name.
pub const VARIABLE: &str = "FENCEPOST_TEST_RESULTS";

/// Device on which a test ran.
#[derive(Clone, Copy)]
pub struct On<'a> {
    pub adapter: &'a str,
    /// Graphics interface in lower case; `host` for the CPU recorder.
    pub backend: &'a str,
}

/// Device of a test without an adapter.
pub const NOTHING: On<'_> = On { adapter: "none", backend: "none" };
/// The CPU recorder with any seed.
pub const CPU: On<'_> = On { adapter: "cpu", backend: "host" };

/// Outcome of a test, and its duration.
pub enum Ended<'a> {
    Passed(Duration),
    Failed(Duration),
    /// The test cannot run there, for this reason.
    NotPossible(&'a str),
}

/// Writes the outcome of a test, if the variable names a file.
///
/// # Panics
/// Panics if the file cannot be written, because no line may be missing.
pub fn note(test: &str, on: On<'_>, ended: &Ended<'_>) {
    let Ok(file) = std::env::var(VARIABLE) else { return };
    let (result, seconds, reason) = match ended {
        Ended::Passed(after) => ("pass", after.as_secs_f64(), None),
        Ended::Failed(after) => ("fail", after.as_secs_f64(), None),
        Ended::NotPossible(reason) => ("not-possible", 0.0, Some(*reason)),
    };
    let On { adapter, backend } = on;
    let line = json!({
        "test": test, "adapter": adapter, "backend": backend, "result": result, "reason": reason, "seconds": seconds
    });
    let mut file = OpenOptions::new().create(true).append(true).open(&file).expect("the file of the results");
    file.write_all(format!("{line}\n").as_bytes()).expect("the file of the results");
}

/// Runs a test and [writes](note) its outcome.
pub fn noted<E>(test: &str, on: On<'_>, run: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    let begun = Instant::now();
    let result = run();
    let after = begun.elapsed();
    note(test, on, &if result.is_ok() { Ended::Passed(after) } else { Ended::Failed(after) });
    result
}

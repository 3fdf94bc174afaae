//! What became of each test, for programs: with `FENCEPOST_TEST_RESULTS` naming a file, every test that ends adds a
//! line of JSON to it.

use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, Instant};

/// The variable with the file's name.
pub const VARIABLE: &str = "FENCEPOST_TEST_RESULTS";

/// What a test ran on.
#[derive(Clone, Copy)]
pub struct On<'a> {
    pub adapter: &'a str,
    /// The graphics interface, in small letters; `host` for the CPU recorder.
    pub backend: &'a str,
}

/// There is no adapter to run on.
pub const NOTHING: On<'_> = On { adapter: "none", backend: "none" };
/// The CPU recorder, whatever its seed.
pub const CPU: On<'_> = On { adapter: "cpu", backend: "host" };

/// How a test ended, and after how long.
pub enum Ended<'a> {
    Passed(Duration),
    Failed(Duration),
    /// It cannot run there, and why.
    NotPossible(&'a str),
}

/// Notes how a test ended, if somebody wants to know.
///
/// # Panics
/// If the file cannot be written: whoever asked for it must not miss a line.
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

/// Runs a test and [notes](note) how it ended.
pub fn noted<E>(test: &str, on: On<'_>, run: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    let begun = Instant::now();
    let result = run();
    let after = begun.elapsed();
    note(test, on, &if result.is_ok() { Ended::Passed(after) } else { Ended::Failed(after) });
    result
}

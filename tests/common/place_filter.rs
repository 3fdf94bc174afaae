//! Selects the tests of one place: with `FENCEPOST_TEST_PLACE=lavapipe` only tests whose names end in `::lavapipe` run.

use libtest_mimic::{Arguments, Conclusion, Trial};

const VARIABLE: &str = "FENCEPOST_TEST_PLACE";

/// Runs trials one at a time. If a place is named, only its trials run.
///
/// The validation layers report messages for the whole process. If two cases ran at once, a message would make both
/// fail.
pub fn run(trials: Vec<Trial>) -> Conclusion {
    run_beside(trials, 1)
}

/// Like [`run`], with `at_once` trials at a time on the CPU recorder, where there are no layers.
pub fn run_beside(trials: Vec<Trial>, at_once: usize) -> Conclusion {
    let given = Arguments::from_args();
    let place = std::env::var(VARIABLE).ok();
    let at_once = if place.as_deref() == Some("cpu") { at_once } else { 1 };
    let arguments = Arguments { test_threads: given.test_threads.or(Some(at_once)), ..given };
    let trials = match place {
        Some(place) => trials.into_iter().filter(|trial| is_at(trial.name(), &place)).collect(),
        None => trials,
    };
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Some(mebibytes) = peak().filter(|_| !arguments.list) {
        eprintln!("peak memory: {mebibytes} MiB");
    }
    conclusion
}

/// Returns the peak memory of the process in MiB, on systems that report it in a file. `cargo xtask test` limits it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes / 1024)
}

/// Returns `true` if a test of this name runs at the place. The place `cpu` is the CPU recorder with any
/// number of lanes.
fn is_at(name: &str, place: &str) -> bool {
    let end = name.rsplit_once("::").map_or("", |(_, end)| end);
    end == place || (place == "cpu" && end.starts_with("cpu"))
}

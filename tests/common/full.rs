//! Selects how much of the suite runs.

use std::cell::Cell;

thread_local! {
    /// `true` on the thread of a case that runs on the CPU recorder.
    static ON_RECORDER: Cell<bool> = const { Cell::new(false) };
}

/// Returns `true` if the full suite runs, with every pair and every recorder.
pub fn full() -> bool {
    std::env::var("FENCEPOST_TEST_FULL").is_ok_and(|value| value == "1")
}

/// Returns `true` if a case of the algorithms uses its large lists: in the full suite, except on the CPU recorder,
/// whose interpreter needs minutes for them. There the full suite runs the small lists with each seed.
pub fn large() -> bool {
    full() && !ON_RECORDER.get()
}

/// Marks the thread as a case's thread. The case runs on the CPU recorder if `on_recorder`.
pub fn begin_case(on_recorder: bool) {
    ON_RECORDER.set(on_recorder);
}

/// Returns the number of places and modes in which a plain run executes each case; `None` if each case runs wherever it
/// can.
pub fn slots() -> Option<usize> {
    let slots = std::env::var("FENCEPOST_TEST_SLOTS").ok()?;
    Some(slots.parse().expect("FENCEPOST_TEST_SLOTS is a number"))
}

/// Name of the mode without a variable.
pub const DEFAULT: &str = "default";
/// Name of the mode in which all kernels have all runtime checks.
const CHECKED: &str = "checked";

/// Returns the name of the mode: the value of the variable that replaces the recorder or the memory, or one of the two names
/// above.
pub fn mode() -> String {
    let replaced =
        ["FENCEPOST_RECORDER", "FENCEPOST_TEST_MEMORY"].iter().find_map(|name| std::env::var(name).ok());
    let usual = if all_checked() { CHECKED } else { DEFAULT };
    replaced.unwrap_or_else(|| usual.into())
}

/// Returns `true` if all kernels have all runtime checks, which changes only the algorithms.
pub fn all_checked() -> bool {
    std::env::var_os("FENCEPOST_CHECKED").is_some()
}

/// Returns the number of seeds, out of `count`, that a trial on an adapter runs: all of them in the full suite, an eighth in
/// the default mode of a plain run, and a sixteenth in its other modes, which run the same programs again.
pub fn seeds(count: u64) -> u64 {
    let divisor = match mode().as_str() {
        _ if full() => 1,
        DEFAULT => 8,
        _ => 16,
    };
    count.div_ceil(divisor)
}

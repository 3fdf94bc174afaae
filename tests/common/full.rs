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

/// Returns `true` if a variable replaces the recorder, the memory or the kernels of the default mode.
pub fn in_another_mode() -> bool {
    all_checked() || recording_mode().is_some()
}

/// Returns the value of the variable that replaces the recorder or the memory of the default mode.
pub fn recording_mode() -> Option<String> {
    ["FENCEPOST_RECORDER", "FENCEPOST_TEST_MEMORY"].iter().find_map(|name| std::env::var(name).ok())
}

/// Variable that turns on all runtime checks of all kernels.
const CHECKED: &str = "FENCEPOST_CHECKED";

/// Returns `true` if all kernels have all runtime checks, which changes only the algorithms.
pub fn all_checked() -> bool {
    std::env::var_os(CHECKED).is_some()
}

/// Returns the number of seeds, out of `count`, that a trial on an adapter runs: all of them in the full suite, half of
/// them in the default mode, and a quarter of them in another mode, which runs the same programs again.
pub fn seeds(count: u64) -> u64 {
    let divisor = if full() {
        1
    } else if in_another_mode() {
        4
    } else {
        2
    };
    count.div_ceil(divisor)
}

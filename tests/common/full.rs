//! Selects how much of the suite runs.

/// Returns `true` if the full suite runs, with every pair and every recorder.
pub fn full() -> bool {
    std::env::var("FENCEPOST_TEST_FULL").is_ok_and(|value| value == "1")
}

/// Returns `true` if a variable replaces the recorder, the memory or the kernels of the default mode.
pub fn in_another_mode() -> bool {
    all_checked() || recording_mode().is_some()
}

/// Returns the value of the variable that replaces the recorder or the memory of the default mode.
pub fn recording_mode() -> Option<String> {
    ["FENCEPOST_RECORDER", "FENCEPOST_TEST_MEMORY"].iter().find_map(|name| std::env::var(name).ok())
}

/// Names the variable with which all kernels have all runtime checks.
const CHECKED: &str = "FENCEPOST_CHECKED";

/// Returns `true` if all kernels have all runtime checks, which concerns the algorithms alone.
pub fn all_checked() -> bool {
    std::env::var_os(CHECKED).is_some()
}

/// Returns how many of `count` seeds a trial on an adapter runs. It is all of them in the default mode and in the full
/// suite. It is a third of them in another mode, which runs the same programs again.
pub fn seeds(count: u64) -> u64 {
    if in_another_mode() && !full() { count.div_ceil(3) } else { count }
}

//! How much of the suite runs.

/// Whether the full suite runs: every pair, every recorder.
pub fn full() -> bool {
    std::env::var("FENCEPOST_TEST_FULL").is_ok_and(|value| value == "1")
}

/// Whether a variable exchanges the recorder or the memory of the default mode.
pub fn in_another_mode() -> bool {
    ["FENCEPOST_RECORDER", "FENCEPOST_TEST_MEMORY"].iter().any(|name| std::env::var_os(name).is_some())
}

/// How many of `count` seeds a trial on an adapter runs: all of them in the default mode and in the full suite, a third of them
/// in another mode, which does the same programs once more.
pub fn seeds(count: u64) -> u64 {
    if in_another_mode() && !full() { count.div_ceil(3) } else { count }
}

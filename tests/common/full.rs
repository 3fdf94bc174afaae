//! The full suite.

/// Whether the full suite runs: every pair, every recorder.
pub fn full() -> bool {
    std::env::var("FENCEPOST_TEST_FULL").is_ok_and(|value| value == "1")
}

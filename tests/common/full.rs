//! How much of what is slow a run tries.

/// Whether the run is the full one, which tries every combination: the variable `FENCEPOST_TEST_FULL` is `1`.
pub fn full() -> bool {
    std::env::var("FENCEPOST_TEST_FULL").is_ok_and(|value| value == "1")
}

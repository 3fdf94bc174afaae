//! Runs the unit tests of the b3sum example; tests/b3sum.rs runs the program.

#[allow(dead_code, reason = "the program's `main` is not called here")]
#[path = "../examples/b3sum/main.rs"]
mod b3sum;

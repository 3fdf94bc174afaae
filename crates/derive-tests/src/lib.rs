//! The tests of the derive are in `tests`; this crate holds nothing else.

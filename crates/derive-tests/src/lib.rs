//! The tests of the derive are in `tests`; this crate contains nothing else.

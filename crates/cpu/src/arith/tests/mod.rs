//! The tests of more than one file of arithmetic, and the numbers that all tests of arithmetic use.

mod accuracy;
pub(crate) mod edges;
mod types;

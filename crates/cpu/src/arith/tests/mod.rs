//! Tests that concern several files of arithmetic, and the numbers that all tests of arithmetic use.

pub(crate) mod accuracy;
pub(crate) mod edges;
pub(crate) mod types;

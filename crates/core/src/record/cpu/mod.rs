//! The CPU recorder: executes batches on host bytes, for tests, in an order that a seed chooses.

pub(crate) mod cpu_recorder;
pub(crate) mod run_order;

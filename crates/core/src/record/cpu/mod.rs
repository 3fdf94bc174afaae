//! Batches on host bytes, for tests: any order that is allowed, chosen by a seed.

pub(crate) mod cpu_recorder;
pub(crate) mod run_order;

//! Tests of what kernels compute on the CPU.
#![allow(missing_docs, reason = "the names of the tests say what they test")]

mod algorithm;
mod builtin;
mod harness;
mod layout;
mod memory;
mod order;
mod program;
mod random;
mod refused;
mod slices;
mod subgroup;
mod values;

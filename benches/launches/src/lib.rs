//! Launches one kernel in several ways: with Fencepost's recorders, and with the hand-written wgpu of an expert.
//!
//! The benchmarks measure the launches, and the program `instructions` counts their instructions. The program is in this
//! package because `cargo xtask count` builds it, and the other benchmarks need many more crates.

pub mod expert;
pub mod fencepost;
pub mod ground;
pub mod implementation;
mod instructions;
pub mod job;
mod noop;
pub mod part;
pub mod recorders;
mod replays;
pub mod rows;
pub mod saxpy;
pub mod transfer;
mod verbs;

pub use crate::instructions::launch_on_noop;
pub use crate::noop::noop_contestants;

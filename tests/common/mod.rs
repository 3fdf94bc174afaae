//! Code that the test programs share: subjects, cases, a watchdog, kernels.
//!
//! A *subject* is the device of a case: an adapter of this machine, or the CPU recorder with a seed.
#![allow(dead_code, unreachable_pub, reason = "each test program uses some of the modules")]
#![allow(unused_imports, unused_macros, reason = "each test program uses some of the modules")]

pub mod adapters;
pub mod busy;
pub mod cached;
pub mod calls;
pub mod case;
pub mod clock;
pub mod counted;
pub mod dump;
pub mod early_results;
pub mod errors;
pub mod example;
pub mod full;
pub mod function_tables;
pub mod held;
pub mod kernels;
pub mod logger;
pub mod objects;
pub mod partners;
pub mod patience;
pub mod place_filter;
pub mod program;
pub mod raw;
pub mod refusing;
pub mod results;
pub mod seeds;
pub mod spin;
pub mod subject;
pub mod validation;
pub mod watchdog;

pub use calls::Calls;
pub use case::{Case, NO_DEVICE, Needs, case, host_side, trials, wgpu_only};
pub(crate) use errors::assert_error;
pub use errors::assert_says;
pub use objects::{hold, queues};
pub use subject::Subject;

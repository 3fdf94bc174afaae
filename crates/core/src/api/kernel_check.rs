//! The types of findings of the kernel checks; see [`ContextOptions::check`](crate::ContextOptions::check).

pub use fencepost_cpu::{
    Absent, Access, AccessKind, Element, Finding, InvocationId, Mistake, Place, Race, Step,
};

#[cfg(all(test, not(fencepost_loom)))]
mod kernel_check_tests;
#[cfg(all(test, not(fencepost_loom)))]
mod unwritten_tests;

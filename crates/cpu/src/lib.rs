//! Runs compute kernels of WGSL on the CPU, without a driver.
//!
//! - [`Program`] is one entry point of a [module](fencepost_kernels::Module), with its overrides applied.
//! - [`CpuKernel`] runs a program, compiled if possible and otherwise interpreted. It is a
//!   [`HostKernel`](fencepost_kernels::HostKernel).
//! - [`CpuKernel::run_checked`] runs a program and finds its mistakes, such as races.
//! - [`CpuKernel::resume`] runs a program in slices, for a thread that must not be kept for long.
//! - [`GridRun`] describes one run: the grid, the range of its workgroups, the parameters and the buffers.
//!
//! Some built-in kernels have a *twin*: native code that computes the same results, but may add floats in another order.
//!
//! Both engines give the same results. Integers wrap, a division by zero gives the dividend, a shift uses the low bits
//! of its amount, an index past the end of an array is clamped to the last element, and all variables are initially
//! zero. wgpu does the same on a GPU. The environment variable `FENCEPOST_DUMP` names a folder for the code of kernels
//! as text, and `FENCEPOST_PERF=1` names their functions for the profiler `perf`. The crate uses naga, but no GPU.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod arith;
mod check;
#[cfg(all(feature = "compile", not(target_family = "wasm")))]
mod compile;
mod dump;
mod error;
mod interpret;
mod kernel;
#[cfg(all(feature = "compile", not(target_family = "wasm")))]
mod machine;
mod program;
mod run;
mod statements;
#[cfg(all(feature = "compile", not(target_family = "wasm")))]
mod trial;
#[cfg(all(feature = "twins", not(target_family = "wasm")))]
mod twin;
mod variables;
#[cfg(all(feature = "compile", not(target_family = "wasm")))]
mod width;

pub use check::{
    Absent, Access, AccessKind, Bound, CheckOptions, CheckedRun, Element, Finding, InvocationId, Mistake,
    Race, Shadow, Step,
};
pub use error::{Error, Fault, Place, Result};
pub use interpret::PausedRun;
pub use kernel::CpuKernel;
pub use program::Program;
pub use run::{Cells, GridRun};

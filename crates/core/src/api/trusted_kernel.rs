//! Kernels that a device compiles without the runtime checks for what is proven of them, for `fencepost-algorithms`. Any
//! version of the crate may change or remove the functions.
#![allow(unsafe_code, reason = "the caller proves what the device does not check")]

use crate::api::context::compile_job::Job;
use crate::api::context::kernels::{compiled, dynamic, job};
use crate::api::kernel::{DynKernel, Kernel};
use crate::api::queue::CommandQueue;
use crate::error::Result;
pub use fencepost_kernels::Trust;
use fencepost_kernels::{KernelArgs, ShaderSource};

/// Compiles a kernel as [`CommandQueue::kernel_with`] does, without the runtime checks for what is proven of it.
///
/// Some devices check all kernels all the same: the CPU, devices with bindings of 2^32 bytes and more, and all devices if
/// the environment has `FENCEPOST_CHECKED=1`. A launch of a graph that an edit changes or that has a named value is checked
/// too.
///
/// # Safety
/// All launches of the returned kernel have what `trust` says, whatever the elements of their arrays are, and also if
/// another queue changes the elements during the launch.
///
/// # Errors
/// Returns the errors of [`CommandQueue::kernel_with`].
pub unsafe fn trusted_kernel_with<A: KernelArgs>(
    queue: &CommandQueue,
    overrides: &[(&str, f64)],
    trust: Trust,
) -> Result<Kernel<A::Family>> {
    compiled::<A>(queue.owner(), &job::<A>(overrides)?.with_trust(granted(queue, trust)))
}

/// Compiles a kernel as [`CommandQueue::kernel_from_source`] does, without the runtime checks for what is proven of it, as
/// [`trusted_kernel_with`] does.
///
/// # Safety
/// The contract is that of [`trusted_kernel_with`].
///
/// # Errors
/// Returns the errors of [`CommandQueue::kernel_from_source`].
pub unsafe fn trusted_kernel_from_source(
    queue: &CommandQueue,
    source: &ShaderSource,
    entry: &str,
    overrides: &[(&str, f64)],
    trust: Trust,
) -> Result<DynKernel> {
    let job = Job::new(source.clone(), entry, overrides).with_trust(granted(queue, trust));
    dynamic(queue.owner(), &job)
}

/// Returns the trust if the device trusts kernels.
fn granted(queue: &CommandQueue, trust: Trust) -> Option<Trust> {
    queue.owner().device().caps().trusts.then_some(trust)
}

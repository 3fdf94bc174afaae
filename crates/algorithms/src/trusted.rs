//! Compilation of built-in kernels for the verbs, without the runtime checks that were proven redundant.
//!
//! [`trusted_kernels`](fencepost_kernels::trusted_kernels) lists these kernels, each with the proof.
#![allow(unsafe_code, reason = "the verbs prove what a device does not check")]

use crate::verb_queue::VerbQueue;
use fencepost_core::trusted_kernel::{
    trusted_kernel_from_source, trusted_kernel_with, verb_kernel_from_source, verb_kernel_with,
};
use fencepost_core::{DynKernel, Kernel, KernelArgs, Result, ShaderSource};
use fencepost_kernels::{Trust, trust_of};

/// Compiles the built-in kernel of a verb's argument struct.
pub(crate) fn kernel<A: KernelArgs>(queue: &VerbQueue<'_>) -> Result<Kernel<A::Family>> {
    kernel_with::<A>(queue, &[])
}

/// Compiles a kernel as [`kernel`] does, with values for `override` constants.
pub(crate) fn kernel_with<A: KernelArgs>(
    queue: &VerbQueue<'_>,
    overrides: &[(&str, f64)],
) -> Result<Kernel<A::Family>> {
    compiled::<A>(queue, overrides, trust_of(A::entry()))
}

/// Compiles a kernel as [`kernel_with`] does, but for first elements.
pub(crate) fn part_kernel_with<A: KernelArgs>(
    queue: &VerbQueue<'_>,
    overrides: &[(&str, f64)],
) -> Result<Kernel<A::Family>> {
    compiled::<A>(queue, overrides, of_part(A::entry()))
}

fn compiled<A: KernelArgs>(
    queue: &VerbQueue<'_>,
    overrides: &[(&str, f64)],
    trust: Option<Trust>,
) -> Result<Kernel<A::Family>> {
    let Some(trust) = trust else { return verb_kernel_with::<A>(queue, queue.verb, overrides) };
    // SAFETY: the argument structs of this crate name built-in kernels, and the list of trusted kernels has the proof
    // for the arguments that the verbs pass. User code cannot name these structs or obtain the kernel.
    unsafe { trusted_kernel_with::<A>(queue, queue.verb, overrides, trust) }
}

/// Compiles a built-in kernel from its source; for first elements if `is_part` is `true`. The source is that of the
/// file `entry`.wgsl.
pub(crate) fn kernel_from_source(
    queue: &VerbQueue<'_>,
    source: &ShaderSource,
    entry: &str,
    overrides: &[(&str, f64)],
    is_part: bool,
) -> Result<DynKernel> {
    let trust = if is_part { of_part(entry) } else { trust_of(entry) };
    let verb = queue.verb;
    let kernel = (entry, overrides);
    let Some(trust) = trust else { return verb_kernel_from_source(queue, verb, source, kernel) };
    // SAFETY: the caller passes the source of a built-in kernel and keeps the kernel to the verbs of this crate. The
    // list of trusted kernels has the proof for the arguments that the verbs pass.
    unsafe { trusted_kernel_from_source(queue, verb, source, kernel, trust) }
}

/// Compiles a built-in kernel that contains text from user code. It keeps all runtime checks.
pub(crate) fn program_kernel(
    queue: &VerbQueue<'_>,
    source: &ShaderSource,
    entry: &str,
    overrides: &[(&str, f64)],
) -> Result<DynKernel> {
    verb_kernel_from_source(queue, queue.verb, source, (entry, overrides))
}

/// Returns what is proven of a kernel for first elements. The number of elements is on the device, where another queue
/// may change it during the launch. So invocations may see different numbers, and some may end before others write
/// workgroup memory; but each number is at most the length of the array.
fn of_part(entry: &str) -> Option<Trust> {
    trust_of(entry).map(|_| Trust::Indices)
}

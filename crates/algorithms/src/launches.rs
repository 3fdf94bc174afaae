//! Launches with one workgroup for each share.

use crate::verb_queue::VerbQueue;
use fencepost_core::{DynKernel, Grid, Kernel, KernelArgs, NamedArg, Result, SameKernel};

/// Enqueues a launch with a number of workgroups. A launch without workgroups is only checked. So a verb with several
/// launches can refuse what the last one would refuse before it enqueues the first one.
#[track_caller]
pub(crate) fn launch<F: KernelArgs>(
    queue: &VerbQueue<'_>,
    kernel: &Kernel<F>,
    groups: usize,
    args: impl KernelArgs<Family: SameKernel<F>>,
) -> Result<()> {
    if groups == 0 {
        return queue.check_launch(kernel, args);
    }
    queue.launch(kernel, Grid::groups([groups]), args)
}

/// Enqueues or checks a launch as [`launch`] does, with named arguments.
#[track_caller]
pub(crate) fn launch_dyn<'a>(
    queue: &VerbQueue<'_>,
    kernel: &DynKernel,
    groups: usize,
    args: impl AsRef<[NamedArg<'a>]>,
) -> Result<()> {
    if groups == 0 {
        return queue.check_launch_dyn(kernel, args);
    }
    queue.launch_dyn(kernel, Grid::groups([groups]), args)
}

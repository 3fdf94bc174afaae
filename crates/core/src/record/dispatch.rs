//! The parts of a dispatch that all recorders share.

use crate::memory::block::Block;
use crate::work::compiled_kernel::Pipeline;
use crate::work::kernel_launch::Launch;

/// Names a range of a block that a dispatch binds.
#[derive(Clone, Copy)]
pub(crate) struct BoundRange<'a> {
    pub(crate) block: &'a Block,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// Returns the pipeline of a launch.
///
/// # Panics
/// Panics if the kernel was compiled for another recorder, which is a bug.
#[inline]
pub(crate) fn pipeline_of<P: 'static>(launch: &Launch) -> &P {
    let found = match &launch.kernel().pipeline {
        Pipeline::Device(pipeline) => pipeline.downcast_ref(),
        Pipeline::Host(_) => None,
    };
    found.expect("bug: a kernel of another recorder")
}

/// Holds the number of workgroups of a dispatch. `B` is the recorder's buffer type.
pub(crate) enum GroupCount<'a, B> {
    Fixed([u32; 3]),
    /// The device reads the three numbers from three words of this buffer, starting at this byte.
    Indirect(&'a B, u64),
}

//! The first elements of segments, as bits.

use crate::trusted;
use crate::tuning::WIDE;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Grid, Kernel, Result};
use fencepost_derive::KernelArgs;

/// Launch that sets a bit for the first element of each segment.
pub(crate) struct Heads {
    kernel: Kernel<HeadsArgs<'static>>,
    offsets: DeviceArray<u32>,
    /// One bit for each element, 32 per word.
    pub(crate) bits: DeviceArray<u32>,
}

impl Heads {
    #[track_caller]
    pub(crate) fn new(queue: &VerbQueue<'_>, offsets: &DeviceArray<u32>, elements: usize) -> Result<Self> {
        let kernel = trusted::kernel_with::<HeadsArgs<'_>>(queue, &WIDE)?;
        let bits = queue.scratch(elements.div_ceil(u32::BITS as usize))?;
        Ok(Self { kernel, offsets: offsets.clone(), bits })
    }

    #[track_caller]
    pub(crate) fn launch(&self, queue: &VerbQueue<'_>) -> Result<()> {
        let count = self.offsets.len() as u32;
        let mut heads = self.bits.clone();
        let grid = Grid::threads([heads.len()]);
        queue.launch(&self.kernel, grid, HeadsArgs { count, offsets: &self.offsets, heads: &mut heads })
    }
}

#[derive(KernelArgs)]
#[kernel(source = "segment_heads.wgsl", crate = fencepost_kernels)]
struct HeadsArgs<'a> {
    count: u32,
    offsets: &'a DeviceArray<u32>,
    heads: &'a mut DeviceArray<u32>,
}

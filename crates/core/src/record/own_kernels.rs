//! Own kernels: kernels of this crate that a recorder dispatches for fills, for copies of regions, for checks of group
//! counts and for the gates of graphs.

use crate::driver::caps::Caps;
use crate::error::Result;
use crate::memory::block::Block;
use crate::record::dispatch::BoundRange;
use crate::work::compiled_kernel::Recipe;
use crate::work::region_copy::RegionCopy;
use std::ops::Range;
use std::sync::Arc;

/// An own kernel of a recorder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OwnKernel {
    FillWords,
    CopyWords,
    CopySmall,
    Gate,
    GateGroups,
    #[cfg(native)]
    LimitGroups,
}

impl OwnKernel {
    fn source(self) -> (&'static str, &'static str) {
        match self {
            OwnKernel::FillWords => ("fill_words", include_str!("fill_words.wgsl")),
            OwnKernel::CopyWords => {
                ("copy_words", concat!(include_str!("copy_units.wgsl"), include_str!("copy_words.wgsl")))
            }
            OwnKernel::CopySmall => {
                ("copy_small", concat!(include_str!("copy_units.wgsl"), include_str!("copy_small.wgsl")))
            }
            OwnKernel::Gate => ("gate", include_str!("gate.wgsl")),
            OwnKernel::GateGroups => ("gate_groups", include_str!("gate_groups.wgsl")),
            #[cfg(native)]
            OwnKernel::LimitGroups => ("limit_groups", include_str!("hal/limit_groups.wgsl")),
        }
    }
}

/// The own kernels of one recorder, each compiled at its first use.
pub(crate) struct OwnKernels<P>([Option<Arc<P>>; 6]);

impl<P> Default for OwnKernels<P> {
    fn default() -> Self {
        Self([const { None }; 6])
    }
}

impl<P> OwnKernels<P> {
    /// Returns a kernel, compiled by `compile` if this is its first use.
    ///
    /// # Errors
    /// Returns the error of `compile`.
    pub(crate) fn get(
        &mut self,
        kernel: OwnKernel,
        compile: impl FnOnce(&Recipe<'_>) -> Result<P>,
    ) -> Result<Arc<P>> {
        let place = &mut self.0[kernel as usize];
        if let Some(made) = place {
            return Ok(made.clone());
        }
        let (entry, text) = kernel.source();
        let made = Arc::new(Recipe::own(entry, text, compile)?);
        Ok(place.insert(made).clone())
    }
}

/// A range of a block that an own kernel binds.
pub(crate) struct OwnRange<'e> {
    pub(crate) block: &'e Arc<Block>,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// `true` if the kernel writes to the range.
    pub(crate) write: bool,
}

impl<'e> OwnRange<'e> {
    pub(crate) fn bound(&self) -> BoundRange<'e> {
        BoundRange { block: self.block, offset: self.offset, size: self.size }
    }
}

/// A dispatch of an own kernel.
pub(crate) struct OwnDispatch<'a, 'e> {
    pub(crate) kernel: OwnKernel,
    /// Parameters, in whole words.
    pub(crate) params: &'a [u32],
    pub(crate) ranges: &'a [OwnRange<'e>],
    pub(crate) groups: OwnGroups<'e>,
}

/// Number of workgroups of a dispatch of an own kernel.
#[derive(Clone, Copy)]
pub(crate) enum OwnGroups<'e> {
    /// Workgroups along the first dimension. The other dimensions have one.
    Fixed(u32),
    /// The device reads the three counts from this block, starting at this byte.
    Indirect(&'e Arc<Block>, u64),
}

/// Records the commands of fills and of copies of regions.
pub(crate) trait OwnCommands<'e> {
    fn caps(&self) -> &'e Caps;

    /// Sets a range to zero. The range covers whole words.
    fn clear(&mut self, block: &'e Arc<Block>, range: Range<u64>);

    /// Copies the rows one by one.
    fn copy_rows(&mut self, copy: &'e RegionCopy);

    /// Records a dispatch of an own kernel.
    ///
    /// # Errors
    /// Returns `Compile` at the first use of the kernel, or `OutOfMemory`.
    fn dispatch_own(&mut self, dispatch: &OwnDispatch<'_, 'e>) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_own_kernel_is_valid_and_compiles_once() {
        let (mut kernels, mut compiled) = (OwnKernels::<Option<u32>>::default(), 0);
        for (kernel, params) in [
            (OwnKernel::FillWords, 32),
            (OwnKernel::CopyWords, 64),
            (OwnKernel::CopySmall, 64),
            (OwnKernel::Gate, 48),
            (OwnKernel::GateGroups, 16),
        ] {
            for _ in 0..2 {
                let made = kernels.get(kernel, |recipe| {
                    compiled += 1;
                    Ok(recipe.interface().params.as_ref().map(|params| params.size))
                });
                assert_eq!(*made.unwrap(), Some(params), "{kernel:?}");
            }
        }
        assert_eq!(compiled, 5);
    }
}

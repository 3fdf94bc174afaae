//! A kernel launch as a plain command.

use super::{Span, Touch};
use crate::kernel::KernelInner;
use crate::memory::Block;
use fencepost_kernels::{Access, ParamsBlock};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// A kernel launch, checked: nothing in it can fail for a user's reason any more.
pub(crate) struct Launch {
    pub(crate) kernel: Arc<KernelInner>,
    pub(crate) groups: [u32; 3],
    /// Where the numbers of groups are read from instead, three u32 on the device.
    pub(crate) indirect: Option<Span>,
    /// One for each binding of the kernel's interface, in its order.
    pub(crate) bindings: SmallVec<[Bound; 4]>,
    /// The packed `params`, empty if the kernel has none.
    pub(crate) params: ParamsBlock,
}

/// An argument of a launch.
pub(crate) struct Bound {
    /// Which binding of the interface.
    pub(crate) at: u32,
    pub(crate) block: Arc<Block>,
    pub(crate) offset: u64,
    /// Bytes bound, rounded out to 4.
    pub(crate) size: u64,
    /// What the entry point does to it; `None`: nothing.
    pub(crate) used: Option<Access>,
}

impl Launch {
    /// Whether there is nothing to run.
    pub(crate) fn is_empty(&self) -> bool {
        self.indirect.is_none() && self.groups == [0; 3]
    }
}

impl Bound {
    pub(crate) fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.size
    }

    pub(super) fn touch(&self) -> Option<Touch<'_>> {
        let write = self.used?.writes();
        Some(Touch { block: &self.block, range: self.range(), write })
    }
}

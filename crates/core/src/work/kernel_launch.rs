//! A kernel launch as a plain command.

use crate::memory::block::Block;
use crate::work::compiled_kernel::KernelInner;
use crate::work::span::{Span, Touch};
use fencepost_kernels::{Access, ParamsBlock};
use fencepost_sync::prim::{Mutex, lock};
use std::ops::Range;
use std::sync::Arc;

/// Boxes kept for later launches, at most: those of four full batches.
const MOST: usize = 16384;

/// A kernel launch, checked: nothing in it can fail for a user's reason any more.
#[derive(Default)]
pub(crate) struct Launch {
    /// There until the launch is over.
    kernel: Option<Arc<KernelInner>>,
    pub(crate) groups: [u32; 3],
    /// Where the numbers of groups are read from instead, three u32 on the device.
    pub(crate) indirect: Option<Span>,
    /// One for each binding of the kernel's interface, in its order.
    pub(crate) bindings: Vec<BoundArray>,
    /// The packed `params`, empty if the kernel has none.
    pub(crate) params: ParamsBlock,
}

/// An argument of a launch.
pub(crate) struct BoundArray {
    /// Which binding of the interface.
    pub(crate) at: u32,
    pub(crate) block: Arc<Block>,
    pub(crate) offset: u64,
    /// Bytes bound, rounded out to 4.
    pub(crate) size: u64,
    /// What the entry point does to it; `None`: nothing.
    pub(crate) used: Option<Access>,
}

/// Boxes of launches that are over, for those to come.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "the boxes are what is kept")]
pub(crate) struct LaunchPool(Mutex<Vec<Box<Launch>>>);

impl LaunchPool {
    /// A launch without arguments.
    #[inline]
    pub(crate) fn launch(&self, kernel: &Arc<KernelInner>, params_size: u32) -> Box<Launch> {
        let used = lock(&self.0).pop();
        let mut launch = used.unwrap_or_default();
        launch.kernel = Some(kernel.clone());
        launch.params.reset(params_size);
        launch
    }

    /// Takes the launches of a batch that is over.
    pub(crate) fn take_back(&self, launches: impl ExactSizeIterator<Item = Option<Box<Launch>>>) {
        let mut over = Vec::with_capacity(launches.len());
        for mut launch in launches.flatten() {
            launch.clear();
            over.push(launch);
        }
        let mut boxes = lock(&self.0);
        over.truncate(MOST.saturating_sub(boxes.len()));
        boxes.append(&mut over);
    }
}

impl Launch {
    /// # Panics
    /// If the launch is over: a bug.
    #[inline]
    pub(crate) fn kernel(&self) -> &Arc<KernelInner> {
        self.kernel.as_ref().expect("bug: a launch that is over")
    }

    /// Whether it differs from another in nothing but its values and its arrays.
    #[inline]
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let kernel = |launch: &Self| launch.kernel.as_ref().map(Arc::as_ptr);
        kernel(self) == kernel(other)
            && self.groups == other.groups
            && self.indirect.is_some() == other.indirect.is_some()
            && self.bindings.len() == other.bindings.len()
            && self.bindings.iter().zip(&other.bindings).all(|(own, other)| own.size == other.size)
    }

    /// The number of its kernel in its context.
    #[inline]
    pub(crate) fn kernel_number(&self) -> u32 {
        self.kernel.as_ref().map_or(u32::MAX, |kernel| kernel.id.0)
    }

    /// What its bindings, and the numbers of groups, touch.
    #[inline]
    pub(crate) fn touches(&self) -> impl Iterator<Item = Touch<'_>> {
        touches(&self.bindings, [self.indirect.as_ref(), None])
    }

    /// Lets go of everything.
    fn clear(&mut self) {
        (self.kernel, self.indirect) = (None, None);
        self.bindings.clear();
    }

    /// Whether there is nothing to run.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.indirect.is_none() && self.groups == [0; 3]
    }
}

/// What bindings touch, and what is read and written besides. One loop over both, for the sake of launches: what is
/// done with a touch is compiled into it.
#[inline]
pub(crate) fn touches<'a>(
    bound: &'a [BoundArray],
    spans: [Option<&'a Span>; 2],
) -> impl Iterator<Item = Touch<'a>> {
    let others = if spans.iter().any(Option::is_some) { spans.len() } else { 0 };
    (0..bound.len() + others).filter_map(move |at| match bound.get(at) {
        Some(bound) => bound.touch(),
        None => spans[at - bound.len()].map(|span| of_span(span, at > bound.len())),
    })
}

fn of_span(span: &Span, write: bool) -> Touch<'_> {
    Touch { block: &span.block, range: span.range(), write }
}

impl BoundArray {
    #[inline]
    pub(crate) fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.size
    }

    #[inline]
    pub(crate) fn touch(&self) -> Option<Touch<'_>> {
        let write = self.used?.writes();
        Some(Touch { block: &self.block, range: self.range(), write })
    }
}

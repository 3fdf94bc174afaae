//! A kernel launch as a plain command.

use crate::error::{Kind, Result};
use crate::memory::block::Block;
use crate::memory::heap::overlap;
use crate::work::compiled_kernel::{KernelInner, Pipeline};
use crate::work::span::{Span, Touch};
use fencepost_kernels::{Access, ParamsBlock};
use fencepost_sync::prim::{Mutex, lock};
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

/// Most boxes kept for later launches: the launches of four full batches.
const MOST_KEPT_LAUNCHES: usize = 16384;

/// A checked kernel launch, which can no longer fail because of its arguments.
#[derive(Default)]
pub(crate) struct Launch {
    /// `Some` until the launch is complete.
    kernel: Option<Arc<KernelInner>>,
    pub(crate) groups: [u32; 3],
    /// Device memory of the group counts, three `u32`, for an indirect launch.
    pub(crate) indirect: Option<Span>,
    /// One argument for each binding of the kernel's interface, in the order of the interface.
    pub(crate) bindings: Vec<BoundArray>,
    /// Packed `params`; empty if the kernel has none.
    pub(crate) params: ParamsBlock,
    /// Line of the program's call: the launch, or the load of its graph.
    #[cfg_attr(not(cpu_code), allow(dead_code, reason = "only the checks of kernels name the line"))]
    pub(crate) at: Option<&'static Location<'static>>,
}

/// An array argument of a launch.
#[derive(Clone)]
pub(crate) struct BoundArray {
    /// Index of the binding in the interface.
    pub(crate) at: u32,
    pub(crate) block: Arc<Block>,
    pub(crate) offset: u64,
    /// Number of bytes bound, rounded up to a multiple of 4.
    pub(crate) size: u64,
    /// Access of the entry point, or `None` if it does not use the binding.
    pub(crate) used: Option<Access>,
}

/// Boxes of completed launches, kept for later launches. This is not a
/// [`FreeList`](crate::memory::free_list::FreeList), because a whole batch of boxes returns under one lock.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "the pool keeps the boxes themselves")]
pub(crate) struct LaunchPool(Mutex<Vec<Box<Launch>>>);

impl LaunchPool {
    /// Returns a launch without arguments.
    #[inline]
    pub(crate) fn launch(&self, kernel: &Arc<KernelInner>, params_size: u32) -> Box<Launch> {
        let used = lock(&self.0).pop();
        let mut launch = used.unwrap_or_default();
        launch.kernel = Some(kernel.clone());
        launch.params.reset(params_size);
        launch
    }

    /// Takes the launches of a completed batch.
    pub(crate) fn take_back(&self, launches: impl ExactSizeIterator<Item = Option<Box<Launch>>>) {
        let mut over = Vec::with_capacity(launches.len());
        for mut launch in launches.flatten() {
            launch.clear();
            over.push(launch);
        }
        let mut boxes = lock(&self.0);
        over.truncate(MOST_KEPT_LAUNCHES.saturating_sub(boxes.len()));
        boxes.append(&mut over);
    }
}

impl Launch {
    /// Returns the kernel of the launch.
    ///
    /// # Panics
    /// Panics if the launch is complete, which is a bug.
    #[inline]
    pub(crate) fn kernel(&self) -> &Arc<KernelInner> {
        self.kernel.as_ref().expect("bug: the launch is complete")
    }

    /// Returns the memory of the messages of the launch, if its kernel prints or asserts.
    #[cfg(cpu)]
    pub(crate) fn message_buffer(&self) -> Option<&Arc<Block>> {
        self.kernel().interface.messages.as_ref()?;
        self.bindings.last().map(|bound| &bound.block)
    }

    /// Replaces the kernel by another form of the same kernel.
    pub(crate) fn set_kernel(&mut self, kernel: Arc<KernelInner>) {
        debug_assert!(self.kernel().name == kernel.name, "bug: a launch changes its kernel");
        self.kernel = Some(kernel);
    }

    /// Returns the pipeline, which the recorder of the launch compiled.
    ///
    /// # Panics
    /// Panics if the kernel was compiled for another recorder, or the launch is complete, which is a bug.
    #[inline]
    pub(crate) fn pipeline<P: 'static>(&self) -> &P {
        let found = match self.kernel().pipeline.compiled() {
            Pipeline::Device(pipeline) => pipeline.downcast_ref(),
            _ => None,
        };
        found.expect("bug: a kernel of another recorder")
    }

    /// Returns `true` if the launches differ only in their values and their arrays, and the arrays have equal sizes.
    #[inline]
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let kernel = |launch: &Self| launch.kernel.as_ref().map(Arc::as_ptr);
        kernel(self) == kernel(other)
            && self.groups == other.groups
            && self.indirect.is_some() == other.indirect.is_some()
            && self.bindings.len() == other.bindings.len()
            && self.bindings.iter().zip(&other.bindings).all(|(own, other)| own.size == other.size)
    }

    /// Returns the number of the kernel in its context.
    #[inline]
    pub(crate) fn kernel_number(&self) -> u32 {
        self.kernel.as_ref().map_or(u32::MAX, |kernel| kernel.id.0)
    }

    /// Returns the accesses of the bindings and of the group counts.
    #[inline]
    pub(crate) fn touches(&self) -> impl Iterator<Item = Touch<'_>> {
        touches(&self.bindings, [self.indirect.as_ref(), None])
    }

    /// Returns a copy of the launch.
    pub(crate) fn duplicate(&self) -> Self {
        Self {
            kernel: self.kernel.clone(),
            groups: self.groups,
            indirect: self.indirect.clone(),
            bindings: self.bindings.clone(),
            params: self.params.clone(),
            at: self.at,
        }
    }

    /// Drops the references to the kernel and the blocks.
    fn clear(&mut self) {
        self.kernel = None;
        self.indirect = None;
        self.bindings.clear();
    }

    /// Returns `true` if the launch has no workgroups.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.indirect.is_none() && self.groups == [0; 3]
    }
}

/// Returns the accesses of bindings, then those of `spans`: the first span is read and the second is written. One
/// iterator yields both kinds, so that the compiler inlines the caller's code into the loop over a launch.
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

/// Checks that two arguments share bytes only if the shader declares both as read-only.
#[inline]
pub(crate) fn check_aliases(kernel: &KernelInner, bindings: &[BoundArray]) -> Result<()> {
    for (j, b) in bindings.iter().enumerate() {
        for (i, a) in bindings[..j].iter().enumerate() {
            if Arc::ptr_eq(&a.block, &b.block) && overlap(&a.range(), &b.range()) {
                check_alias(kernel, &a.block, i, j)?;
            }
        }
    }
    Ok(())
}

#[cold]
fn check_alias(kernel: &KernelInner, block: &Block, i: usize, j: usize) -> Result<()> {
    let bindings = &kernel.interface.bindings;
    if !bindings[i].declared.writes() && !bindings[j].declared.writes() {
        return Ok(());
    }
    let (first, second) = (bindings[i].name.clone(), bindings[j].name.clone());
    let array = block.order().label.to_string();
    let (subject, node) = (kernel.subject(), String::new());
    Err(Kind::Aliased { subject, node, first, second, array }.into())
}

fn of_span(span: &Span, write: bool) -> Touch<'_> {
    Touch { block: &span.block, range: span.range(), write }
}

impl BoundArray {
    /// Returns `true` for an empty array that has no memory yet. It shares no byte with another binding.
    #[inline]
    pub(crate) fn is_nothing(&self) -> bool {
        self.size == 0
    }

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

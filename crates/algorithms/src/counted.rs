//! Kernels whose number of elements is a parameter or is stored on the device.

use crate::grid::folded;
use crate::launches;
use crate::trusted;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Element, Grid, Kernel, KernelArgs, Result, ShaderSource};
use fencepost_kernels::{ArgField, ArgKind, Binder, PART_COUNT};

/// Arguments of a kernel, followed by the array with the number of elements.
pub struct Counted<'a, A> {
    args: A,
    count: &'a DeviceArray<u32>,
}

impl<A: KernelArgs> KernelArgs for Counted<'_, A> {
    type Family = Counted<'static, A::Family>;

    fn label() -> &'static str {
        A::label()
    }

    fn source() -> fencepost_kernels::Result<ShaderSource> {
        A::source().map(ShaderSource::of_part)
    }

    fn entry() -> &'static str {
        A::entry()
    }

    fn fields() -> Vec<ArgField> {
        let count = ArgField { name: PART_COUNT, kind: ArgKind::Read(u32::DTYPE) };
        A::fields().into_iter().chain([count]).collect()
    }

    fn bind<B: Binder + ?Sized>(&self, binder: &mut B) {
        self.args.bind(binder);
        binder.buffer(self.count);
    }
}

/// The kernel for whole arrays, or the kernel for first elements and the array with their number.
pub enum SizedKernel<F: KernelArgs + 'static> {
    Whole(Kernel<F>),
    Part { kernel: Kernel<Counted<'static, F>>, count: Box<DeviceArray<u32>> },
}

impl<F: KernelArgs<Family = F>> SizedKernel<F> {
    /// Compiles the kernel for first elements if there is a count, else the kernel for whole arrays.
    pub(crate) fn compiled(
        queue: &VerbQueue<'_>,
        overrides: &[(&str, f64)],
        count: Option<&DeviceArray<u32>>,
    ) -> Result<Self> {
        let Some(count) = count.cloned() else {
            return trusted::kernel_with::<F>(queue, overrides).map(Self::Whole);
        };
        let kernel = trusted::part_kernel_with::<Counted<'_, F>>(queue, overrides)?;
        Ok(Self::Part { kernel, count: Box::new(count) })
    }

    /// Enqueues a launch with one invocation for each element.
    #[track_caller]
    pub(crate) fn launch_each(
        &self,
        queue: &VerbQueue<'_>,
        elements: usize,
        args: impl KernelArgs<Family = F>,
    ) -> Result<()> {
        let grid = Grid::threads([elements]);
        match self {
            Self::Whole(kernel) => queue.launch(kernel, grid, args),
            Self::Part { kernel, count } => queue.launch(kernel, grid, Counted { args, count }),
        }
    }

    /// Enqueues a launch with at least this many workgroups, in one or two dimensions.
    #[track_caller]
    pub(crate) fn launch_folded(
        &self,
        queue: &VerbQueue<'_>,
        groups: usize,
        args: impl KernelArgs<Family = F>,
    ) -> Result<()> {
        let grid = Grid::groups(folded(groups));
        match self {
            Self::Whole(kernel) => queue.launch(kernel, grid, args),
            Self::Part { kernel, count } => queue.launch(kernel, grid, Counted { args, count }),
        }
    }

    /// Enqueues or checks a launch as [`launches::launch`] does.
    #[track_caller]
    pub(crate) fn launch(
        &self,
        queue: &VerbQueue<'_>,
        groups: usize,
        args: impl KernelArgs<Family = F>,
    ) -> Result<()> {
        match self {
            Self::Whole(kernel) => launches::launch(queue, kernel, groups, args),
            Self::Part { kernel, count } => launches::launch(queue, kernel, groups, Counted { args, count }),
        }
    }
}

/// Returns the source of the kernel for first elements if there is a count, else of the kernel for whole arrays.
pub(crate) fn sized(source: ShaderSource, count: Option<&DeviceArray<u32>>) -> ShaderSource {
    if count.is_some() { source.of_part() } else { source }
}

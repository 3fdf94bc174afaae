//! Launching kernels.

use crate::command::grid::{Grid, Size, groups};
use crate::command::{Bound, Launch, Span, What, Work};
use crate::error::{Error, Kind, Result};
use crate::event::same_context;
use crate::kernel::{DynKernel, Kernel, KernelInner};
use crate::lane::Caps;
use crate::memory::{ArrayRef, overlap};
use crate::ordering::Admission;
use crate::queue::CommandQueue;
use fencepost_kernels::{Binder, BufferArg, KernelArgs, NamedArg, ParamsBlock, Plan, Slot, check_dyn};
use smallvec::SmallVec;
use std::panic::Location;
use std::sync::Arc;

impl CommandQueue {
    /// *Enqueues* a launch of `kernel` over `grid`.
    ///
    /// References in `args` are buffers, values are parameters. An empty grid is no work. Bytes that the kernel's
    /// entry point does not touch need no order. `#[derive(KernelArgs)]` makes the argument struct; the crate
    /// `fencepost` has an example.
    ///
    /// # Errors
    /// [`Kind::GridTooLarge`]; [`Kind::Aliased`] if two arguments overlap and one of them is written;
    /// [`Kind::Alignment`] for a slice that starts between the adapter's binding boundaries;
    /// [`Kind::BindingTooSmall`], [`Kind::BindingTooLarge`]; [`Kind::Mapped`]; [`Kind::ForeignContext`];
    /// [`Kind::Hazard`] under `Checked`; the queue's own error.
    #[track_caller]
    pub fn launch<A: KernelArgs>(&self, kernel: &Kernel<A::Family>, grid: Grid, args: A) -> Result<()> {
        same_context(self.owner(), &kernel.owner, || format!("kernel `{}`", kernel.inner.name))?;
        let mut gather = Gather::new(self, &kernel.inner, &kernel.plan);
        args.bind(&mut gather);
        self.enqueue_launch(gather, grid, Location::caller())
    }

    /// *Enqueues* a launch of a kernel made from a text; arguments are checked here, by name or by position.
    ///
    /// # Errors
    /// [`Kind::Kernel`] showing both sides if an argument does not fit; as [`launch`](Self::launch).
    ///
    /// # Example
    /// ```
    /// use fencepost_core::{Grid, args};
    /// # let (ctx, queue) = fencepost_core::doctest();
    /// let text = fencepost_core::builtin_shader("saxpy.wgsl").unwrap();
    /// # ctx.host_kernel("saxpy", fencepost_core::reference("saxpy").unwrap())?;
    /// let saxpy = ctx.kernel_from(text, "saxpy")?;
    /// let (x, mut y) = (queue.array(&[1.0_f32, 2.0])?, ctx.zeros::<f32, 1>([2])?);
    /// queue.launch_dyn(&saxpy, Grid::threads([2]), args![a = 2.0_f32, x = &x, y = &mut y])?;
    /// assert_eq!(queue.read(&y).wait()?, [2.0, 4.0]);
    /// # Ok::<(), fencepost_core::Error>(())
    /// ```
    #[track_caller]
    pub fn launch_dyn<'a>(&self, kernel: &DynKernel, grid: Grid, args: impl AsRef<[NamedArg<'a>]>) -> Result<()> {
        same_context(self.owner(), &kernel.owner, || format!("kernel `{}`", kernel.inner.name))?;
        let plan = check_dyn(&kernel.inner.interface, args.as_ref())?;
        let mut gather = Gather::new(self, &kernel.inner, &plan);
        for (_, arg) in args.as_ref() {
            arg.bind(&mut gather);
        }
        self.enqueue_launch(gather, grid, Location::caller())
    }

    fn enqueue_launch(&self, gather: Gather<'_>, grid: Grid, at: &'static Location<'static>) -> Result<()> {
        let slot = self.slot()?;
        let what = What::Launch(gather.kernel.id);
        let Some(launch) = gather.finish(&grid)? else { return Ok(()) };
        self.owner().engine().enqueue(Admission { slot, what, at }, Work::Launch(launch)).map(|_| ())
    }
}

/// Puts the arguments of a launch where the kernel's plan says, and checks them on the way.
struct Gather<'a> {
    queue: &'a CommandQueue,
    kernel: &'a Arc<KernelInner>,
    plan: &'a Plan,
    next: usize,
    bindings: SmallVec<[Option<Bound>; 4]>,
    params: ParamsBlock,
    error: Option<Error>,
}

impl<'a> Gather<'a> {
    fn new(queue: &'a CommandQueue, kernel: &'a Arc<KernelInner>, plan: &'a Plan) -> Self {
        let bindings = kernel.interface.bindings.iter().map(|_| None).collect();
        let params = ParamsBlock::with_size(plan.params_size());
        Self { queue, kernel, plan, next: 0, bindings, params, error: None }
    }

    fn slot(&mut self) -> Option<Slot> {
        let slot = self.plan.slots().get(self.next).copied();
        self.next += 1;
        slot
    }

    fn bind(&mut self, at: usize, buffer: &dyn BufferArg) -> Result<()> {
        let array = buffer.handle().downcast_ref::<ArrayRef>().ok_or_else(|| {
            Kind::ForeignContext { object: format!("a buffer argument of kernel `{}`", self.kernel.name) }
        })?;
        same_context(self.queue.owner(), &array.storage.owner, || format!("array `{}`", array.storage.label))?;
        self.bindings[at] = Some(bound(self.kernel, at, array, self.queue.owner().device().caps())?);
        Ok(())
    }

    fn finish(self, grid: &Grid) -> Result<Option<Launch>> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let limit = self.queue.owner().device().caps().max_groups;
        let groups = groups(&grid.0, self.kernel.interface.workgroup, limit)?;
        let bindings: SmallVec<[Bound; 4]> = self.bindings.into_iter().flatten().collect();
        check_aliases(self.kernel, &bindings)?;
        let indirect = match &grid.0 {
            Size::Indirect(array, at) => Some(indirect(self.queue, array, *at)?),
            Size::Threads(_) | Size::Groups(_) if groups == [0; 3] => return Ok(None),
            Size::Threads(_) | Size::Groups(_) => None,
        };
        let (kernel, params) = (self.kernel.clone(), self.params);
        Ok(Some(Launch { kernel, groups, indirect, bindings, params }))
    }
}

impl Binder for Gather<'_> {
    fn buffer(&mut self, buffer: &dyn BufferArg) {
        if let Some(Slot::Buffer(at)) = self.slot()
            && self.error.is_none()
        {
            self.error = self.bind(at, buffer).err();
        }
    }

    fn value(&mut self, bytes: &[u8]) {
        if let Some(slot) = self.slot() {
            self.params.set(slot, bytes);
        }
    }
}

/// An array as a kernel's binding, checked against the shader's type and the device's limits.
fn bound(kernel: &KernelInner, at: usize, array: &ArrayRef, caps: &Caps) -> Result<Bound> {
    let binding = &kernel.interface.bindings[at];
    if !array.offset.is_multiple_of(caps.binding_alignment) {
        let (array, offset) = (array.label(), array.offset);
        return Err(Kind::Alignment { array, offset, needed: caps.binding_alignment }.into());
    }
    // An empty array is bound as one element, which the kernel must not count on.
    let size = array.bytes().next_multiple_of(4).max(if array.len == 0 { u64::from(binding.stride.max(4)) } else { 0 });
    let names = || (kernel.name.to_string(), binding.name.clone());
    if size < binding.min_size {
        let (kernel, arg) = names();
        return Err(Kind::BindingTooSmall { kernel, arg, found: size, needed: binding.min_size }.into());
    }
    if size > caps.max_binding {
        let (kernel, arg) = names();
        return Err(Kind::BindingTooLarge { kernel, arg, found: size, limit: caps.max_binding }.into());
    }
    Ok(Bound { block: array.storage.block().clone(), offset: array.offset, size, used: binding.used })
}

/// Arguments may share bytes only if all of them are declared to be read.
fn check_aliases(kernel: &KernelInner, bindings: &[Bound]) -> Result<()> {
    for (j, b) in bindings.iter().enumerate() {
        for (i, a) in bindings[..j].iter().enumerate() {
            let declared = |at: usize| kernel.interface.bindings[at].declared.writes();
            if a.block.id == b.block.id && (declared(i) || declared(j)) && overlap(&a.range(), &b.range()) {
                let name = |at: usize| kernel.interface.bindings[at].name.clone();
                let (first, second) = (name(i), name(j));
                let array = a.block.order().label.to_string();
                return Err(Kind::Aliased { kernel: kernel.name.to_string(), first, second, array }.into());
            }
        }
    }
    Ok(())
}

/// The three numbers of groups, in device memory.
fn indirect(queue: &CommandQueue, array: &ArrayRef, at: usize) -> Result<Span> {
    same_context(queue.owner(), &array.storage.owner, || format!("array `{}`", array.storage.label))?;
    let end = at.checked_add(3).filter(|&end| end <= array.len);
    let range = at..at.saturating_add(3);
    let end = end.ok_or_else(|| Kind::Range { array: array.label(), range, len: array.len })?;
    array.slice(at..end)?.words()
}

//! Launches of kernels that return a value.

use crate::api::grid::Grid;
use crate::api::kernel::Kernel;
use crate::api::queue::CommandQueue;
use crate::api::queue::launch::SameKernel;
use crate::api::queue::launch_all::{arguments, check_count, works};
use crate::arrays::device_array::DeviceArray;
use crate::arrays::read::Reading;
use crate::error::Result;
use crate::error::site::CommandKind;
use crate::memory::read_slot::ReadSlot;
use crate::runtime::event::same_context;
use crate::runtime::pending::{Pending, WakerRegistration, then};
use crate::runtime::wait_mode::late;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::wait_target::Caller;
use crate::work::span::Pattern;
use crate::work::step::{KindsOfWork, Work};
use fencepost_kernels::{Binder, Element, EntryPoints, KernelArgs, Returns};
use std::iter;

/// Remedy for a call in a capture.
const CALL_IN_CAPTURE: &str =
    "a capture executes nothing: launch a kernel that writes to an array, and use `Capture::read_as`";

impl CommandQueue {
    /// *Flushes* a launch of a kernel that returns a value; the result is the value.
    ///
    /// `#[kernel(..., returns(total: f32))]` names the variable of the shader that holds the value. Its memory comes
    /// from the pool, in the order of the queue, and is 0 before the launch. The value is there when the launch is
    /// complete, and no later command delays it. With an empty grid, the value is 0.
    ///
    /// # Errors
    /// Returns the errors of [`launch`](Self::launch), and [`Kind::OutOfMemory`](crate::Kind::OutOfMemory). The
    /// [`Pending`] returns the error of the launch, or of the work before it.
    ///
    /// # Example
    /// ```
    /// use fencepost::AdapterChoice;
    /// use fencepost::prelude::*;
    ///
    /// #[derive(KernelArgs)]
    /// #[kernel(
    ///     wgsl = "
    ///         @group(0) @binding(0) var<storage, read> x: array<u32>;
    ///         @group(0) @binding(1) var<storage, read_write> total: atomic<u32>;
    ///         @compute @workgroup_size(64) fn add_up(@builtin(global_invocation_id) id: vec3<u32>) {
    ///             if id.x < arrayLength(&x) { atomicAdd(&total, x[id.x]); }
    ///         }",
    ///     returns(total: u32)
    /// )]
    /// struct AddUp<'a> {
    ///     x: &'a DeviceArray<u32>,
    /// }
    /// let cpu = ContextOptions { adapter: AdapterChoice::Cpu, ..ContextOptions::default() };
    /// let ctx = Context::with_options(cpu).wait()?;
    /// let (queue, add_up) = (ctx.queue("main"), ctx.kernel::<AddUp>()?);
    /// let x = ctx.array(&[1, 2, 3])?;
    /// let total: u32 = queue.call(&add_up, Grid::threads([3]), AddUp { x: &x })?.wait()?;
    /// assert_eq!(total, 6);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    /// A launch without the value is an error of the compiler:
    /// ```compile_fail,E0080
    /// use fencepost::prelude::*;
    ///
    /// #[derive(KernelArgs)]
    /// #[kernel(
    ///     wgsl = "
    ///         @group(0) @binding(0) var<storage, read_write> answer: u32;
    ///         @compute @workgroup_size(1) fn find() { answer = 42u; }",
    ///     returns(answer: u32)
    /// )]
    /// struct Find;
    /// # let (ctx, queue) = fencepost::doctest();
    /// queue.launch(&ctx.kernel::<Find>()?, Grid::groups([1]), Find)?;
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn call<F: Returns>(
        &self,
        kernel: &Kernel<F>,
        grid: Grid<'_>,
        args: impl KernelArgs<Family: SameKernel<F>>,
    ) -> Result<Pending<F::Value>> {
        const { assert!(F::NEXT.is_empty(), "`call_all` launches several entry points, `call` does not") };
        self.not_captured("call", CALL_IN_CAPTURE)?;
        self.call_over(kernel, &[grid], &args)
    }

    /// *Flushes* launches of all entry points of a kernel that returns a value, as [`launch_all`](Self::launch_all)
    /// runs them; the result is the value, as for [`call`](Self::call).
    ///
    /// # Errors
    /// Returns the errors of [`launch_all`](Self::launch_all) and of [`call`](Self::call).
    ///
    /// # Example
    /// ```
    /// use fencepost::AdapterChoice;
    /// use fencepost::prelude::*;
    ///
    /// #[derive(KernelArgs)]
    /// #[kernel(
    ///     wgsl = "
    ///         @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    ///         @group(0) @binding(1) var<storage, read_write> total: u32;
    ///         @compute @workgroup_size(64) fn square(@builtin(global_invocation_id) id: vec3<u32>) {
    ///             if id.x < arrayLength(&x) { x[id.x] *= x[id.x]; }
    ///         }
    ///         @compute @workgroup_size(1) fn add_up() {
    ///             for (var i = 0u; i < arrayLength(&x); i++) { total += x[i]; }
    ///         }",
    ///     entries("square", "add_up"),
    ///     returns(total: u32)
    /// )]
    /// struct SumOfSquares<'a> {
    ///     x: &'a mut DeviceArray<u32>,
    /// }
    /// let cpu = ContextOptions { adapter: AdapterChoice::Cpu, ..ContextOptions::default() };
    /// let ctx = Context::with_options(cpu).wait()?;
    /// let (queue, kernel) = (ctx.queue("main"), ctx.kernel::<SumOfSquares>()?);
    /// let mut x = ctx.array(&[1, 2, 3])?;
    /// let grids = [Grid::threads([3]), Grid::groups([1])];
    /// assert_eq!(queue.call_all(&kernel, grids, SumOfSquares { x: &mut x })?.wait()?, 14);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn call_all<F: EntryPoints + Returns>(
        &self,
        kernel: &Kernel<F>,
        grids: F::Each<Grid<'_>>,
        args: impl KernelArgs<Family: SameKernel<F>>,
    ) -> Result<Pending<F::Value>> {
        const { check_count::<F>() };
        self.not_captured("call_all", CALL_IN_CAPTURE)?;
        self.call_over(kernel, grids.as_ref(), &args)
    }

    /// Calls a kernel, each of whose entry points has a grid.
    #[track_caller]
    fn call_over<F: Returns>(
        &self,
        kernel: &Kernel<F>,
        grids: &[Grid<'_>],
        args: &impl KernelArgs,
    ) -> Result<Pending<F::Value>> {
        same_context(self.owner(), &kernel.owner, || format!("kernel `{}`", kernel.inner.name))?;
        let maker = self.by(CommandKind::Launch(kernel.inner.id))?;
        let value = maker.memory::<F::Value, 1>([1], [1])?;
        let mut gathers = arguments(self, kernel, args);
        gathers.iter_mut().for_each(|gather| gather.buffer(&value));
        let mut launches = works(self, &mut gathers, grids, maker.by.at)?;
        let _nothing = self.bind_nothing_in(Some(maker.by), &mut launches)?;
        self.enqueue_call(maker.by, launches, &value)
    }

    /// Enqueues launches between a fill of the value and a read of it, and flushes the queue.
    fn enqueue_call<T: Element>(
        &self,
        by: Admission,
        launches: KindsOfWork,
        value: &DeviceArray<T>,
    ) -> Result<Pending<T>> {
        let (span, slot, engine) = (value.array.words()?, ReadSlot::new(), self.owner().engine());
        let fill = (CommandKind::Fill, Work::Fill { dst: span.clone(), pattern: Pattern::ZERO });
        let read = (CommandKind::Read, Work::Read { src: span.clone(), slot: slot.clone() });
        let works = iter::once(fill).chain(launches).chain([read]).collect();
        let (point, past) = engine.enqueue_call(by, works)?;
        let reading = Reading {
            registration: WakerRegistration::default(),
            engine: engine.clone(),
            keep: Some(self.owner().clone()),
            point,
            past,
            span,
            slot,
            len: 1,
            out: Vec::new(),
        };
        if let Err(error) = engine.flush(by.slot, Caller::Waits) {
            return Ok(Pending::ready(Err(error)));
        }
        Ok(then(late(reading), |elements: Vec<T>| Ok(elements[0])))
    }
}

//! Calls that launch several entry points, and calls of kernels that return a value.

use crate::api::grid::Grid;
use crate::api::kernel::Kernel;
use crate::api::queue::CommandQueue;
use crate::api::queue::launch::{LaunchArguments, SameKernel};
use crate::arrays::device_array::DeviceArray;
use crate::arrays::read::Reading;
use crate::error::{CommandKind, Result};
use crate::memory::read_slot::ReadSlot;
use crate::runtime::event::same_context;
use crate::runtime::pending::{Pending, WakerRegistration, late, then};
use crate::scheduler::ordering::Admission;
use crate::scheduler::wait::Caller;
use crate::work::step::{KindsOfWork, Pattern, Work};
use fencepost_kernels::{Binder, Element, EntryPoints, KernelArgs, Returns};
use std::iter;
use std::panic::Location;

impl CommandQueue {
    /// *Enqueues* launches of all entry points of `kernel`, in order, each over its own grid.
    ///
    /// `#[kernel(..., entries("count", "place"))]` lists the entry points. Each takes the arguments that it declares,
    /// and sees all writes of the entry points before it. All launches are enqueued, or none after an error, and no
    /// other command of the queue comes between them. An entry point with an empty grid does not run.
    ///
    /// # Errors
    /// Returns the errors of [`launch`](Self::launch). They name the entry point.
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
    ///         @group(0) @binding(1) var<storage, read_write> squares: array<u32>;
    ///         @group(0) @binding(2) var<storage, read_write> total: array<u32>;
    ///         @compute @workgroup_size(64) fn square(@builtin(global_invocation_id) id: vec3<u32>) {
    ///             if id.x < arrayLength(&x) { squares[id.x] = x[id.x] * x[id.x]; }
    ///         }
    ///         @compute @workgroup_size(1) fn add_up() {
    ///             for (var i = 0u; i < arrayLength(&squares); i++) { total[0] += squares[i]; }
    ///         }",
    ///     entries("square", "add_up")
    /// )]
    /// struct Squares<'a> {
    ///     x: &'a DeviceArray<u32>,
    ///     squares: &'a mut DeviceArray<u32>,
    ///     total: &'a mut DeviceArray<u32>,
    /// }
    /// let cpu = ContextOptions::default().adapter(AdapterChoice::Cpu);
    /// let ctx = Context::with_options(cpu).wait()?;
    /// let (queue, kernel) = (ctx.queue("main"), ctx.kernel::<Squares>()?);
    /// let x = ctx.array(&[1, 2, 3])?;
    /// let (mut squares, mut total) = (ctx.zeros([3])?, ctx.zeros([1])?);
    /// let args = Squares { x: &x, squares: &mut squares, total: &mut total };
    /// queue.launch_all(&kernel, [Grid::threads([3]), Grid::groups([1])], args)?;
    /// assert_eq!(queue.read(&total).wait()?, [14]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    /// A launch with one grid is a compile error:
    /// ```compile_fail,E0080
    /// use fencepost::prelude::*;
    ///
    /// #[derive(KernelArgs)]
    /// #[kernel(
    ///     wgsl = "
    ///         @compute @workgroup_size(1) fn first() {}
    ///         @compute @workgroup_size(1) fn second() {}",
    ///     entries("first", "second")
    /// )]
    /// struct Both;
    /// # let (ctx, queue) = fencepost::doctest();
    /// queue.launch(&ctx.kernel::<Both>()?, Grid::groups([1]), Both)?;
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn launch_all<F: EntryPoints>(
        &self,
        kernel: &Kernel<F>,
        grids: F::Each<Grid<'_>>,
        args: impl KernelArgs<Family: SameKernel<F>>,
    ) -> Result<()> {
        const {
            assert!(!F::RETURNS, "a kernel that returns a value has one entry point, and `call` launches it");
            check_count::<F>();
        }
        same_context(self.owner(), &kernel.owner, || format!("kernel `{}`", kernel.inner.name))?;
        let at = Location::caller();
        let mut gathers = arguments(self, kernel, &args);
        let works = works(self, &mut gathers, grids.as_ref(), at)?;
        self.enqueue_launches(works, at)
    }

    /// Enqueues launches together.
    #[track_caller]
    fn enqueue_launches(&self, mut works: KindsOfWork, at: &'static Location<'static>) -> Result<()> {
        let Some(&(what, _)) = works.first() else { return Ok(()) };
        let Some(captured) = self.captured_queue() else {
            let by = Admission { slot: self.slot()?, what, at };
            let _nothing = self.bind_nothing_in(Some(by), &mut works)?;
            return self.owner().engine().enqueue_launches(by, works);
        };
        captured.begin_call();
        let _nothing = self.bind_nothing_in(None, &mut works)?;
        for (what, work) in works {
            captured.push((what, at), work, None, None)?;
        }
        captured.begin_call(); // the call has several nodes: a later name must not apply to the last one only
        Ok(())
    }
}

/// Checks at compile time that a hand-written `EntryPoints` has a grid for each entry point.
const fn check_count<F: EntryPoints>() {
    let grids = size_of::<F::Each<u8>>();
    assert!(grids == F::NEXT.len() + 1, "`EntryPoints::Each` has an item for each entry point");
}

/// Binds the arguments to each entry point of a kernel.
fn arguments<'a, F: KernelArgs>(
    queue: &'a CommandQueue,
    kernel: &'a Kernel<F>,
    args: &impl KernelArgs,
) -> Vec<LaunchArguments<'a>> {
    let bound = kernel.entry_points().map(|(inner, plan)| {
        let mut gather = LaunchArguments::new(queue, inner, plan);
        args.bind(&mut gather);
        gather
    });
    bound.collect()
}

/// Checks the launches, each over its grid, and takes them.
fn works(
    queue: &CommandQueue,
    gathers: &mut [LaunchArguments<'_>],
    grids: &[Grid<'_>],
    at: &'static Location<'static>,
) -> Result<KindsOfWork> {
    let mut works = KindsOfWork::new();
    for (gather, grid) in gathers.iter_mut().zip(grids) {
        let what = CommandKind::Launch(gather.launch.kernel().id);
        match gather.take(grid, at) {
            Ok(launch) => works.push((what, Work::Launch(launch))),
            Err(error) if queue.captured_queue().is_some() => {
                return Err(queue.messages_of_several(gather, error));
            }
            Err(error) => {
                let by = Admission { slot: queue.slot()?, what, at };
                works.extend(queue.works_with_messages(gather, grid, by, error)?);
            }
        }
    }
    Ok(works)
}

/// Remedy for a call in a capture.
const CALL_IN_CAPTURE: &str =
    "a capture executes nothing: launch a kernel that writes to an array, and use `Capture::read_as`";
/// Remedy for a call in a body.
const CALL_IN_BODY: &str = "a body returns nothing to the host: launch a kernel that writes to an array, and read the array after the condition or the loop";

impl CommandQueue {
    /// *Enqueues* and *flushes* a launch of a kernel that returns a value; the result is that value.
    ///
    /// `#[kernel(..., returns(total: f32))]` names the shader variable that holds the value. The variable is 0 before
    /// the launch. The result is ready as soon as the launch is complete; later commands do not delay it. With an empty
    /// grid, the value is 0.
    ///
    /// # Errors
    /// Returns the errors of [`launch`](Self::launch), and [`ErrorDetail::OutOfMemory`](crate::ErrorDetail::OutOfMemory). The
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
    /// let cpu = ContextOptions::default().adapter(AdapterChoice::Cpu);
    /// let ctx = Context::with_options(cpu).wait()?;
    /// let (queue, add_up) = (ctx.queue("main"), ctx.kernel::<AddUp>()?);
    /// let x = ctx.array(&[1, 2, 3])?;
    /// let total: u32 = queue.call(&add_up, Grid::threads([3]), AddUp { x: &x })?.wait()?;
    /// assert_eq!(total, 6);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    /// A launch without taking the value is a compile error:
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
        const { assert!(F::NEXT.is_empty(), "`launch_all` launches several entry points, `call` does not") };
        self.not_captured("call", if self.is_in_body() { CALL_IN_BODY } else { CALL_IN_CAPTURE })?;
        same_context(self.owner(), &kernel.owner, || format!("kernel `{}`", kernel.inner.name))?;
        let maker = self.array_ops(CommandKind::Launch(kernel.inner.id))?;
        let value = maker.memory::<F::Value, 1>([1].into())?;
        let mut gathers = arguments(self, kernel, &args);
        gathers.iter_mut().for_each(|gather| gather.buffer(&value));
        let mut launches = works(self, &mut gathers, &[grid], maker.by.at)?;
        let _nothing = self.bind_nothing_in(Some(maker.by), &mut launches)?;
        self.enqueue_call(maker.by, launches, &value)
    }

    /// Enqueues a fill of the value, the launches, and a read of the value, and flushes the queue.
    fn enqueue_call<T: Element>(
        &self,
        by: Admission,
        launches: KindsOfWork,
        value: &DeviceArray<T>,
    ) -> Result<Pending<T>> {
        let span = value.array.words()?;
        let slot = ReadSlot::new();
        let engine = self.owner().engine();
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

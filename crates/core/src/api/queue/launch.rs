//! Launches of kernels, and the checks of their arguments.
//!
//! If the kernel prints or asserts, the launch also gets memory for its messages. In a capture, an argument can be a
//! named value of the graph.

use crate::api::context::kernels::of_verb;
use crate::api::graph::tape::CapturedQueue;
use crate::api::grid::{Grid, GridSize};
use crate::api::kernel::{DynKernel, Kernel};
use crate::api::queue::CommandQueue;
use crate::api::queue::transfer::ArrayOps;
use crate::arrays::device_array::ArrayRef;
use crate::arrays::read::MessageBuffer;
use crate::driver::caps::Caps;
use crate::error::{CommandKind, Error, ErrorDetail, Result};
use crate::memory::read_slot::MessageSource;
use crate::runtime::event::same_context;
use crate::runtime::owner::Owner;
use crate::scheduler::batch::Op;
use crate::scheduler::engine::Engine;
use crate::scheduler::ordering::Admission;
use crate::scheduler::relay::{SignalledBy, Signaller};
use crate::work::kernel_launch::{BoundArray, KernelInner, LatePipeline, Launch, check_aliases};
use crate::work::step::{KindsOfWork, Span, Work};
use fencepost_kernels::{
    Access, ArgumentSlot, ArgumentSlots, Binder, Binding, BufferArg, DynArg, Error as KernelError,
    KernelArgs, Messages, NamedArg, NamedValue, check_dyn,
};
use fencepost_sync::Slot;
use fencepost_sync::prim::lock;
use smallvec::smallvec;
use std::panic::Location;
use std::sync::Arc;

/// Proof, by type, that arguments belong to the launched kernel: each kernel has one argument struct.
#[diagnostic::on_unimplemented(
    message = "the kernel is compiled for `{F}`, and the arguments have the type `{Self}`",
    label = "arguments of another kernel",
    note = "`ctx.kernel::<Args>()` compiles the kernel of the argument struct `Args`"
)]
pub trait SameKernel<F> {}

impl<F> SameKernel<F> for F {}

impl CommandQueue {
    /// *Enqueues* a launch of `kernel` over `grid`.
    ///
    /// References in `args` are buffers, and values are parameters. With an empty grid, the call makes all checks but
    /// enqueues nothing. The policy ignores buffers that the entry point never accesses. `#[derive(KernelArgs)]` makes
    /// a struct an argument struct; the crate `fencepost` has an example.
    ///
    /// A binding consists of whole 4-byte words and is never empty. So in the shader, `arrayLength` is one too high for
    /// an odd number of `f16` elements, and 1 for an empty array.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::GridTooLarge`], [`ErrorDetail::GridNegative`]; [`ErrorDetail::Aliased`] if two arguments overlap and one of
    /// them is written; [`ErrorDetail::Alignment`] for a slice that does not start at a multiple of the adapter's binding
    /// alignment; [`ErrorDetail::BindingTooSmall`], [`ErrorDetail::BindingTooLarge`]; [`ErrorDetail::Mapped`]; [`ErrorDetail::ForeignContext`];
    /// [`ErrorDetail::Hazard`] under `Checked`; the queue's own error.
    #[track_caller]
    pub fn launch<F: KernelArgs>(
        &self,
        kernel: &Kernel<F>,
        grid: Grid<'_>,
        args: impl KernelArgs<Family: SameKernel<F>>,
    ) -> Result<()> {
        const {
            assert!(!F::RETURNS, "`call` launches a kernel that returns a value, `launch` does not");
            assert!(F::NEXT.is_empty(), "`launch_all` launches several entry points, `launch` does not");
        }
        same_context(self.owner(), &kernel.owner, || format!("kernel `{}`", kernel.inner.name))?;
        let mut gather = LaunchArguments::new(self, &kernel.inner, &kernel.plan);
        args.bind(&mut gather);
        self.enqueue_launch(gather, grid, Location::caller())
    }

    /// *Enqueues* a launch of a kernel made from a text. The call checks the arguments, by name or by position.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Kernel`] if an argument does not fit, with the type found and the type expected, and the
    /// errors of [`launch`](Self::launch).
    ///
    /// # Example
    /// ```
    /// use fencepost::{Grid, args};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let text = fencepost::builtin_shader("saxpy.wgsl").unwrap();
    /// let saxpy = ctx.kernel_from(text, "saxpy")?;
    /// let (x, mut y) = (queue.array(&[1.0_f32, 2.0])?, ctx.zeros::<f32, 1>([2])?);
    /// queue.launch_dyn(&saxpy, Grid::threads([2]), args![a = 2.0_f32, x = &x, y = &mut y])?;
    /// assert_eq!(queue.read(&y).wait()?, [2.0, 4.0]);
    ///
    /// // The length of this list is known only at run time.
    /// use fencepost::interface::{IntoArg as _, NamedArg};
    /// let mut list: Vec<NamedArg> = vec![(Some("a".into()), 1.0_f32.into_arg())];
    /// list.push((Some(String::from("x").into()), (&x).into_arg()));
    /// list.push((Some("y".into()), (&mut y).into_arg()));
    /// queue.launch_dyn(&saxpy, Grid::threads([2]), list)?;
    /// assert_eq!(queue.read(&y).wait()?, [3.0, 6.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn launch_dyn<'a>(
        &self,
        kernel: &DynKernel,
        grid: Grid<'_>,
        args: impl AsRef<[NamedArg<'a>]>,
    ) -> Result<()> {
        same_context(self.owner(), &kernel.owner, || format!("kernel `{}`", kernel.inner.name))?;
        let plan = check_dyn(&kernel.inner.interface, args.as_ref())?;
        let mut gather = LaunchArguments::new(self, &kernel.inner, &plan);
        for (_, arg) in args.as_ref() {
            arg.bind(&mut gather);
        }
        let values = named_values(args.as_ref(), plan.slots());
        if !values.is_empty() {
            return self.capture_named(gather, grid, &values, Location::caller());
        }
        self.enqueue_launch(gather, grid, Location::caller())
    }

    fn enqueue_launch(
        &self,
        mut gather: LaunchArguments<'_>,
        grid: Grid<'_>,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let what = CommandKind::Launch(gather.launch.kernel().id);
        let slot = match self.slot() {
            Ok(slot) => slot,
            Err(error) => return self.capture_launch(gather, grid, (what, at), error),
        };
        let by = Admission { slot, what, at };
        if let Err(error) = gather.complete(&grid, at) {
            return self.launch_with_messages(gather, &grid, by, error);
        }
        if gather.launch.is_empty() {
            return self.owner().engine().check_only(by, &Work::Launch(gather.launch));
        }
        let nothing = if gather.has_empty {
            self.bind_nothing(Some(by), &mut [&mut gather.launch])?
        } else {
            Vec::new()
        };
        if let Some(late) = gather.launch.kernel().pipeline.unfinished().cloned() {
            return self.enqueue_late(by, gather, &late);
        }
        self.owner().engine().enqueue(by, Work::Launch(gather.launch))?;
        drop(nothing); // the memory may be reused only after the launch
        Ok(())
    }

    /// Binds one zeroed element in place of each empty array of some launches. Returns these elements, which the caller
    /// must keep alive until the launches are enqueued. Clearing an element enqueues a command, so call this after all
    /// checks: a refused launch must enqueue nothing. `by` is `None` in a capture.
    #[cold]
    #[track_caller]
    fn bind_nothing(
        &self,
        by: Option<Admission>,
        launches: &mut [&mut Box<Launch>],
    ) -> Result<Vec<ArrayRef>> {
        for launch in launches.iter_mut().filter(|_| by.is_some()) {
            let work = Work::Launch(std::mem::take(*launch));
            let checked = by.map_or(Ok(()), |by| self.owner().engine().check_only(by, &work));
            if let Work::Launch(same) = work {
                **launch = same;
            }
            checked?;
        }
        let mut made = Vec::new();
        for launch in launches {
            let kernel = launch.kernel().clone();
            for bound in launch.bindings.iter_mut().filter(|bound| bound.is_nothing()) {
                let at = bound.at as usize;
                let array = placeholder_array(self, &kernel, at)?;
                let Binding { used, stride, .. } = kernel.interface.bindings[at];
                let block = array.storage.block().clone();
                let size = element_size(stride);
                *bound = BoundArray { at: bound.at, block, offset: 0, size, used };
                made.push(array);
            }
        }
        Ok(made)
    }

    /// Does the same as [`bind_nothing`](Self::bind_nothing), for all launches of one call.
    #[track_caller]
    pub(super) fn bind_nothing_in(
        &self,
        by: Option<Admission>,
        works: &mut KindsOfWork,
    ) -> Result<Vec<ArrayRef>> {
        let lacks = |work: &Work| matches!(work, Work::Launch(launch) if launch.bindings.iter().any(BoundArray::is_nothing));
        if !works.iter().any(|(_, work)| lacks(work)) {
            return Ok(Vec::new());
        }
        let launches = works.iter_mut().filter_map(|(_, work)| match work {
            Work::Launch(launch) => Some(launch),
            _ => None,
        });
        self.bind_nothing(by, &mut launches.collect::<Vec<_>>())
    }

    /// Enqueues a launch whose pipeline another thread is still compiling. The queue waits for the pipeline, and fails
    /// if the compilation fails.
    #[cold]
    fn enqueue_late(&self, by: Admission, gather: LaunchArguments<'_>, late: &LatePipeline) -> Result<()> {
        if let Some(Err(error)) = late.result() {
            return Err(error);
        }
        let engine = self.owner().engine();
        let verb = gather.launch.kernel().origin.verb;
        let compiled = Compiled::new(engine);
        engine.enqueue_after(by, Work::Launch(gather.launch), compiled.0.state().clone())?;
        compiled.end_with(late, verb);
        Ok(())
    }
}

/// Event of the end of a kernel's compilation, for which a queue waits.
pub(crate) struct Compiled(Signaller);

impl Compiled {
    pub(crate) fn new(engine: &Arc<Engine>) -> Self {
        Self(Signaller::new(engine, "compilation of a kernel", SignalledBy::OwnThread))
    }

    /// Returns the wait for the event as a command.
    pub(crate) fn wait(&self) -> Op {
        self.0.wait()
    }

    /// Ends the event with the result of the compilation of `late`. Its error names the verb of the kernel.
    pub(crate) fn end_with(self, late: &LatePipeline, verb: Option<&'static str>) {
        late.after(Box::new(move |result| {
            self.0.end(result.map_err(|error| verb.map_or(error.clone(), |verb| of_verb(error, verb))));
        }));
    }
}

impl CommandQueue {
    /// Adds a launch to the capture of the queue. Returns `error` if the queue is not captured.
    #[cold]
    fn capture_launch(
        &self,
        mut gather: LaunchArguments<'_>,
        grid: Grid<'_>,
        site: (CommandKind, &'static Location<'static>),
        error: Error,
    ) -> Result<()> {
        let Some(captured) = self.captured_queue() else { return Err(error) };
        captured.begin_call();
        // A launch without workgroups is a node too, because an edit may change its grid.
        gather.complete_captured(captured, &grid, site)?;
        let _nothing = self.bind_nothing(None, &mut [&mut gather.launch])?;
        captured.push(site, Work::Launch(gather.launch), None, None).map(|_| ())
    }

    /// Adds a launch that has named values to the capture of the queue.
    #[cold]
    fn capture_named(
        &self,
        mut gather: LaunchArguments<'_>,
        grid: Grid<'_>,
        values: &[PlacedValue<'_>],
        at: &'static Location<'static>,
    ) -> Result<()> {
        self.check_named(values, at)?;
        let Some(captured) = self.captured_queue() else { return Ok(()) };
        let what = CommandKind::Launch(gather.launch.kernel().id);
        gather.complete_captured(captured, &grid, (what, at))?;
        let _nothing = self.bind_nothing(None, &mut [&mut gather.launch])?;
        let node = captured.push((what, at), Work::Launch(gather.launch), None, None)?;
        self.name_values(node, values, at)
    }
}

/// The arguments of a launch, checked and bound to the slots of the kernel's plan one after the other.
pub(crate) struct LaunchArguments<'a> {
    queue: &'a CommandQueue,
    caps: &'a Caps,
    /// Slots of the plan that still have no argument.
    slots: std::slice::Iter<'a, ArgumentSlot>,
    pub(super) launch: Box<Launch>,
    /// `true` if an array is empty, so that [`bind_nothing`](CommandQueue::bind_nothing) must be called.
    has_empty: bool,
    /// First error of an argument, which `complete` returns.
    error: Option<Error>,
}

impl<'a> LaunchArguments<'a> {
    #[inline]
    pub(crate) fn new(queue: &'a CommandQueue, kernel: &Arc<KernelInner>, plan: &'a ArgumentSlots) -> Self {
        let launch = queue.owner().engine().launches.launch(kernel, plan.params_size());
        let caps = queue.owner().device().caps();
        let slots = plan.slots().iter();
        Self { queue, caps, slots, launch, has_empty: false, error: None }
    }

    fn bind(&mut self, at: usize, buffer: &dyn BufferArg) -> Result<()> {
        let kernel = self.launch.kernel();
        let Some(array) = buffer.handle().downcast_ref::<ArrayRef>() else {
            return Err(foreign(kernel, at, "a buffer".into()));
        };
        if !self.queue.owner().is(&array.storage.owner) {
            return Err(foreign(kernel, at, format!("array `{}`", array.storage.label())));
        }
        let bound = if array.len == 0 {
            self.has_empty = true;
            BoundArray { size: 0, used: None, ..bound(kernel, at, &at_start(array), self.caps)? }
        } else {
            bound(kernel, at, array, self.caps)?
        };
        self.launch.bindings.push(bound);
        Ok(())
    }

    /// Makes the checks of [`complete`](Self::complete), and takes the launch.
    pub(crate) fn take(&mut self, grid: &Grid<'_>, at: &'static Location<'static>) -> Result<Box<Launch>> {
        self.complete(grid, at)?;
        Ok(std::mem::take(&mut self.launch))
    }

    /// Checks that all arguments are bound, and sets the number of workgroups.
    #[inline(always)] // an eager launch and a captured one call it, and the eager launch makes no call for it
    pub(super) fn complete(&mut self, grid: &Grid<'_>, at: &'static Location<'static>) -> Result<()> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let left = self.slots.next();
        let launch = &mut *self.launch;
        launch.at = Some(at);
        if left.is_some() || launch.bindings.len() != launch.kernel().interface.bindings.len() {
            return Err(incomplete(launch, left));
        }
        if !launch.bindings.is_sorted_by_key(|bound| bound.at) {
            launch.bindings.sort_unstable_by_key(|bound| bound.at);
        }
        let interface = &launch.kernel().interface;
        launch.groups = grid.0.workgroups(interface, self.caps.max_groups)?;
        check_aliases(launch.kernel(), &launch.bindings)?;
        if let GridSize::Indirect(array, at) = grid.0 {
            launch.indirect = Some(indirect(self.queue.owner(), array, at)?);
        }
        Ok(())
    }
}

impl Binder for LaunchArguments<'_> {
    fn buffer(&mut self, buffer: &dyn BufferArg) {
        let slot = self.slots.next();
        if self.error.is_some() {
            return;
        }
        self.error = match slot {
            Some(&ArgumentSlot::Buffer(at)) => self.bind(at, buffer).err(),
            Some(ArgumentSlot::Undeclared) => None,
            slot => Some(misplaced(self.launch.kernel(), "an array".into(), slot)),
        };
    }

    fn value(&mut self, bytes: &[u8]) {
        let slot = self.slots.next();
        if self.error.is_some() {
            return;
        }
        match slot {
            Some(&slot @ ArgumentSlot::Value { size, .. }) if size as usize == bytes.len() => {
                self.launch.params.set(slot, bytes);
            }
            Some(ArgumentSlot::Undeclared) => {}
            slot => self.error = Some(misplaced(self.launch.kernel(), value(bytes.len()), slot)),
        }
    }
}

/// Returns an array as a binding of the kernel, after checks against the shader's type and the device's limits.
#[inline(always)] // edits call it too, and a launch makes no call for each argument
pub(crate) fn bound(kernel: &KernelInner, at: usize, array: &ArrayRef, caps: &Caps) -> Result<BoundArray> {
    let binding = &kernel.interface.bindings[at];
    let size = bound_size(binding, array);
    let aligned = array.offset.is_multiple_of(caps.binding_alignment);
    if !aligned
        || size < binding.min_size
        || size > caps.max_binding
        || ends_inside_shared_word(binding, array)
    {
        return Err(does_not_fit(kernel, binding, array, caps));
    }
    let block = array.storage.block().clone();
    Ok(BoundArray { at: at as u32, block, offset: array.offset, size, used: binding.used })
}

/// Returns `true` if the array ends inside a word. A kernel writes whole words, so it would also write bytes after the
/// array.
#[inline]
fn ends_inside_shared_word(binding: &Binding, array: &ArrayRef) -> bool {
    array.followed && binding.declared != Access::Read && !array.bytes().is_multiple_of(4)
}

/// Returns the size of a binding in whole words. An empty array is bound as one element, which the kernel must not use.
#[inline]
fn bound_size(binding: &Binding, array: &ArrayRef) -> u64 {
    match array.len {
        0 => element_size(binding.stride),
        _ => array.bytes().next_multiple_of(4),
    }
}

/// Returns the size of one element, rounded up to whole words, in bytes.
#[inline]
fn element_size(stride: u32) -> u64 {
    u64::from(stride.max(4)).next_multiple_of(4)
}

/// Remedy for an array that is too large for a launch.
pub(crate) const LAUNCH_PARTS: &str =
    "launch it for parts of the array, which `slice` returns, and combine their results";

/// Returns the error for an array that cannot be bound.
#[cold]
fn does_not_fit(kernel: &KernelInner, binding: &Binding, array: &ArrayRef, caps: &Caps) -> Error {
    let offset = array.offset;
    let found = bound_size(binding, array);
    let needed = binding.min_size;
    let limit = caps.max_binding;
    let name = kernel.name.to_string();
    let arg = binding.name.clone();
    if !offset.is_multiple_of(caps.binding_alignment) {
        ErrorDetail::Alignment { array: array.label(), offset, needed: caps.binding_alignment }.into()
    } else if array.followed && !array.bytes().is_multiple_of(4) {
        ErrorDetail::Alignment { array: array.label(), offset: offset + array.bytes(), needed: 4 }.into()
    } else if found < needed {
        ErrorDetail::BindingTooSmall { kernel: name, arg, found, needed }.into()
    } else {
        ErrorDetail::BindingTooLarge { subject: kernel.subject(), arg, found, limit, remedy: LAUNCH_PARTS }
            .into()
    }
}

/// Returns the error for a hand-written `KernelArgs` whose argument for `slot` differs from its declared fields.
#[cold]
fn misplaced(kernel: &KernelInner, found: String, slot: Option<&ArgumentSlot>) -> Error {
    let declared = match slot {
        Some(ArgumentSlot::Buffer(_)) => "an array".into(),
        Some(&ArgumentSlot::Value { size, .. }) => value(size as usize),
        Some(ArgumentSlot::Undeclared) => "an argument of another entry point".into(),
        None => "no further argument".into(),
    };
    ErrorDetail::MisplacedArgument { kernel: kernel.interface.entry.clone(), found, declared }.into()
}

/// Describes a parameter of this size for messages.
fn value(size: usize) -> String {
    format!("a value of {size} bytes")
}

/// Returns the error for a hand-written `KernelArgs` that passes fewer arguments than its fields declare, or for a
/// launch whose message buffer is not bound yet.
#[cold]
fn incomplete(launch: &Launch, left: Option<&ArgumentSlot>) -> Error {
    let interface = &launch.kernel().interface;
    let bound = |at: usize| launch.bindings.iter().any(|bound| bound.at as usize == at);
    let buffer = interface.bindings.iter().enumerate().find(|&(at, _)| !bound(at));
    let fields = interface.params.iter().flat_map(|params| &params.fields);
    let value = fields.into_iter().find(|field| match left {
        Some(ArgumentSlot::Value { offset, .. }) => *offset == field.offset,
        _ => false,
    });
    let (arg, declared) = match (value, buffer) {
        (Some(field), _) => (field.name.clone(), field.declaration()),
        (None, buffer) => {
            buffer.map(|(_, binding)| (binding.name.clone(), binding.declaration())).unwrap_or_default()
        }
    };
    fencepost_kernels::Error::MissingArgument { kernel: interface.entry.clone(), arg, declared }.into()
}

/// Returns the error for an argument that belongs to another context.
#[cold]
fn foreign(kernel: &KernelInner, at: usize, object: String) -> Error {
    let arg = kernel.interface.bindings[at].name.clone();
    ErrorDetail::ForeignContext { subject: kernel.subject(), arg, object }.into()
}

/// Allocates one element of zeros to bind in place of an empty array, because a binding has at least one element. The
/// bytes at the array's own place may belong to another array, or hold writes of an earlier launch.
#[cold]
#[track_caller]
pub(crate) fn placeholder_array(queue: &CommandQueue, kernel: &KernelInner, at: usize) -> Result<ArrayRef> {
    let stride = kernel.interface.bindings[at].stride.max(4);
    let words = [stride.div_ceil(4) as usize];
    let maker = queue.array_ops(CommandKind::Fill)?;
    Ok(maker.cleared(maker.memory::<u32, 1>(words.into())?)?.array)
}

/// Returns an empty array at the start of the same memory.
fn at_start(array: &ArrayRef) -> ArrayRef {
    ArrayRef { offset: 0, followed: false, ..array.clone() }
}

/// Returns the span of the three workgroup counts in device memory.
pub(crate) fn indirect(owner: &Owner, array: &ArrayRef, at: usize) -> Result<Span> {
    same_context(owner, &array.storage.owner, || format!("array `{}`", array.storage.label()))?;
    let end = at.checked_add(3).filter(|&end| end <= array.len);
    let range = at..at.saturating_add(3);
    let end = end.ok_or_else(|| ErrorDetail::Range { array: array.label(), range, len: array.len })?;
    array.slice(at..end)?.words()
}

impl CommandQueue {
    /// Checks arguments as a [`launch`](Self::launch) of `kernel` does, but enqueues or captures nothing. A verb with
    /// several commands uses it to check its later launches before it enqueues the first command.
    #[doc(hidden)]
    #[track_caller]
    pub fn check_launch<F: KernelArgs>(
        &self,
        kernel: &Kernel<F>,
        args: impl KernelArgs<Family: SameKernel<F>>,
    ) -> Result<()> {
        same_context(self.owner(), &kernel.owner, || format!("kernel `{}`", kernel.inner.name))?;
        let mut gather = LaunchArguments::new(self, &kernel.inner, &kernel.plan);
        args.bind(&mut gather);
        self.check_arguments(gather, Location::caller())
    }

    /// Refuses `verb`, which returns a value to the host, on a captured queue. A verb with several commands calls this
    /// before it enqueues the first command. `remedy` names a verb that a capture accepts.
    #[doc(hidden)]
    #[track_caller]
    pub fn check_value(&self, verb: &'static str, remedy: &'static str) -> Result<()> {
        self.not_captured(verb, remedy)
    }

    /// Checks arguments as a [`launch_dyn`](Self::launch_dyn) of `kernel` does, but enqueues or captures nothing.
    #[doc(hidden)]
    #[track_caller]
    pub fn check_launch_dyn<'a>(&self, kernel: &DynKernel, args: impl AsRef<[NamedArg<'a>]>) -> Result<()> {
        same_context(self.owner(), &kernel.owner, || format!("kernel `{}`", kernel.inner.name))?;
        let plan = check_dyn(&kernel.inner.interface, args.as_ref())?;
        let mut gather = LaunchArguments::new(self, &kernel.inner, &plan);
        for (_, arg) in args.as_ref() {
            arg.bind(&mut gather);
        }
        self.check_arguments(gather, Location::caller())
    }

    fn check_arguments(&self, mut gather: LaunchArguments<'_>, at: &'static Location<'static>) -> Result<()> {
        let what = CommandKind::Launch(gather.launch.kernel().id);
        match self.slot() {
            Ok(slot) => {
                gather.complete(&Grid::groups([0]), at)?;
                let by = Admission { slot, what, at };
                self.owner().engine().check_only(by, &Work::Launch(gather.launch))
            }
            Err(error) => {
                let Some(captured) = self.captured_queue() else { return Err(error) };
                gather.complete(&Grid::groups([0]), at)?;
                captured.with(what.verb(), at, |_| ())
            }
        }
    }
}

/// Remedy for a launch with messages in a body.
const MESSAGES_IN_BODY: &str = "a kernel that prints or asserts runs once in a replay: launch it before or after the condition or the loop";

impl CommandQueue {
    /// *Enqueues* a launch that lacks only its message buffer. For any other launch, returns `error`, which says what
    /// is missing.
    #[cold]
    pub(super) fn launch_with_messages(
        &self,
        mut gather: LaunchArguments<'_>,
        grid: &Grid<'_>,
        by: Admission,
        error: Error,
    ) -> Result<()> {
        let mut works = self.works_with_messages(&mut gather, grid, by, error)?;
        let _nothing = self.bind_nothing_in(Some(by), &mut works)?;
        self.owner().engine().enqueue_launches(by, works)
    }

    /// Returns three commands that must stay together: the clear of the message buffer, the launch, and the read of the
    /// buffer. Returns `error` if the launch lacks more than its message buffer.
    #[cold]
    pub(super) fn works_with_messages(
        &self,
        gather: &mut LaunchArguments<'_>,
        grid: &Grid<'_>,
        by: Admission,
        error: Error,
    ) -> Result<KindsOfWork> {
        let Some(messages) = gather.missing_messages(&error) else { return Err(error) };
        let ops = ArrayOps { owner: self.owner(), by, captured: None };
        let buffer = gather.bind_messages(&ops, messages)?;
        let launch = gather.take(grid, by.at)?;
        if launch.is_empty() {
            return Ok(smallvec![(by.what, Work::Launch(launch))]);
        }
        Ok(smallvec![
            (CommandKind::Fill, buffer.clear()),
            (by.what, Work::Launch(launch)),
            (CommandKind::Read, buffer.read()),
        ])
    }

    /// Returns the error for a captured call of several entry points if one of them prints or asserts.
    #[cold]
    pub(super) fn messages_of_several(&self, gather: &LaunchArguments<'_>, error: Error) -> Error {
        if gather.missing_messages(&error).is_none() {
            return error;
        }
        let problem = format!(
            "entry point `{}` prints or asserts: a capture launches it with a call of its own, not with several others",
            gather.launch.kernel().name
        );
        ErrorDetail::Graph { graph: self.label().into(), problem }.into()
    }
}

impl LaunchArguments<'_> {
    /// Completes a captured launch. If its kernel has messages, also captures a clear of the message buffer before the
    /// launch. The buffer lives as long as the graph, and each replay reads it.
    pub(super) fn complete_captured(
        &mut self,
        captured: &CapturedQueue,
        grid: &Grid<'_>,
        (what, at): (CommandKind, &'static Location<'static>),
    ) -> Result<()> {
        let Err(error) = self.complete(grid, at) else { return Ok(()) };
        let Some(messages) = self.missing_messages(&error) else { return Err(error) };
        captured.not_in_body("a launch of a kernel that prints or asserts", at, MESSAGES_IN_BODY)?;
        let by = Admission { slot: Slot::CONTEXT, what, at };
        let ops = ArrayOps { owner: &captured.owner, by, captured: Some(captured) };
        let buffer = self.bind_messages(&ops, messages)?;
        self.complete(grid, at)?;
        captured.push((CommandKind::Fill, at), buffer.clear(), None, None)?;
        captured.with("launch", at, |state| state.messages.push(buffer))
    }

    /// Returns the messages of the kernel if, according to `error`, only their buffer is missing.
    fn missing_messages(&self, error: &Error) -> Option<Messages> {
        let ErrorDetail::Kernel(KernelError::MissingArgument { arg, .. }) = error.detail() else {
            return None;
        };
        let interface = &self.launch.kernel().interface;
        let buffer = interface.bindings.last()?;
        interface.messages.clone().filter(|_| buffer.name == *arg)
    }

    /// Allocates the message buffer and binds it as the last argument.
    fn bind_messages(&mut self, ops: &ArrayOps<'_>, messages: Messages) -> Result<MessageBuffer> {
        #[cfg(not(target_arch = "wasm32"))]
        ops.owner.threads().start_messages(ops.owner.engine())?;
        let kernel = self.launch.kernel();
        let capacity = lock(&ops.owner.engine().print_options).capacity;
        let size = u64::from(messages.buffer_size(capacity));
        let limit = ops.owner.device().caps().max_binding;
        if size > limit {
            return Err(ErrorDetail::MessagesTooLarge {
                kernel: kernel.name.to_string(),
                found: size,
                limit,
            }
            .into());
        }
        let label: Arc<str> = format!("messages of kernel `{}`", kernel.name).into();
        let at = kernel.interface.bindings.len() - 1;
        let source = MessageSource { kernel: kernel.name.clone(), launch: ops.by.at, messages };
        let storage = match ops.captured {
            None => ops.allocate(size, &label)?,
            Some(captured) => ops.allocate_captured(captured, size, &label)?,
        };
        let buffer = MessageBuffer { storage, size, source: Arc::new(source) };
        self.launch.bindings.push(buffer.bound(at));
        Ok(buffer)
    }
}

/// A named value, with its place among the parameters of a launch.
type PlacedValue<'a> = (&'a dyn NamedValue, ArgumentSlot);

/// Returns the arguments that are named values.
fn named_values<'a>(args: &[NamedArg<'a>], slots: &[ArgumentSlot]) -> Vec<PlacedValue<'a>> {
    let named = args.iter().zip(slots).filter_map(|((_, arg), &slot)| match arg {
        DynArg::Named(value) => Some((*value, slot)),
        _ => None,
    });
    named.collect()
}

impl CommandQueue {
    /// Checks that all values belong to the capture of the queue.
    ///
    /// # Errors
    /// Returns `Graph` for a value of another capture, and for any value if the queue is not captured.
    fn check_named(&self, values: &[PlacedValue<'_>], at: &'static Location<'static>) -> Result<()> {
        let Some((first, _)) = values.first() else { return Ok(()) };
        let Some(captured) = self.captured_queue() else {
            let problem = format!(
                "value `{}` is a value of a graph, and queue `{}` captures none: pass the value's `get()`",
                first.name(),
                self.label()
            );
            return Err(ErrorDetail::Graph { graph: self.label().into(), problem }.into());
        };
        captured.with("launch_dyn", at, |state| {
            values
                .iter()
                .try_for_each(|(value, _)| state.check_value(self.label(), value.token(), value.name()))
        })?
    }

    /// Gives the parameters of a captured launch the names of their values.
    fn name_values(
        &self,
        node: u32,
        values: &[PlacedValue<'_>],
        at: &'static Location<'static>,
    ) -> Result<()> {
        let Some(captured) = self.captured_queue() else { return Ok(()) };
        captured.with("launch_dyn", at, |state| {
            let node = &mut state.nodes[node as usize];
            let mut command = node.command.duplicate();
            command.values.extend(values.iter().map(|(value, slot)| (value.token(), *slot)));
            node.command = Arc::new(command);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::context::Context;
    use crate::api::graph::capture::Capture;
    use crate::api::graph::control_flow::Bound;
    use crate::arrays::device_array::DeviceArray;
    use crate::record::cpu::cpu_recorder::SimulatorOptions;
    use crate::work::kernel_launch::Pipeline;

    const TEXT: &str = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(1) fn k() { x[0] = 7u; }";

    /// Returns a kernel that stays uncompiled until the test calls `compile`.
    fn late(ctx: &Context, compiles: bool) -> (DynKernel, Arc<LatePipeline>) {
        let made = ctx.kernel_from(TEXT, "k").expect("it is right");
        let KernelInner { id, name, label, interface, pipeline, origin } = &*made.inner;
        let pipeline = pipeline.clone();
        let kernel = name.to_string();
        let refused = move || ErrorDetail::Compile { kernel, message: "refused by the test".into() };
        let compile = move || if compiles { Ok(pipeline) } else { Err(refused().into()) };
        let late = LatePipeline::new(Box::new(compile));
        let name = name.clone();
        let label = label.clone();
        let pipeline = Pipeline::Late(late.clone());
        let interface = interface.clone();
        let origin = origin.clone();
        let inner = KernelInner { id: *id, name, label, interface, pipeline, origin };
        (DynKernel { inner: Arc::new(inner), owner: made.owner }, late)
    }

    #[test]
    fn a_refused_launch_with_an_empty_array_enqueues_nothing() {
        let text = "@group(0) @binding(0) var<storage> none: array<u32>;
            @group(0) @binding(1) var<storage, read_write> x: array<u32>;
            @group(0) @binding(2) var<storage, read_write> y: array<u32>;
            @compute @workgroup_size(1) fn k() { x[0] = 7u; y[0] = 8u; if x[1] == 9u { y[0] = none[0]; } }";
        let ctx = Context::simulated(SimulatorOptions::default());
        let queue = ctx.queue("q");
        let kernel = ctx.kernel_from(text, "k").expect("it is right");
        let x = queue.full([16], 1_u32).expect("nothing has failed");
        let none = x.slice(16..16).expect("it is empty");
        let slot = queue.slot().expect("it is not a capture");
        let enqueued = || ctx.owner.engine().lock().queue(slot).end(slot);
        let before = enqueued();
        let launch = |queue: &CommandQueue, end: usize, grid: Grid<'_>| {
            let mut all = x.slice(0..2).expect("two");
            let mut part = x.slice(end - 2..end).expect("two");
            let args = fencepost_kernels::args![none = &none, x = &mut all, y = &mut part];
            queue.check_launch_dyn(&kernel, &args)?;
            queue.launch_dyn(&kernel, grid, args)
        };
        let error = launch(&queue, 2, Grid::groups([1])).expect_err("the two parts are one");
        assert!(matches!(error.detail(), ErrorDetail::Aliased { .. }), "{error}");
        launch(&queue, 10, Grid::groups([0])).expect("it has no workgroups");
        assert_eq!(enqueued(), before);
        launch(&queue, 10, Grid::groups([1])).expect("the parts differ");
        let read = queue.read(&x).wait().expect("it runs");
        assert_eq!((read[0], read[8], read[15]), (7, 8, 1));
        let (graph, ()) = queue.capture(|c| launch(c, 10, Grid::groups([1]))).expect("the parts differ");
        assert_eq!(graph.nodes(), 2, "the clear of an element, and the launch");
    }

    /// Checks that the command of `enqueue`, which stores 7 in an array with a kernel, waits for the kernel. If the kernel
    /// does not compile, only the queue of the command fails.
    fn waits_for_its_kernel(
        enqueue: impl Fn(&CommandQueue, &DynKernel, &mut DeviceArray<u32>) -> Result<()>,
    ) {
        for (threads, compiles) in [(true, true), (true, false), (false, true), (false, false)] {
            let ctx = Context::simulated(SimulatorOptions { threads, ..SimulatorOptions::default() });
            let held = ctx.queue("held");
            let other = ctx.queue("other");
            let (kernel, late) = late(&ctx, compiles);
            let mut x = held.zeros::<u32, 1>([1]).expect("nothing has failed");
            enqueue(&held, &kernel, &mut x).expect("it is enqueued");
            held.flush().expect("it is enqueued");
            let read = other.read(&other.full([1], 5_u32).expect("other works")).wait();
            assert_eq!(read.expect("only the first queue waits"), [5]);
            assert!(!held.marker().is_complete().expect("nothing has failed"));
            late.compile();
            let read = held.read(&x).wait();
            if compiles {
                assert_eq!(read.expect("the kernel is there"), [7]);
                enqueue(&held, &kernel, &mut x).expect("the kernel is there");
            } else {
                let error = read.expect_err("the kernel is refused");
                assert!(matches!(error.detail(), ErrorDetail::Compile { .. }), "{error}");
                held.take_error().expect("the queue has failed");
                assert!(enqueue(&held, &kernel, &mut x).is_err(), "the kernel is never there");
            }
            other.finish().wait().expect("it does not use the kernel");
        }
    }

    #[test]
    fn q01_a_launch_waits_for_its_kernel_and_fails_with_it_alone() {
        waits_for_its_kernel(|queue, kernel, x| {
            queue.launch_dyn(kernel, Grid::groups([1]), fencepost_kernels::args![x = x])
        });
    }

    #[test]
    fn q01_a_condition_waits_for_the_kernel_of_its_body_and_fails_with_it_alone() {
        waits_for_its_kernel(|queue, kernel, x| {
            let yes = queue.full([1], 1_u32)?;
            queue
                .if_(&yes, |body| body.launch_dyn(kernel, Grid::groups([1]), fencepost_kernels::args![x = x]))
        });
    }

    #[test]
    fn q01_a_loop_waits_for_the_kernel_of_its_body_and_fails_with_it_alone() {
        for bound in [Bound::AtMost(3), Bound::Chunked(100)] {
            waits_for_its_kernel(|queue, kernel, x| {
                let count = queue.full([1], 2_u32)?;
                let body = |body: &Capture| {
                    body.launch_dyn(kernel, Grid::groups([1]), fencepost_kernels::args![x = x])
                };
                queue.repeat(&count, bound, body).map(drop)
            });
        }
    }
}

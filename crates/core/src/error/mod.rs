//! The errors of the crate. Each message names the object, the value found and the limit.
//!
//! Messages also say where in the program a command was enqueued, and include the text of a panic in user code.

use fencepost_kernels::report::drop_payload;
use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

/// The result of an operation that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error. Its [`kind`](Error::kind) says what a program can do about it; its [`detail`](Error::detail) is the cause.
/// Clones are cheap, because a sticky error is returned many times.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// use fencepost::{ErrorDetail, ErrorKind};
/// let error = ctx.zeros::<f32, 1>([usize::MAX / 8]).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::OutOfMemory);
/// assert!(matches!(error.detail(), ErrorDetail::TooLarge { .. }));
/// # drop(queue);
/// ```
#[derive(Clone, thiserror::Error)]
#[error("{0}")]
pub struct Error(Arc<ErrorDetail>);

/// Writes the message, so that `unwrap` prints it, and so does a `main` that returns the error. `{:#?}` writes the
/// fields of the [detail](Error::detail).
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            f.debug_tuple("Error").field(&self.0).finish()
        } else {
            fmt::Display::fmt(self, f)
        }
    }
}

impl Error {
    /// Returns the kind of the error, for matching. The error of a part, such as a node of a graph, has the kind of its
    /// cause.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind()
    }

    /// Returns the cause of the error, with the objects and values in its message.
    pub fn detail(&self) -> &ErrorDetail {
        &self.0
    }

    /// Returns `true` if this is `other` or a clone of it, and not just an equal error.
    pub(crate) fn is(&self, other: &Error) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the error of a call that would wait for a new thread, although this thread holds the lock of the
    /// system's loader, under which none starts.
    #[cold]
    pub(crate) fn no_thread_starts(object: impl Into<String>) -> Self {
        let message = "it needs a new thread, and none starts while this thread holds the lock of the system's \
                       loader, as in a destructor of a thread-local value on Windows: make the call earlier";
        ErrorDetail::Device { object: object.into(), message: message.into() }.into()
    }
}

impl<D: Into<ErrorDetail>> From<D> for Error {
    fn from(detail: D) -> Self {
        Self(Arc::new(detail.into()))
    }
}

/// The [limit of the pool](crate::Pool::set_limit) that an array would exceed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("arrays use {used} of the {limit} bytes that the pool may allocate: drop arrays, or raise the limit")]
#[non_exhaustive]
pub struct PoolLimit {
    /// Bytes in arrays, including pinned arrays.
    pub used: u64,
    /// Bytes that the pool may allocate from the driver.
    pub limit: u64,
}

/// The memory limit that an array would exceed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryLimit {
    /// The limit of the memory pool.
    #[error(transparent)]
    Pool(#[from] PoolLimit),
    /// The limit of the simulator, `SimulatorOptions::memory`.
    #[error(
        "{used} of the {limit} bytes that `SimulatorOptions::memory` allows are allocated: drop arrays, or raise \
         `SimulatorOptions::memory`"
    )]
    CpuRecorder {
        /// Bytes of all current allocations.
        used: u64,
        /// Bytes that `SimulatorOptions::memory` allows.
        limit: u64,
    },
}

/// The kind of an error, which says what a program can do about it. [`Error::kind`] returns it.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
///
/// fn open() -> Result<Context> {
///     let radeon = AdapterChoice::Name("radeon".into());
///     match Context::with_options(ContextOptions::default().adapter(radeon)).wait() {
///         Err(error) if error.kind() == ErrorKind::NoAdapter => Context::new().wait(),
///         opened => opened,
///     }
/// }
/// # drop(open());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument that does not fit, such as a shape, a range, a value, or an array of another context. The caller's
    /// mistake.
    InvalidInput,
    /// A call that is not possible in the current state, such as one on a queue of an ended capture, or for the time of
    /// an untimed queue.
    InvalidState,
    /// A shader that is not WGSL, that does not fit its arguments, or that the device does not compile.
    Kernel,
    /// Something that this device or this build cannot do, such as a missing feature, a size above a limit, or a time
    /// that is not measured.
    Unsupported,
    /// No memory left, or more memory than a limit allows. The context continues to work.
    OutOfMemory,
    /// No adapter that fits.
    NoAdapter,
    /// Two uses of the same bytes that nothing orders, under [`Policy::Checked`](crate::Policy::Checked).
    Hazard,
    /// Something that is not available now, such as a mapped array, a full backlog, or a call that would block. A later
    /// call may succeed.
    WouldBlock,
    /// A wait that could never end.
    Deadlock,
    /// A failure of user code, such as a panic of a callback, a failed assertion of a kernel, or a mistake found by the
    /// checks.
    Failed,
    /// Work that exceeded a time limit.
    TimedOut,
    /// Work that was cancelled, or that nothing can start any more.
    Cancelled,
    /// A driver failure that has no more specific kind.
    Device,
    /// A lost device, with all its work and memory. Open a new context.
    DeviceLost,
    /// A file that could not be read or written, or that is damaged.
    File,
}

/// The cause of an error, which [`Error::detail`] returns. The fields are the words of the message. Most programs need
/// only the [`kind`](Error::kind).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the words of the message")]
pub enum ErrorDetail {
    /// The shader and the arguments do not fit, or the text is not WGSL.
    #[error(transparent)]
    Kernel(#[from] fencepost_kernels::Error),
    /// A `Pending` result was taken twice, or a wait would block in a place where blocking is not possible.
    #[error(transparent)]
    Pending(#[from] fencepost_sync::Error),
    /// The process is a child, made by fork(2), of the process that opened the context. A child does not have the
    /// threads of the context and of its driver, so it cannot use the context at all. Dropping handles of the context
    /// does nothing there.
    #[error(
        "device `{device}` was opened before this process was forked, and a child cannot use it: open the context in the child, \
         or start another program in place of a fork"
    )]
    Forked { device: String },
    /// Under [`Policy::Checked`](crate::Policy::Checked), two queues use the same bytes without an order. `access` and
    /// `later_access` are `read` or `write`, for the earlier and the later use. `gone` is true if the program has
    /// dropped the queue of the earlier use, so that no call can refer to it.
    #[error(
        "nothing orders two uses of bytes {range:?} of array `{array}`\n  \
        earlier: {access} by {earlier}\n  \
        later:   {later_access} by {later}\n  \
        help:    add `{wait}` before the later use{}",
        if *gone { format!("; queue `{}` has been dropped", earlier.queue) } else { String::new() }
    )]
    Hazard {
        array: String,
        range: Range<u64>,
        earlier: Box<Site>,
        later: Box<Site>,
        access: &'static str,
        later_access: &'static str,
        wait: String,
        gone: bool,
    },
    /// A hand-written `KernelArgs` passes an argument that its `fields` do not declare in that position.
    #[error(
        "kernel `{kernel}`: `KernelArgs::bind` passed {found} where its `fields` declare {declared}: pass each field \
         once, in the order of `fields`"
    )]
    MisplacedArgument { kernel: String, found: String, declared: String },
    /// Two arguments of a launch overlap, and one of them is written. `subject` names the kernel, or the verb that the
    /// program called. For a launch in a graph, `node` names the node, the graph and the line of the capture; for other
    /// launches it is empty.
    #[error(
        "{subject}{node}: arguments `{first}` and `{second}` overlap in array `{array}`, and one of them is written: \
         pass parts that do not overlap, or a copy"
    )]
    Aliased { subject: String, node: String, first: String, second: String, array: String },
    /// A grid has more workgroups than the device accepts in one dimension. `folds` is true if the grid could be folded
    /// into two dimensions, but is too large for `linear_id`, a `u32` with which the kernel computes its index.
    #[error(
        "kernel `{kernel}`: a grid of {groups:?} workgroups is over the device's limit of {limit} per dimension: {}",
        if *folds {
            "`linear_id` counts at most 4294967295 invocations, including those that round up to whole workgroups and \
             rows: launch the kernel once for each part of the arrays, which `slice` returns"
        } else {
            "give it more dimensions, or compute the index in the kernel with `linear_id` of the snippet `linear`, so \
             that `Grid::threads` folds one dimension into two"
        }
    )]
    GridTooLarge { kernel: String, groups: [u64; 3], limit: u32, folds: bool },
    /// A grid has a negative number of threads or workgroups.
    #[error(
        "kernel `{kernel}`: a grid of {size:?} has a negative number: pass numbers of threads or workgroups that are 0 or more"
    )]
    GridNegative { kernel: String, size: [i64; 3] },
    /// A workgroup has more invocations than the device accepts.
    #[error(
        "kernel `{kernel}`: a workgroup of {found:?} invocations is over the device's limit of {limit:?}, {total} in \
         all: give it a smaller `@workgroup_size`"
    )]
    WorkgroupTooLarge { kernel: String, found: [u32; 3], limit: [u32; 3], total: u32 },
    /// A kernel uses more workgroup memory than the device has for one workgroup.
    #[error(
        "kernel `{kernel}`: {found} bytes of workgroup memory are over the device's limit of {limit}: make its \
         `var<workgroup>` smaller, or move a part of it to a device array"
    )]
    WorkgroupMemory { kernel: String, found: u64, limit: u64 },
    /// A kernel binds more arrays than the device can bind at once.
    #[error(
        "kernel `{kernel}` binds {found} arrays, the device's limit is {limit}: combine several arrays into one, or \
         split the kernel"
    )]
    TooManyBindings { kernel: String, found: usize, limit: u32 },
    /// A kernel has more bytes of parameters than a launch can pass.
    #[error(
        "kernel `{kernel}` has {found} bytes of parameters, the limit is {limit}: pass them in an array, which the \
         shader declares `var<storage, read>`"
    )]
    TooManyParameters { kernel: String, found: u32, limit: u32 },
    /// Fewer bytes are bound than the shader's type needs.
    #[error(
        "kernel `{kernel}`, argument `{arg}`: {found} bytes are bound, the shader's type needs at least {needed}: pass \
         a longer array, or declare an array without a length in the shader"
    )]
    BindingTooSmall { kernel: String, arg: String, found: u64, needed: u64 },
    /// More bytes are bound than the device binds as one array. `subject` names the kernel or the verb, and `remedy`
    /// says how to compute the result from parts of the array.
    #[error(
        "{subject}, argument `{arg}`: {found} bytes are bound, the device's limit for one binding is {limit}: {remedy}, \
         or use a device with a higher limit"
    )]
    BindingTooLarge { subject: String, arg: String, found: u64, limit: u64, remedy: &'static str },
    /// The message buffer of a launch is larger than the device can bind as one array.
    #[error(
        "kernel `{kernel}`: the messages of a launch take {found} bytes, the device's limit for one binding is {limit}: \
         lower `PrintOptions::capacity`"
    )]
    MessagesTooLarge { kernel: String, found: u64, limit: u64 },
    /// The shader needs a feature that the device lacks. A device created by the program has only the features that it
    /// requested.
    #[error(
        "kernel `{kernel}` needs {what}, which the device of adapter `{adapter}` lacks: use another adapter, or request \
         it where the program creates the device"
    )]
    Unsupported { kernel: String, what: String, adapter: String },
    /// The driver, or the compiler for the CPU, refuses the kernel.
    #[error("kernel `{kernel}` does not compile on this device: {message}")]
    Compile { kernel: String, message: String },
    /// Shapes or numbers of elements do not fit.
    #[error("{object} has shape {found:?}, {expected:?} is needed: {remedy}")]
    Shape { object: String, found: Vec<usize>, expected: Vec<usize>, remedy: &'static str },
    /// A call requests an array with more or fewer dimensions than the array has.
    #[error(
        "array `{array}` has {found} dimensions, and the call requests {asked}: request {found}, and `reshape` the \
         result"
    )]
    Rank { array: String, found: usize, asked: usize },
    /// A range is outside the array.
    #[error("range {range:?} is outside array `{array}` of {len} elements")]
    Range { array: String, range: Range<usize>, len: usize },
    /// A region has more items than the array has axes.
    #[error("region {region} names {named} axes of array `{array}`, which has {rank}")]
    RegionAxes { array: String, region: String, named: usize, rank: usize },
    /// A call of an algorithm has a value that is not allowed.
    #[error("{object} is {found}; {needed} is needed")]
    Value { object: String, found: String, needed: &'static str },
    /// A call names an axis that the array does not have.
    #[error("verb `{verb}`: axis {axis} is outside array `{array}`, which has {}", axes(*rank))]
    Axis { verb: &'static str, array: String, axis: usize, rank: usize },
    /// An index of a region is outside its axis.
    #[error("index {index} is outside axis {axis} of array `{array}`, which has {len} elements there")]
    RegionIndex { array: String, axis: usize, index: i128, len: usize },
    /// A range of a region is outside its axis, selects no element, or runs backwards.
    #[error("range {range} of axis {axis} {problem}: array `{array}` has {len} elements there")]
    RegionRange { array: String, axis: usize, range: String, len: usize, problem: &'static str },
    /// The padded shape of an array does not fit its shape, or the operation needs an array without padding.
    #[error("{object} of shape {shape:?} has padded shape {padded:?}; {needed} is needed")]
    Padding { object: String, shape: Vec<usize>, padded: Vec<usize>, needed: &'static str },
    /// A slice starts or ends where an argument or a copy cannot start or end.
    #[error(
        "slice of array `{array}` starts or ends at byte {offset}, and arguments and copies start and end on a \
         multiple of {needed} bytes: use other bounds, or copy the part with `copy_region`, which accepts any bounds"
    )]
    Alignment { array: String, offset: u64, needed: u64 },
    /// The array is mapped. Until the map's guard is dropped, no command and no other map can use the array.
    #[error("array `{array}` is mapped; drop its guard before it is used again")]
    Mapped { array: String },
    /// The device may still use the pinned array. The `try_` methods return this error, and in a browser `host` and
    /// `host_mut` too.
    #[error("pinned array `{array}` is in use by the device: `host` and `host_mut` wait for the device")]
    Busy { array: String },
    /// A replay uploads a pinned array while the program has a guard with write access to it. `opened` is the source line
    /// that opened the guard.
    #[error(
        "the graph uploads pinned array `{array}`, and the guard opened at {opened} may still change it; drop the guard before \
         the replay"
    )]
    OpenGuard { array: String, opened: &'static Location<'static> },
    /// The array, kernel, event or pinned array was made by another context. If it is an argument of a kernel or a
    /// verb, `subject` names the latter, and `arg` the argument. Otherwise both are empty.
    #[error(
        "{}{object} belongs to another context: pass one of this context's own; for an array, `copy` copies it from one \
         context to another",
        argument(subject, arg)
    )]
    ForeignContext { subject: String, arg: String, object: String },
    /// A call needs a current context, and there is none.
    #[error("no context is current on this thread; run the call inside `Context::scope`")]
    NoContext,
    /// A queue waits for work of another context, and that work has failed. The queue can continue after the program
    /// has taken the error.
    #[error("{object}, in another context, failed: {error}")]
    OtherContext { object: String, error: Error },
    /// A host callback waits for work that can run only after the callback itself, directly or through other waiting
    /// callbacks. `callbacks` has the queues of these callbacks: the awaited work comes after the first callback, and
    /// each callback waits for the next.
    #[error(
        "a wait for queue `{queue}` inside a host callback can never end: {}; enqueue the later work instead of \
         waiting",
        chain(callbacks)
    )]
    WouldDeadlock { queue: String, callbacks: Vec<String> },
    /// A host function that replaces a kernel waits for its own device, which executes nothing until the function
    /// returns; or for another device, whose function waits for this one.
    #[error(
        "a wait for {awaited} inside a host function of a kernel can never end: the device of that work, or a device \
         that it waits for, executes nothing before the function returns; wait outside of it"
    )]
    WaitInKernel { awaited: String },
    /// A function that receives printed lines of kernels waits for work of the same context. Work after the lines
    /// completes only after the function returns.
    #[error(
        "a wait for {awaited} inside a function for printed lines is refused: what comes after the lines completes only after \
         the function returns; wait outside of the function"
    )]
    WaitInPrint { awaited: String },
    /// A wait needs a command that uses a pinned array, and the waiting thread holds a guard of that array. The command
    /// waits until the guard is dropped. `opened` is the source line that opened the guard.
    #[error(
        "a wait for queue `{queue}` can never end: its work uses pinned array `{array}`, and waits until this thread drops \
         the guard that it opened at {opened}; drop the guard before the wait"
    )]
    WaitInGuard { queue: String, array: String, opened: &'static Location<'static> },
    /// An unlimited wait needs the printed lines of a kernel to be delivered, and `receiver`, their receiver in
    /// [`PrintOptions::to`](crate::PrintOptions::to), has not taken them within
    /// [`PrintOptions::limit`](crate::PrintOptions::limit). The work itself continues, and a later wait returns its
    /// result.
    #[error(
        "a wait for {awaited} gives up after {limit:?}: {receiver} has not taken the lines of kernel `{kernel}`, launched at \
         {launch}; {remedy}, or raise `PrintOptions::limit`"
    )]
    PrintOverdue {
        awaited: String,
        receiver: &'static str,
        remedy: &'static str,
        kernel: String,
        launch: &'static Location<'static>,
        limit: std::time::Duration,
    },
    /// An assertion of a kernel failed, and so did the queue of the launch. `place` is where the statement is in the
    /// shader, and `invocation` the first invocation that failed, ordered by z, y and x. `text` is the message of the
    /// statement with its values, and may be empty. `count` is the number of failures in all invocations.
    #[error(
        "kernel `{kernel}`, launched at {launch}: the assertion `{condition}` at {place} failed in invocation {invocation:?}{}; \
         the launch has {}",
        if text.is_empty() { String::new() } else { format!(": {text}") },
        if *count == 1 { "1 failure".into() } else { format!("{count} failures") }
    )]
    AssertionFailed {
        kernel: String,
        launch: &'static Location<'static>,
        place: String,
        condition: String,
        text: String,
        invocation: [u32; 3],
        count: u32,
    },
    /// A host callback, or a function that receives printed lines, panicked, and its queue failed.
    #[error("a host callback of queue `{queue}` panicked: {panic}")]
    CallbackPanicked { queue: String, panic: String },
    /// [`Replay::cancel`](crate::Replay::cancel) cancelled the replay of this graph before its end, or the context was
    /// dropped while a loop of the graph ran. Commands that were enqueued between the replay and that call also end
    /// with this error.
    #[error(
        "the replay of graph `{graph}` was cancelled: `Replay::cancel` or the drop of its context ended it"
    )]
    Cancelled { graph: String },
    /// The backlog of the context is full, and the call must not block: see [`BacklogLimit`](crate::BacklogLimit).
    /// Nothing was enqueued.
    #[error(
        "queue `{queue}` takes no further command: {commands} commands with {bytes} bytes of memory wait, the limit \
         (`ContextOptions::backlog`) is {most_commands} commands or {most_bytes} bytes, and {why}; let the waiting \
         commands go on, wait for results before you enqueue more, or raise the limit"
    )]
    Backlog { queue: String, commands: usize, bytes: u64, most_commands: usize, most_bytes: u64, why: String },
    /// A loop with [`Bound::Chunked`](crate::Bound::Chunked) ran longer than
    /// [`ContextOptions::launch_limit`](crate::ContextOptions::launch_limit). The context stopped the loop, and its
    /// queue failed. `iterations` is the number of submitted iterations, and `launch` the source line of the replay.
    #[error(
        "a loop of graph `{graph}`, replayed at {launch}, ran longer than {limit:?}, the limit for a loop, and was stopped \
         after at most {iterations} iterations: make its condition 0 in time, give it a lower `Bound::Chunked`, or raise \
         `ContextOptions::launch_limit`"
    )]
    LoopTooLong {
        graph: String,
        launch: &'static Location<'static>,
        iterations: u64,
        limit: std::time::Duration,
    },
    /// On the CPU device, a launch ran longer than
    /// [`ContextOptions::launch_limit`](crate::ContextOptions::launch_limit). The device stopped it, and its queue
    /// failed. `launch` is the source line of the launch.
    #[error(
        "kernel `{kernel}`{} ran longer than {limit:?}, the limit for a launch on the CPU, and was stopped: give its loops \
         an end, launch less at once, or raise `ContextOptions::launch_limit`", launched(*launch)
    )]
    LaunchTooLong { kernel: String, launch: Option<&'static Location<'static>>, limit: std::time::Duration },
    /// A launch could not be executed to its end, and its queue failed. `launch` is the source line of the launch, and
    /// `problem` names the place in the kernel.
    #[error("kernel `{kernel}`{} ended early: {problem}", launched(*launch))]
    LaunchFailed { kernel: String, launch: Option<&'static Location<'static>>, problem: String },
    /// The checks of the context found mistakes in a launch, and its queue failed: see
    /// [`CheckOptions::fail_queue`](crate::CheckOptions::fail_queue). `launch` is the source line of the launch, and
    /// `first` describes the first mistake.
    #[error(
        "kernel `{kernel}`, launched at {launch}, has {}, which `Diagnostics::take_findings` lists; {}: {first}",
        if *mistakes == 1 { "1 mistake".into() } else { format!("{mistakes} mistakes") },
        if *mistakes == 1 { "it is" } else { "one is" }
    )]
    KernelMistakes { kernel: String, launch: String, mistakes: usize, first: String },
    /// Nothing can signal the user event any more.
    #[error(
        "event `{event}` was abandoned: everything that could signal it was dropped; keep a handle of it until it is \
         signalled"
    )]
    Abandoned { event: String },
    /// A call requests a time from an untimed queue.
    #[error(
        "queue `{queue}` is not timed: make it with `QueueOptions::default().timing(true)`, or the event with \
         `EventOptions::default().timing(true)`"
    )]
    Untimed { queue: String },
    /// Tuning of a queue was started while it was already running.
    #[error("queue `{queue}` {problem}")]
    Tuning { queue: String, problem: &'static str },
    /// A requested time does not exist. `reason` says why.
    #[error("the time of {object} is not measured: {reason}")]
    NotMeasured { object: String, reason: String },
    /// Two events are of different contexts or hardware queues.
    #[error(
        "the time between {first} and {second} is not known: use two events on one hardware queue of one context"
    )]
    Unrelated { first: String, second: String },
    /// No adapter fits. The message lists the adapters of the machine.
    #[error("{}", no_adapter(wanted, found))]
    NoAdapter { wanted: String, found: String },
    /// An environment variable has a value that is not allowed.
    #[error("variable `{name}` is `{value}`; it must be {needed}")]
    Setting { name: &'static str, value: String, needed: &'static str },
    /// A call cannot be captured. The capture fails with the same error.
    #[error("queue `{queue}` captures a graph, and `{call}` at {location} cannot be captured: {remedy}")]
    Captured { call: &'static str, queue: String, location: &'static Location<'static>, remedy: &'static str },
    /// A captured queue was used after the end of its capture.
    #[error(
        "queue `{queue}` belongs to a capture that has ended, and `{call}` at {location} uses it: use the queue only \
         in the function that `capture` calls"
    )]
    CaptureEnded { call: &'static str, queue: String, location: &'static Location<'static> },
    /// A forked queue of a capture was not joined.
    #[error(
        "queue `{queue}`, forked at {location}, has work that the captured queue does not wait for: add \
         `wait_for(&{queue})?` on the captured queue at the end of the function that forks it"
    )]
    Unjoined { queue: String, location: &'static Location<'static> },
    /// A node of a graph could not be replayed.
    #[error("node `{node}` of graph `{graph}`, {captured}, failed in the replay at {replayed}: {error}")]
    GraphNode {
        graph: String,
        node: String,
        captured: Box<Site>,
        replayed: &'static Location<'static>,
        error: Error,
    },
    /// The iterations of a loop in a graph have more dispatches than a graph may have.
    #[error(
        "`{call}` on queue `{queue}` at {location} expands to {dispatches} dispatches, the limit of a graph is \
         {limit}: lower the bound, or give the outer loop a `Bound::Chunked`, which is expanded in part"
    )]
    GraphTooLong {
        call: &'static str,
        queue: String,
        location: &'static Location<'static>,
        dispatches: u64,
        limit: u64,
    },
    /// A call on a graph or a capture is not possible; `problem` says why.
    #[error("graph `{graph}`: {problem}")]
    Graph { graph: String, problem: String },
    /// A graph file cannot be opened or read.
    #[error("graph file `{file}` was not read: {reason}; name a file that `Graph::save` wrote")]
    GraphFileUnread { file: String, reason: String },
    /// A graph file is damaged, or was written by a newer library. `offset` is the first wrong byte.
    #[error("graph file `{file}` is not valid at byte {offset}: {reason}")]
    GraphFile { file: String, offset: u64, reason: String },
    /// A part of a graph cannot be saved.
    #[error("graph `{graph}` cannot be saved because of node `{node}`: {reason}")]
    NotSavable { graph: String, node: String, reason: String },
    /// A loaded graph has an input without an array.
    #[error(
        "graph `{graph}` was loaded, and its input `{input}` has no array: bind one with \
         `graph.with().input(\"{input}\", &array)?`, or in an edit of the graph"
    )]
    Unbound { graph: String, input: String },
    /// A graph file needs more memory than the limit of the load.
    #[error(
        "graph file `{file}` needs {needed} bytes of memory, and the limit of the load is {limit}: raise \
         `LoadOptions::memory_limit` if the file is trusted"
    )]
    GraphMemory { file: String, needed: u64, limit: u64 },
    /// A graph has no input, value or node with this name. `what` is the kind of the missing object, and `known` has
    /// the names in the graph.
    #[error("graph `{graph}` has no {what} `{name}`: {}", names_of(what, known))]
    GraphName { graph: String, what: &'static str, name: String, known: Vec<String> },
    /// An array or a value does not fit the input, the value or the parameter that it replaces.
    #[error("graph `{graph}`: {object} is {expected}, and {found} was given")]
    GraphBinding { graph: String, object: String, expected: String, found: String },
    /// The device has no memory left, or the pool or the simulator has reached its limit; the context continues to
    /// work. `bytes` is 0 if the size is unknown.
    #[error("out of memory{}{object}{}", bytes_for(*bytes), limit.map_or_else(String::new, |limit| format!("; {limit}")))]
    OutOfMemory { object: String, bytes: u64, limit: Option<MemoryLimit> },
    /// An array needs more bytes than the device allows for one array.
    #[error("{object} needs {bytes} bytes; the device's limit for one array is {limit}")]
    TooLarge { object: String, bytes: u64, limit: u64 },
    /// An array needs more bytes than this program can address.
    #[error("{object}: shape {shape:?} of {size}-byte elements exceeds the address space of {limit} bytes")]
    Uncountable { object: String, shape: Vec<usize>, size: usize, limit: u64 },
    /// The device refused a call for a reason that has no more specific detail.
    #[error("the device refused {object}: {message}")]
    Device { object: String, message: String },
    /// The device is lost, with all its work and memory. The error is sticky: every later call returns it again.
    #[error("device `{device}` was lost: {reason}")]
    DeviceLost { device: String, reason: String },
    /// A buffer of the program lacks a property that the array needs.
    #[error("the buffer for array `{array}` has {found}; {needed} is needed")]
    Buffer { array: String, found: String, needed: String },
    /// Commands recorded by the program would use memory that wgpu does not track.
    #[error(
        "array `{array}` has no wgpu buffer that commands of the program can use; make it with \
         `Context::shared_array` or `Context::array_on`"
    )]
    NotShared { array: String },
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] fencepost_profile::FileError),
    /// A picture could not be read or written.
    #[error("picture `{path}` was not {done}: {reason}")]
    Image { path: String, done: &'static str, reason: String },
    /// An array has more elements along an axis than a picture can have pixels.
    #[error(
        "array `{array}` of {height} rows and {width} columns is too large for a picture, which has at most {limit} \
         pixels along an axis: make pictures of parts of the array, which `slice` returns"
    )]
    PictureTooLarge { array: String, height: usize, width: usize, limit: u32 },
    /// A call requests elements of another type than the array has.
    #[error("the array has elements of type `{found}`, and the call requests `{asked}`: request `{found}`")]
    Type { found: String, asked: String },
}

impl ErrorDetail {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::MisplacedArgument { .. }
            | Self::Aliased { .. }
            | Self::GridNegative { .. }
            | Self::BindingTooSmall { .. }
            | Self::Shape { .. }
            | Self::Rank { .. }
            | Self::Range { .. }
            | Self::RegionAxes { .. }
            | Self::Value { .. }
            | Self::Axis { .. }
            | Self::RegionIndex { .. }
            | Self::RegionRange { .. }
            | Self::Padding { .. }
            | Self::Alignment { .. }
            | Self::ForeignContext { .. }
            | Self::Unrelated { .. }
            | Self::Setting { .. }
            | Self::Graph { .. }
            | Self::GraphName { .. }
            | Self::GraphBinding { .. }
            | Self::Buffer { .. }
            | Self::NotShared { .. }
            | Self::Type { .. } => ErrorKind::InvalidInput,
            Self::Pending(fencepost_sync::Error::Taken)
            | Self::NoContext
            | Self::Forked { .. }
            | Self::Untimed { .. }
            | Self::Tuning { .. }
            | Self::Captured { .. }
            | Self::CaptureEnded { .. }
            | Self::Unjoined { .. }
            | Self::Unbound { .. }
            | Self::NotSavable { .. } => ErrorKind::InvalidState,
            Self::Kernel(error) => kind_of_kernel(error),
            Self::Compile { .. } => ErrorKind::Kernel,
            Self::GridTooLarge { .. }
            | Self::WorkgroupTooLarge { .. }
            | Self::WorkgroupMemory { .. }
            | Self::TooManyBindings { .. }
            | Self::TooManyParameters { .. }
            | Self::BindingTooLarge { .. }
            | Self::MessagesTooLarge { .. }
            | Self::Unsupported { .. }
            | Self::NotMeasured { .. }
            | Self::GraphTooLong { .. }
            | Self::PictureTooLarge { .. } => ErrorKind::Unsupported,
            Self::OutOfMemory { .. }
            | Self::TooLarge { .. }
            | Self::Uncountable { .. }
            | Self::GraphMemory { .. } => ErrorKind::OutOfMemory,
            Self::NoAdapter { .. } => ErrorKind::NoAdapter,
            Self::Hazard { .. } => ErrorKind::Hazard,
            Self::Pending(fencepost_sync::Error::WouldBlock)
            | Self::Mapped { .. }
            | Self::Busy { .. }
            | Self::OpenGuard { .. }
            | Self::PrintOverdue { .. }
            | Self::Backlog { .. } => ErrorKind::WouldBlock,
            Self::WouldDeadlock { .. }
            | Self::WaitInKernel { .. }
            | Self::WaitInPrint { .. }
            | Self::WaitInGuard { .. } => ErrorKind::Deadlock,
            Self::AssertionFailed { .. }
            | Self::CallbackPanicked { .. }
            | Self::LaunchFailed { .. }
            | Self::KernelMistakes { .. } => ErrorKind::Failed,
            Self::LoopTooLong { .. } | Self::LaunchTooLong { .. } => ErrorKind::TimedOut,
            Self::Cancelled { .. } | Self::Abandoned { .. } => ErrorKind::Cancelled,
            Self::Pending(_) | Self::Device { .. } => ErrorKind::Device,
            Self::DeviceLost { .. } => ErrorKind::DeviceLost,
            Self::GraphFileUnread { .. } | Self::GraphFile { .. } | Self::File(_) | Self::Image { .. } => {
                ErrorKind::File
            }
            Self::OtherContext { error, .. } | Self::GraphNode { error, .. } => error.kind(),
        }
    }
}

fn kind_of_kernel(error: &fencepost_kernels::Error) -> ErrorKind {
    match error {
        fencepost_kernels::Error::Unreadable { .. } => ErrorKind::File,
        fencepost_kernels::Error::NoThread { .. } => ErrorKind::OutOfMemory,
        _ => ErrorKind::Kernel,
    }
}

/// Returns the source line of a launch, as a phrase to follow the name of the kernel.
fn launched(launch: Option<&'static Location<'static>>) -> String {
    launch.map_or_else(String::new, |launch| format!(", launched at {launch},"))
}

/// Returns the argument of a kernel or a verb, as the beginning of a sentence. It is empty if there is no argument.
fn argument(subject: &str, arg: &str) -> String {
    if subject.is_empty() { String::new() } else { format!("{subject}, argument `{arg}`: ") }
}

/// Returns the number of axes and the index of the last one, in words.
fn axes(rank: usize) -> String {
    match rank {
        0 => "no axis: `reshape` gives it one".into(),
        1 => "1 axis: pass axis 0".into(),
        _ => format!("{rank} axes: pass an axis from 0 to {}", rank - 1),
    }
}

/// Describes the chain in which the callbacks wait for each other.
fn chain(callbacks: &[String]) -> String {
    let names: Vec<String> =
        callbacks.iter().map(|queue| format!("the callback of queue `{queue}`")).collect();
    format!("its work comes after {}, which waits for that work", names.join(", which waits for "))
}

fn no_adapter(wanted: &str, found: &str) -> String {
    match found.strip_prefix("none; ") {
        Some(remedy) => format!("this machine has no adapter: {remedy}"),
        None => format!("no adapter fits {wanted}; this machine has: {found}"),
    }
}

/// Returns the number of bytes in words. It is empty for 0, which means an unknown number.
fn bytes_for(bytes: u64) -> String {
    if bytes == 0 { " for ".into() } else { format!(": {bytes} bytes for ") }
}

/// Lists the names that a graph has, for an error.
fn names_of(what: &str, known: &[String]) -> String {
    if known.is_empty() {
        return format!("it has no named {what}");
    }
    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    format!("it has {}", names.join(", "))
}

/// Returns the text of a panic, and drops the payload, whose destructor is user code too.
pub(crate) fn panic_text(payload: Box<dyn Any + Send>) -> String {
    let text = text_of(&*payload).to_owned();
    drop_payload(payload);
    text
}

/// Returns the text of a panic.
pub(crate) fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a text")
}

/// The number of a kernel in its context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct KernelId(pub(crate) u32);

/// Returns the name, in profiles, of a kernel that a verb launches: with a `/`, which no WGSL name contains.
pub(crate) fn label_of_verb(verb: &str, entry: &str) -> String {
    format!("{verb}/{entry}")
}

/// Returns how messages refer to a launch: by the verb, or by the program's kernel. `label` is the name of the kernel
/// in profiles.
pub(crate) fn subject(label: &str) -> String {
    match label.split_once('/') {
        Some((verb, _)) => format!("verb `{verb}`"),
        None => format!("kernel `{label}`"),
    }
}

/// The kind of a command. The type is small, because it is stored in each recorded use of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum CommandKind {
    Launch(KernelId),
    Copy,
    Fill,
    Upload,
    Read,
    Download,
    Encode,
    /// A node of a graph that decides if other nodes execute.
    Gate,
    /// A replay of the graph whose name has this number in the list of kernel names.
    Replay(KernelId),
    /// A part of a replay, in another context than that of the replay's queue, with the number of the graph's name
    /// there.
    ReplayPart(KernelId),
    Map,
    /// One side of a copy between contexts, which the context itself enqueues.
    BetweenContexts,
    /// A read that the context itself enqueues, for `to_vec` and `display`.
    Inspect,
}

impl CommandKind {
    /// Returns the name of the verb that enqueues the command, for messages.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Self::Launch(_) => "launch",
            Self::Copy | Self::BetweenContexts => "copy",
            Self::Fill => "fill",
            Self::Upload => "upload",
            Self::Read | Self::Inspect => "read",
            Self::Download => "download",
            Self::Encode => "encode",
            Self::Replay(_) | Self::ReplayPart(_) => "replay",
            Self::Map => "map",
            Self::Gate => "a condition",
        }
    }
}

/// Where in the program a command comes from: its queue, its kind, and the source line that enqueued it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Site {
    /// Name of the queue.
    pub queue: Arc<str>,
    /// Kind of the command; for a launch, with the kernel's name.
    pub command: String,
    /// Source line that enqueued the command.
    pub location: &'static Location<'static>,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on queue `{}` at {}", self.command, self.queue, self.location)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_prints_the_message_of_an_error() {
        let error = Error::from(ErrorDetail::CallbackPanicked { queue: "q".into(), panic: "why".into() });
        assert_eq!(format!("{error:?}"), "a host callback of queue `q` panicked: why");
        assert_eq!(format!("{:?}", Err::<(), _>(&error)), "Err(a host callback of queue `q` panicked: why)");
        assert!(format!("{error:#?}").contains("CallbackPanicked {"));
    }

    #[test]
    fn an_error_of_a_part_has_the_kind_of_its_cause() {
        let cause = Error::from(ErrorDetail::DeviceLost { device: "d".into(), reason: "r".into() });
        let there = Error::from(ErrorDetail::OtherContext { object: "queue `a`".into(), error: cause });
        assert_eq!(there.kind(), ErrorKind::DeviceLost);
        assert!(matches!(there.detail(), ErrorDetail::OtherContext { .. }));
    }

    #[test]
    fn a_shader_file_that_cannot_be_read_is_a_file() {
        let error = fencepost_kernels::ShaderSource::read("no/such/file.wgsl").unwrap_err();
        assert_eq!(Error::from(error).kind(), ErrorKind::File);
    }

    #[test]
    fn a_blocking_wait_in_a_browser_would_block() {
        use fencepost_sync::Error as PendingError;
        assert_eq!(Error::from(PendingError::WouldBlock).kind(), ErrorKind::WouldBlock);
        assert_eq!(Error::from(PendingError::Taken).kind(), ErrorKind::InvalidState);
        assert_eq!(Error::from(PendingError::Fence { reason: "r".into() }).kind(), ErrorKind::Device);
    }
}

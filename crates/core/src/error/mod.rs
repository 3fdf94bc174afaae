//! What can go wrong, with the object, the value found and the limit.

pub(crate) mod site;

use crate::error::site::Site;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. Cheap to clone: a sticky error is returned many times.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// use fencepost::Kind;
/// let error = ctx.zeros::<f32, 1>([usize::MAX / 8]).unwrap_err();
/// assert!(matches!(error.kind(), Kind::TooLarge { .. }));
/// # drop(queue);
/// ```
#[derive(Clone, thiserror::Error)]
#[error("{0}")]
pub struct Error(Arc<Kind>);

/// The message: what `main` prints of an error that it returns, and what `unwrap` says. `{:#?}` has the fields of the
/// [kind](Error::kind).
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
    /// What went wrong, to match on.
    pub fn kind(&self) -> &Kind {
        &self.0
    }

    /// Whether this is `other` itself, not another error of the same kind.
    pub(crate) fn is(&self, other: &Error) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<K: Into<Kind>> From<K> for Error {
    fn from(kind: K) -> Self {
        Self(Arc::new(kind.into()))
    }
}

/// The [limit of the pool](crate::Context::set_pool_limit) that is in the way of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{used} of the {limit} bytes that the pool may take are in arrays")]
#[non_exhaustive]
pub struct PoolLimit {
    /// Bytes in arrays, pinned ones too.
    pub used: u64,
    /// Bytes that the pool may take of the driver.
    pub limit: u64,
}

/// What went wrong, to match on: [`Error::kind`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the words of the message")]
pub enum Kind {
    /// Shader and arguments do not fit, or the text is not WGSL.
    #[error(transparent)]
    Kernel(#[from] fencepost_kernels::Error),
    /// A late result was asked for twice, or by blocking where nothing may block.
    #[error(transparent)]
    Pending(#[from] fencepost_sync::Error),
    /// Under [`Policy::Checked`](crate::Policy::Checked): two queues use the same bytes and nothing orders them.
    /// `access` is what the earlier one does, `later_access` what the later one does: `read` or `write`. `gone`: the
    /// program has dropped the queue of the earlier one, so that no call can name it.
    #[error(
        "nothing orders two uses of bytes {range:?} of array `{array}`\n  \
        earlier: {access} by {earlier}\n  \
        later:   {later_access} by {later}\n  \
        help:    add `{wait}` before it{}",
        if *gone { format!("; queue `{}` is gone", earlier.queue) } else { String::new() }
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
    /// Two arguments of a launch overlap, and one of them is written.
    #[error(
        "kernel `{kernel}`: arguments `{first}` and `{second}` overlap in array `{array}`, and one of them is written: pass parts that do not overlap, or a copy"
    )]
    Aliased { kernel: String, first: String, second: String, array: String },
    /// More workgroups than the device takes in one dimension. `folds`: two dimensions would take them, and the kernel finds
    /// its index by `linear_id`, which is a `u32`.
    #[error(
        "grid of {groups:?} workgroups is over the device's limit of {limit} per dimension: {}",
        if *folds {
            "`linear_id` counts 4294967295 invocations at most, those that whole workgroups and rows add included: launch the \
             kernel once for each part, which `slice` gives"
        } else {
            "give it more dimensions, or have the kernel find its index by `linear_id` of the snippet `linear`, so that \
             `Grid::threads` folds one dimension into two"
        }
    )]
    GridTooLarge { groups: [u64; 3], limit: u32, folds: bool },
    /// A grid with a negative number.
    #[error("grid of {size:?}: a number of threads or workgroups is 0 or more")]
    GridNegative { size: [i64; 3] },
    /// A workgroup of more invocations than the device takes.
    #[error(
        "kernel `{kernel}`: a workgroup of {found:?} invocations is over the device's limit of {limit:?}, {total} in all: give \
         it a smaller `@workgroup_size`"
    )]
    WorkgroupTooLarge { kernel: String, found: [u32; 3], limit: [u32; 3], total: u32 },
    /// More workgroup memory than the device has for one workgroup.
    #[error(
        "kernel `{kernel}`: {found} bytes of workgroup memory are over the device's limit of {limit}: make its \
         `var<workgroup>` smaller, or keep a part of them in an array of the device"
    )]
    WorkgroupMemory { kernel: String, found: u64, limit: u64 },
    /// More arrays than the device binds at once.
    #[error(
        "kernel `{kernel}` binds {found} arrays, the device's limit is {limit}: put several into one array, or split the kernel"
    )]
    TooManyBindings { kernel: String, found: usize, limit: u32 },
    /// More bytes of parameters than a launch carries.
    #[error(
        "kernel `{kernel}` has {found} bytes of parameters, the limit is {limit}: put them into an array, which the shader \
         declares `var<storage, read>`"
    )]
    TooManyParameters { kernel: String, found: u32, limit: u32 },
    /// Fewer bytes are bound than the shader's type needs.
    #[error(
        "kernel `{kernel}`, argument `{arg}`: {found} bytes bound, the shader's type needs at least {needed}: pass a longer \
         array, or declare an array without a length in the shader"
    )]
    BindingTooSmall { kernel: String, arg: String, found: u64, needed: u64 },
    /// More bytes are bound than the device binds as one array.
    #[error(
        "kernel `{kernel}`, argument `{arg}`: {found} bytes bound, the device's limit for one binding is {limit}: launch it once \
         for each part, which `slice` gives"
    )]
    BindingTooLarge { kernel: String, arg: String, found: u64, limit: u64 },
    /// The shader needs an ability that the adapter lacks.
    #[error("kernel `{kernel}` needs {what}, which adapter `{adapter}` lacks")]
    Unsupported { kernel: String, what: String, adapter: String },
    /// The CPU recorder has no function for the kernel.
    #[error(
        "kernel `{kernel}` has no reference function: the CPU recorder runs built-in kernels and those given to `host_kernel`"
    )]
    NoReference { kernel: String },
    /// The driver refuses the kernel.
    #[error("the driver rejected kernel `{kernel}`: {message}")]
    Compile { kernel: String, message: String },
    /// The shapes, or the numbers of elements, do not fit.
    #[error("{object} has shape {found:?}, {expected:?} is needed: {remedy}")]
    Shape { object: String, found: Vec<usize>, expected: Vec<usize>, remedy: &'static str },
    /// An array is asked for with more or fewer dimensions than it has.
    #[error(
        "array `{array}` has {found} dimensions, and is asked for with {asked}: ask for {found}, and `reshape` what comes"
    )]
    Rank { array: String, found: usize, asked: usize },
    /// A part that is not in the array.
    #[error("range {range:?} is outside array `{array}` of {len} elements")]
    Range { array: String, range: Range<usize>, len: usize },
    /// A region with more items than the array has axes.
    #[error("region {region} names {named} axes of array `{array}`, which has {rank}")]
    RegionAxes { array: String, region: String, named: usize, rank: usize },
    /// An index of a region that is not on its axis.
    #[error("index {index} is outside axis {axis} of array `{array}`, which has {len} elements there")]
    RegionIndex { array: String, axis: usize, index: i128, len: usize },
    /// A range of a region that is not on its axis, or picks nothing, or goes backwards.
    #[error("range {range} of axis {axis} {problem}: array `{array}` has {len} elements there")]
    RegionRange { array: String, axis: usize, range: String, len: usize, problem: &'static str },
    /// Elements of an array do not lie as its padding, or the lack of it, needs.
    #[error("{object} of shape {shape:?} has padded shape {padded:?}; {needed} is needed")]
    Padding { object: String, shape: Vec<usize>, padded: Vec<usize>, needed: &'static str },
    /// A slice starts or ends where arguments or copies cannot.
    #[error(
        "slice of array `{array}` starts or ends at byte {offset}, and arguments and copies start and end on a multiple of {needed} \
         bytes: take other bounds, or copy the part with `copy_region`, which takes any"
    )]
    Alignment { array: String, offset: u64, needed: u64 },
    /// The array is mapped and cannot be enqueued, nor mapped again.
    #[error("array `{array}` is mapped; drop its guard before it is used again")]
    Mapped { array: String },
    /// The device may still use the pinned array: what the `try_` methods say.
    #[error("pinned array `{array}` is in use by the device")]
    Busy { array: String },
    /// The array, kernel, event or pinned array was made by another context.
    #[error(
        "{object} belongs to another context: pass one of this context's own; `copy` brings the elements of an array over"
    )]
    ForeignContext { object: String },
    /// A context was asked for where none is current.
    #[error("no context is current on this thread; run the call inside `Context::scope`")]
    NoContext,
    /// What a queue waits for in another context has failed. The queue works on once its error is taken.
    #[error("{object}, in another context, failed: {error}")]
    OtherContext { object: String, error: Error },
    /// A host callback waits for what waits for it: for work behind it, or for work behind another callback that waits, and
    /// so on. `callbacks` are their queues: the work is behind the first, and each waits for the next.
    #[error(
        "a wait for queue `{queue}` inside a host callback can never end: {}; enqueue what is to come after it instead",
        chain(callbacks)
    )]
    WouldDeadlock { queue: String, callbacks: Vec<String> },
    /// A host callback panicked, and its queue ended with it.
    #[error("a host callback of queue `{queue}` panicked")]
    CallbackPanicked { queue: String },
    /// Nobody can signal the user event any more.
    #[error(
        "event `{event}` was abandoned: everything that could signal it was dropped; keep a handle of it until it is signalled"
    )]
    Abandoned { event: String },
    /// A time was asked for of a queue that is not timed.
    #[error(
        "queue `{queue}` is not timed: make it with `QueueOptions {{ timing: true, .. }}`, or the event with \
         `EventOptions {{ timing: true }}`"
    )]
    Untimed { queue: String },
    /// A tuning of a queue was started twice, or stopped and never started.
    #[error("queue `{queue}` {problem}")]
    Tuning { queue: String, problem: &'static str },
    /// There is no time, and so no number.
    #[error("the time of {object} is not measured: {reason}")]
    NotMeasured { object: String, reason: String },
    /// Two events of different contexts or hardware queues.
    #[error(
        "the time between {first} and {second} is not known: only events on one hardware queue of one context have one"
    )]
    Unrelated { first: String, second: String },
    /// No adapter fits; the message lists those that there are.
    #[error("{}", no_adapter(wanted, found))]
    NoAdapter { wanted: String, found: String },
    /// A variable of the environment says what it cannot.
    #[error("variable `{name}` is `{value}`; it must be {needed}")]
    Setting { name: &'static str, value: String, needed: &'static str },
    /// The device has no memory left, or the pool may take no more; the context works on. `bytes` is 0 where the driver
    /// knows what it wanted them for and nobody else knows how many.
    #[error("out of memory{}{object}{}", bytes_for(*bytes), limit.map_or_else(String::new, |limit| format!(", {limit}")))]
    OutOfMemory { object: String, bytes: u64, limit: Option<PoolLimit> },
    /// More bytes than the device takes for one array.
    #[error("{object} needs {bytes} bytes; the device's limit for one array is {limit}")]
    TooLarge { object: String, bytes: u64, limit: u64 },
    /// More bytes than this program could address.
    #[error(
        "{object}: there are no {shape:?} elements of {size} bytes in the {limit} bytes that can be addressed"
    )]
    Uncountable { object: String, shape: Vec<usize>, size: usize, limit: u64 },
    /// The device refused a call for a reason of its own.
    #[error("the device refused {object}: {message}")]
    Device { object: String, message: String },
    /// The device is gone, and with it everything that was to come. Sticky: every later call says it again.
    #[error("device `{device}` was lost: {reason}")]
    DeviceLost { device: String, reason: String },
    /// A buffer of the program's own on which the array cannot lie.
    #[error("the buffer for array `{array}` has {found}; {needed} is needed")]
    Buffer { array: String, found: String, needed: String },
    /// The program's own commands are to use memory that wgpu does not know.
    #[error(
        "array `{array}` lies on no wgpu buffer that commands of the program could use; make it with `Context::shared_array` or `Context::array_on`"
    )]
    NotShared { array: String },
    /// A file could not be written.
    #[error("file `{path}` was not written: {reason}")]
    File { path: String, reason: String },
    /// A picture was not read or written.
    #[error("picture `{path}` was not {done}: {reason}")]
    Image { path: String, done: &'static str, reason: String },
    /// The elements are of another type.
    #[error("the array of type `{found}` was asked for as `{asked}`")]
    Type { found: String, asked: String },
}

/// How the callbacks wait for each other.
fn chain(callbacks: &[String]) -> String {
    let names: Vec<String> = callbacks.iter().map(|queue| format!("that of queue `{queue}`")).collect();
    format!("it comes after {}, which waits for it", names.join(", which waits for "))
}

fn no_adapter(wanted: &str, found: &str) -> String {
    match found.strip_prefix("none; ") {
        Some(remedy) => format!("this machine has no adapter: {remedy}"),
        None => format!("no adapter fits {wanted}; this machine has: {found}"),
    }
}

/// How many bytes, where that is known.
fn bytes_for(bytes: u64) -> String {
    if bytes == 0 { " for ".into() } else { format!(": {bytes} bytes for ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_main_prints_of_an_error_is_its_message() {
        let error = Error::from(Kind::Busy { array: "x".into() });
        assert_eq!(format!("{error:?}"), "pinned array `x` is in use by the device");
        assert_eq!(format!("{:?}", Err::<(), _>(&error)), "Err(pinned array `x` is in use by the device)");
        assert!(format!("{error:#?}").contains("Busy {"));
    }
}

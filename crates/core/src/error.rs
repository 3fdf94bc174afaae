//! What can go wrong, with the object, the value found and the limit.

use crate::command::Site;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. Cheap to clone: a sticky error is returned many times.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost_core::doctest();
/// use fencepost_core::Kind;
/// let error = ctx.zeros::<f32, 1>([usize::MAX / 8]).unwrap_err();
/// assert!(matches!(error.kind(), Kind::TooLarge { .. }));
/// # drop(queue);
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(Arc<Kind>);

impl Error {
    /// What went wrong, to match on.
    pub fn kind(&self) -> &Kind {
        &self.0
    }
}

impl<K: Into<Kind>> From<K> for Error {
    fn from(kind: K) -> Self {
        Self(Arc::new(kind.into()))
    }
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Kind {
    #[error(transparent)]
    Kernel(#[from] fencepost_kernels::Error),
    #[error(transparent)]
    Pending(#[from] fencepost_sync::Error),
    #[error("{later} uses bytes {range:?} of array `{array}` while {earlier} may still {access} them; add `{wait}` before it")]
    Hazard { array: String, range: Range<u64>, earlier: Box<Site>, later: Box<Site>, access: &'static str, wait: String },
    #[error("kernel `{kernel}`: arguments `{first}` and `{second}` overlap in array `{array}`, and one of them is written")]
    Aliased { kernel: String, first: String, second: String, array: String },
    #[error("grid of {groups:?} workgroups is over the device's limit of {limit} per dimension")]
    GridTooLarge { groups: [u64; 3], limit: u32 },
    #[error("kernel `{kernel}`: a workgroup of {found:?} invocations is over the device's limit of {limit:?}, {total} in all")]
    WorkgroupTooLarge { kernel: String, found: [u32; 3], limit: [u32; 3], total: u32 },
    #[error("kernel `{kernel}` binds {found} arrays, the device's limit is {limit}")]
    TooManyBindings { kernel: String, found: usize, limit: u32 },
    #[error("kernel `{kernel}`, argument `{arg}`: {found} bytes bound, the shader's type needs at least {needed}")]
    BindingTooSmall { kernel: String, arg: String, found: u64, needed: u64 },
    #[error("kernel `{kernel}`, argument `{arg}`: {found} bytes bound, the device's limit for one binding is {limit}")]
    BindingTooLarge { kernel: String, arg: String, found: u64, limit: u64 },
    #[error("kernel `{kernel}` needs {what}, which adapter `{adapter}` lacks")]
    Unsupported { kernel: String, what: String, adapter: String },
    #[error("kernel `{kernel}` has no reference function: the CPU recorder runs built-in kernels and those given to `host_kernel`")]
    NoReference { kernel: String },
    #[error("the driver rejected kernel `{kernel}`: {message}")]
    Compile { kernel: String, message: String },
    #[error("{object} has shape {found:?}, {expected:?} is needed")]
    Shape { object: String, found: Vec<usize>, expected: Vec<usize> },
    #[error("range {range:?} is outside array `{array}` of {len} elements")]
    Range { array: String, range: Range<usize>, len: usize },
    #[error("slice of array `{array}` starts at byte {offset}; arguments and copies must start on a multiple of {needed} bytes")]
    Alignment { array: String, offset: u64, needed: u64 },
    #[error("array `{array}` is mapped; drop its guard before it is used again")]
    Mapped { array: String },
    #[error("pinned array `{array}` is in use by the device")]
    Busy { array: String },
    #[error("{object} belongs to another context")]
    ForeignContext { object: String },
    #[error("a wait inside a host callback of queue `{queue}` for something behind that callback can never end")]
    WouldDeadlock { queue: String },
    #[error("a host callback of queue `{queue}` panicked")]
    CallbackPanicked { queue: String },
    #[error("event `{event}` was abandoned: everything that could signal it was dropped")]
    Abandoned { event: String },
    #[error("no adapter fits {wanted}; this machine has: {found}")]
    NoAdapter { wanted: String, found: String },
    #[error("`{variable}` is `{value}`; {expected}")]
    Environment { variable: String, value: String, expected: String },
    #[error("out of memory: {bytes} bytes for {object}")]
    OutOfMemory { object: String, bytes: u64 },
    #[error("{object} needs {bytes} bytes; the device's limit for one array is {limit}")]
    TooLarge { object: String, bytes: u64, limit: u64 },
    #[error("the device refused {object}: {message}")]
    Device { object: String, message: String },
    #[error("device `{device}` was lost: {reason}")]
    DeviceLost { device: String, reason: String },
    #[error("not done within {limit:?}; the work goes on")]
    Timeout { limit: Duration },
    #[error("the array of type `{found}` was asked for as `{asked}`")]
    Type { found: String, asked: String },
}

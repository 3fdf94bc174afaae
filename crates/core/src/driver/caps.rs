//! The limits and features of a device.

use crate::error::ErrorDetail;
use fencepost_kernels::ShaderLanguage;
use fencepost_sync::Lost;

/// Maximum size of an array whose elements can all be counted: the address space of the host, without the last bytes
/// that arrays do not use.
pub(crate) const MAX_COUNTED: u64 = isize::MAX as u64 / 16 * 16;

/// Device limits and features that are checked when commands are enqueued.
#[derive(Clone, Debug)]
pub(crate) struct Caps {
    /// Name of the adapter, for messages.
    pub(crate) adapter: String,
    /// `true` if the device is software on the host's processor.
    pub(crate) software: bool,
    /// Maximum size of an array in bytes.
    pub(crate) max_block: u64,
    /// Maximum size of a binding in bytes.
    pub(crate) max_binding: u64,
    /// Alignment of an argument's offset, in bytes.
    pub(crate) binding_alignment: u64,
    pub(crate) max_bindings: u32,
    /// Limit of binding indices: each must be smaller.
    pub(crate) max_binding_index: u32,
    /// Maximum number of workgroups of a launch in each dimension.
    pub(crate) max_groups: u32,
    pub(crate) max_workgroup: [u32; 3],
    /// Maximum number of invocations of a workgroup.
    pub(crate) max_invocations: u32,
    /// Maximum size of workgroup memory in bytes.
    pub(crate) max_workgroup_memory: u64,
    /// Maximum size of immediates in bytes. Larger parameters are passed in a uniform buffer.
    pub(crate) max_immediates: u32,
    pub(crate) f16: bool,
    pub(crate) f64: bool,
    pub(crate) int64: bool,
    pub(crate) subgroups: bool,
    pub(crate) float32_atomics: bool,
    /// Language that the driver compiles; `None` if there is no driver that compiles kernels.
    pub(crate) shader_language: Option<ShaderLanguage>,
    /// `true` if the device compiles trusted kernels without redundant runtime checks.
    pub(crate) trusts: bool,
    /// `true` if commands can read the device's clock.
    pub(crate) timestamps: bool,
    /// `true` if the compiler of the browser takes only pointers to whole variables as arguments.
    pub(crate) whole_pointers: bool,
}

impl Caps {
    /// Returns the error for the loss of the device.
    pub(crate) fn lost(&self, lost: Lost) -> ErrorDetail {
        ErrorDetail::DeviceLost { device: self.adapter.clone(), reason: lost.reason }
    }
}

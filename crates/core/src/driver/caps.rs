//! The limits and abilities of a device.

use crate::error::ErrorDetail;
use fencepost_kernels::BackEnd;
use fencepost_sync::Lost;

/// Device limits and abilities that the checks of enqueuing calls need.
#[derive(Clone, Debug)]
pub(crate) struct Caps {
    /// Name of the adapter, for messages.
    pub(crate) adapter: String,
    /// `true` if the device is a program on the host's processor.
    pub(crate) software: bool,
    /// Most bytes of an array.
    pub(crate) max_block: u64,
    /// Most bytes of a binding.
    pub(crate) max_binding: u64,
    /// Alignment of an argument's offset, in bytes.
    pub(crate) binding_alignment: u64,
    pub(crate) max_bindings: u32,
    /// Limit of the index of a binding: each index is smaller than this value.
    pub(crate) max_binding_index: u32,
    /// Most workgroups of a launch in each dimension.
    pub(crate) max_groups: u32,
    pub(crate) max_workgroup: [u32; 3],
    /// Most invocations of a workgroup.
    pub(crate) max_invocations: u32,
    /// Most bytes of workgroup memory.
    pub(crate) max_workgroup_memory: u64,
    /// Most bytes of immediates. A uniform buffer holds larger parameters.
    pub(crate) max_immediates: u32,
    pub(crate) f16: bool,
    pub(crate) f64: bool,
    pub(crate) int64: bool,
    pub(crate) subgroups: bool,
    pub(crate) float32_atomics: bool,
    /// Language that the driver compiles, if a driver compiles kernels.
    pub(crate) back_end: Option<BackEnd>,
    /// `true` if the device compiles trusted kernels without the runtime checks that they do not need.
    pub(crate) trusts: bool,
    /// `true` if commands can read the device's clock.
    pub(crate) timestamps: bool,
}

impl Caps {
    /// Returns the error for the loss of the device.
    pub(crate) fn lost(&self, lost: Lost) -> ErrorDetail {
        ErrorDetail::DeviceLost { device: self.adapter.clone(), reason: lost.reason }
    }
}

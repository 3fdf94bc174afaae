//! What a device can do.

/// The limits and abilities that checks in enqueuing calls need.
#[derive(Clone, Debug)]
pub(crate) struct Caps {
    /// The adapter's name, for messages.
    pub(crate) adapter: String,
    /// Whether it is no hardware but a program on the host's processor.
    pub(crate) software: bool,
    /// Bytes of the largest array.
    pub(crate) max_block: u64,
    /// Bytes of the largest binding.
    pub(crate) max_binding: u64,
    /// Bytes on which an argument must start.
    pub(crate) binding_alignment: u64,
    pub(crate) max_bindings: u32,
    /// Indices of bindings are below this.
    pub(crate) max_binding_index: u32,
    /// Workgroups in each dimension of a launch.
    pub(crate) max_groups: u32,
    pub(crate) max_workgroup: [u32; 3],
    /// Invocations in a workgroup.
    pub(crate) max_invocations: u32,
    /// Bytes of workgroup memory.
    pub(crate) max_workgroup_memory: u64,
    /// Bytes of immediates; larger parameters go through the uniform ring.
    pub(crate) max_immediates: u32,
    pub(crate) f16: bool,
    pub(crate) f64: bool,
    pub(crate) int64: bool,
    pub(crate) subgroups: bool,
    pub(crate) float32_atomics: bool,
    /// Whether its clock can be read between commands.
    pub(crate) timestamps: bool,
}

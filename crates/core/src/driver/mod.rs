//! wgpu and wgpu-hal as all other rooms need them: error scopes, one thread at a time on GL, limits, what backends do differently.

#[cfg(native)]
pub(crate) mod backend;
pub(crate) mod caps;
pub(crate) mod erased;
pub(crate) mod error_scopes;
pub(crate) mod gl_gate;
#[cfg(native)]
pub(crate) mod hal_encoder;
pub(crate) mod reach;

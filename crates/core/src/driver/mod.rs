//! Wrappers of wgpu and wgpu-hal: error scopes, the lock of GL, limits, and differences between backends.

#[cfg(native)]
pub(crate) mod backend;
pub(crate) mod caps;
pub(crate) mod erased;
pub(crate) mod error_scopes;
pub(crate) mod gl_gate;
#[cfg(native)]
pub(crate) mod native_queue;
#[cfg(native)]
pub(crate) mod reusable_encoders;

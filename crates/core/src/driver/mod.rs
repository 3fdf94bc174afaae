//! Wrappers of wgpu and wgpu-hal: error scopes, the lock of GL, limits, differences between backends, and tasks of a page.

#[cfg(native)]
pub(crate) mod backend;
pub(crate) mod caps;
pub(crate) mod erased;
pub(crate) mod error_scopes;
pub(crate) mod gl_gate;
#[cfg(native)]
pub(crate) mod native_queue;
#[cfg(target_arch = "wasm32")]
pub(crate) mod page;
#[cfg(native)]
pub(crate) mod reusable_encoders;

//! The memory of arrays: blocks, the uses of their bytes, staging memory, and the pool.

pub(crate) mod allocations;
pub(crate) mod block;
pub(crate) mod cpu_memory;
pub(crate) mod external_buffers;
pub(crate) mod host_access;
#[cfg(any(native, cpu))]
pub(crate) mod host_view;
#[cfg(not(any(native, cpu)))]
#[path = "no_host_view.rs"]
pub(crate) mod host_view;
#[cfg(native)]
pub(crate) mod native_memory;
#[cfg(not(native))]
#[path = "no_native_memory.rs"]
pub(crate) mod native_memory;
pub(crate) mod pool;
pub(crate) mod read_slot;
pub(crate) mod region;
#[cfg(cpu)]
pub(crate) mod shared_memory;
pub(crate) mod staging;
pub(crate) mod uses;
pub(crate) mod wgpu_memory;

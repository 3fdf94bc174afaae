//! The memory of arrays: blocks, the uses of their bytes, staging memory, the pool.

pub(crate) mod allocation_book;
pub(crate) mod allocation_report;
pub(crate) mod array_shape;
pub(crate) mod block;
pub(crate) mod byte_meter;
pub(crate) mod cpu_memory;
pub(crate) mod external_blocks_by_buffer;
pub(crate) mod external_buffers;
pub(crate) mod free_list;
pub(crate) mod heap;
pub(crate) mod host_access;
pub(crate) mod host_right;
pub(crate) mod last_use;
pub(crate) mod message_source;
#[cfg(native)]
pub(crate) mod native_memory;
#[cfg(not(native))]
#[path = "no_native_memory.rs"]
pub(crate) mod native_memory;
pub(crate) mod pool;
pub(crate) mod read_slot;
pub(crate) mod recent_peak;
pub(crate) mod region;
pub(crate) mod region_iter;
pub(crate) mod repeated_use;
pub(crate) mod shape;
#[cfg(cpu_code)]
pub(crate) mod shared_memory;
pub(crate) mod spare_buffers;
pub(crate) mod staged_bytes;
pub(crate) mod staging;
pub(crate) mod uses;
pub(crate) mod wgpu_memory;

//! Work for a device as plain data: queues hold it, batches order it, and recorders record it.

pub(crate) mod graph;
pub(crate) mod kernel_launch;
pub(crate) mod region_copy;
pub(crate) mod step;
pub(crate) mod time_slot;

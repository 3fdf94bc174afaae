//! Work for a device as plain data, which queues hold, batches order and recorders record.

pub(crate) mod graph;
pub(crate) mod kernel_launch;
pub(crate) mod region_copy;
pub(crate) mod step;
pub(crate) mod time_slot;

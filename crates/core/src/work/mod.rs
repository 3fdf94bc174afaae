//! Work for a device as plain data, which queues hold, batches order and recorders record.

pub(crate) mod compiled_kernel;
pub(crate) mod graph_data;
pub(crate) mod graph_part;
#[cfg(cpu)]
pub(crate) mod host_code;
pub(crate) mod kernel_launch;
pub(crate) mod region_copy;
pub(crate) mod span;
pub(crate) mod step;
pub(crate) mod time_slot;
pub(crate) mod wgpu_commands;

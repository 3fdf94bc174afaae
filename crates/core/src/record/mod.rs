//! Recorders: each turns a batch into calls of a graphics interface or executes it on host bytes.

#[cfg(cpu)]
pub(crate) mod cpu;
pub(crate) mod dispatch;
pub(crate) mod external_blocks;
pub(crate) mod fill;
pub(crate) mod gate_kernels;
pub(crate) mod gated_work;
#[cfg(native)]
pub(crate) mod hal;
pub(crate) mod interleave;
pub(crate) mod lane_fence;
pub(crate) mod mapped_buffers;
pub(crate) mod open_lanes;
pub(crate) mod own_kernels;
pub(crate) mod program_commands;
pub(crate) mod recorder_choice;
pub(crate) mod region_kernels;
pub(crate) mod replay_form;
pub(crate) mod staged_copy;
pub(crate) mod step_order;
pub(crate) mod submitter;
pub(crate) mod time_pages;
pub(crate) mod walk;
pub(crate) mod wgpu;

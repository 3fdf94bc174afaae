//! The native recorder: records batches through wgpu-hal, with the crate's own barriers and memory.

pub(crate) mod barriers;
pub(crate) mod buffer_states;
pub(crate) mod direct;
pub(crate) mod encoder;
pub(crate) mod external_handles;
pub(crate) mod external_state;
pub(crate) mod gated_launch;
pub(crate) mod hal_batch;
pub(crate) mod hal_recorder;
pub(crate) mod hal_times;
pub(crate) mod hal_transfers;
pub(crate) mod indirect;
pub(crate) mod known_graphs;
pub(crate) mod native_body;
pub(crate) mod native_buffers;
pub(crate) mod scratch;
pub(crate) mod snatch_guard;
pub(crate) mod stretch;
pub(crate) mod zero_fill;

//! The native recorder: records batches through wgpu-hal, with the crate's own barriers and memory.

pub(crate) mod barriers;
pub(crate) mod direct;
pub(crate) mod encoder;
pub(crate) mod external;
pub(crate) mod hal_batch;
pub(crate) mod hal_recorder;
pub(crate) mod hal_transfers;
pub(crate) mod snatch_guard;
pub(crate) mod stretch;

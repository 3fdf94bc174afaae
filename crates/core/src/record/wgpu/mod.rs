//! The wgpu recorder: records batches through wgpu alone, in safe Rust, on every device and in the browser.

pub(crate) mod passes;
pub(crate) mod wgpu_recorder;
pub(crate) mod wgpu_transfers;

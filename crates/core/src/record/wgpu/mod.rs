//! The wgpu recorder: records batches through wgpu alone, in safe Rust. Works on every device and in browsers.

pub(crate) mod passes;
pub(crate) mod wgpu_recorder;
pub(crate) mod wgpu_transfers;

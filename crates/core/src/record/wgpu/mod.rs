//! Batches on wgpu alone: safe, portable, the recorder of the browser.

pub(crate) mod passes;
pub(crate) mod uniforms;
pub(crate) mod wgpu_recorder;
pub(crate) mod wgpu_times;
pub(crate) mod wgpu_transfers;

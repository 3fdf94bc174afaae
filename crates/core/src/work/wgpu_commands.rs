//! Commands that the program has recorded with wgpu.

use crate::driver::erased::Erased;
use crate::work::kernel_launch::BoundArray;
use fencepost_sync::prim::{Mutex, lock};

/// wgpu's command buffers in a queue's order: alone in their batch, which is a submission of wgpu's.
pub(crate) struct WgpuCommands {
    /// There until they are submitted.
    commands: Erased<Mutex<Vec<wgpu::CommandBuffer>>>,
    /// What they read and write, as the program says.
    pub(crate) uses: Vec<BoundArray>,
}

impl WgpuCommands {
    pub(crate) fn new(commands: Vec<wgpu::CommandBuffer>, uses: Vec<BoundArray>) -> Self {
        Self { commands: Erased::new(Mutex::new(commands)), uses }
    }

    /// wgpu takes command buffers once.
    pub(crate) fn take(&self) -> Vec<wgpu::CommandBuffer> {
        std::mem::take(&mut *lock(&self.commands))
    }
}

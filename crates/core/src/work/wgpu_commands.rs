//! Commands that the program records with wgpu.

use crate::driver::erased::Erased;
use crate::work::kernel_launch::BoundArray;
use fencepost_sync::prim::{Mutex, lock};

/// The program's command buffers at their place in a queue's order. They form a batch of their own, which wgpu submits.
pub(crate) struct WgpuCommands {
    /// Command buffers, until they are submitted.
    commands: Erased<Mutex<Vec<wgpu::CommandBuffer>>>,
    /// Arrays that the commands read and write, as the program declares them.
    pub(crate) uses: Vec<BoundArray>,
}

impl WgpuCommands {
    pub(crate) fn new(commands: Vec<wgpu::CommandBuffer>, uses: Vec<BoundArray>) -> Self {
        Self { commands: Erased::new(Mutex::new(commands)), uses }
    }

    /// Takes the command buffers, because wgpu submits a command buffer only once.
    pub(crate) fn take(&self) -> Vec<wgpu::CommandBuffer> {
        std::mem::take(&mut *lock(&self.commands))
    }
}

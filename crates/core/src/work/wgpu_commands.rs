//! Commands that the program has recorded with wgpu.

use crate::driver::erased::Opaque;
use crate::work::kernel_launch::Bound;
use fencepost_sync::prim::{Mutex, lock};

/// wgpu's command buffers in a queue's order: alone in their batch, which is a submission of wgpu's.
pub(crate) struct Encoded {
    /// There until they are submitted.
    commands: Opaque<Mutex<Vec<wgpu::CommandBuffer>>>,
    /// What they read and write, as the program says.
    pub(crate) uses: Vec<Bound>,
}

impl Encoded {
    pub(crate) fn new(commands: Vec<wgpu::CommandBuffer>, uses: Vec<Bound>) -> Self {
        Self { commands: Opaque::new(Mutex::new(commands)), uses }
    }

    /// wgpu takes command buffers once.
    pub(crate) fn take(&self) -> Vec<wgpu::CommandBuffer> {
        std::mem::take(&mut *lock(&self.commands))
    }
}

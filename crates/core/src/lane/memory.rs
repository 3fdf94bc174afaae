//! A buffer of wgpu's, with the host's view of it where there is one.

use super::gate::Gate;
use super::native::{self, HostView};
use super::opaque::Opaque;
use super::scopes::{Doing, reasons, scoped};
use crate::error::{Kind, Result};
use crate::memory::Heap;
use std::sync::Arc;
use wgpu::BufferUsages as Usages;

/// The memory of a block or of a staging chunk.
pub(crate) struct WgpuMemory {
    buffer: Opaque<wgpu::Buffer>,
    view: Option<HostView>,
    gate: Opaque<Arc<Gate>>,
}

impl WgpuMemory {
    /// A zeroed buffer in memory that wgpu chooses; the host does not reach it.
    ///
    /// # Errors
    /// `OutOfMemory`, or whatever wgpu says.
    pub(crate) fn plain(
        device: &wgpu::Device,
        gate: &Arc<Gate>,
        heap: Heap,
        size: u64,
        label: &str,
    ) -> Result<Self> {
        let desc = wgpu::BufferDescriptor {
            label: Some(label),
            size,
            usage: usages(heap),
            mapped_at_creation: false,
        };
        let (buffer, error) = scoped(device, || device.create_buffer(&desc));
        let memory = Self::new(buffer, None, gate);
        match error {
            Some(error) => Err(Doing { object: label, bytes: size }.failed(&error)),
            None => Ok(memory),
        }
    }

    /// A zeroed buffer that the host reaches for good; `None` if this device has no such memory.
    ///
    /// # Errors
    /// `OutOfMemory`, or whatever the driver says.
    pub(crate) fn mapped(
        device: &wgpu::Device,
        gate: &Arc<Gate>,
        heap: Heap,
        size: u64,
        label: &str,
    ) -> Result<Option<Self>> {
        let (made, error) = scoped(device, || native::allocate(device, heap, size, label));
        let made = made.map_err(|error| refused(&error, label, size))?;
        let memory = made.map(|(buffer, view)| Self::new(buffer, Some(view), gate));
        match error {
            Some(error) => Err(Doing { object: label, bytes: size }.failed(&error)),
            None => Ok(memory),
        }
    }

    fn new(buffer: wgpu::Buffer, view: Option<HostView>, gate: &Arc<Gate>) -> Self {
        Self { buffer: Opaque::new(buffer), view, gate: Opaque::new(gate.clone()) }
    }

    pub(crate) fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    /// The host's view, where there is one.
    pub(crate) fn view(&self) -> Option<&HostView> {
        self.view.as_ref()
    }
}

impl Drop for WgpuMemory {
    fn drop(&mut self) {
        self.gate.bury(self.buffer.clone());
    }
}

/// What a buffer of each heap may be used for.
pub(crate) fn usages(heap: Heap) -> Usages {
    match heap {
        Heap::Device => Usages::STORAGE | Usages::COPY_SRC | Usages::COPY_DST | Usages::INDIRECT,
        Heap::Upload | Heap::Download => Usages::COPY_SRC | Usages::COPY_DST,
    }
}

fn refused(error: &native::Refused, label: &str, bytes: u64) -> crate::Error {
    let object = label.to_owned();
    match native::out_of_memory(error) {
        true => Kind::OutOfMemory { object, bytes }.into(),
        false => Kind::Device { object, message: reasons(error) }.into(),
    }
}

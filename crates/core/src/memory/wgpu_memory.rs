//! Memory on a wgpu device, and the host's view of it if it is mapped.

use crate::driver::erased::Erased;
use crate::driver::error_scopes::{LateAnswer, Operation, reasons};
use crate::driver::gl_gate::GlGate;
use crate::error::{ErrorDetail, Result};
use crate::memory::block::{BlockId, BufferRequest, usages};
use crate::memory::external_buffers::{ExternalBlocks, ExternalBuffer};
use crate::memory::host_view::HostView;
use crate::memory::native_memory as native;
use crate::memory::native_memory::NativeMemory;
use std::sync::Arc;

/// The memory of a block or of a staging chunk.
pub(crate) struct WgpuMemory {
    /// The wgpu buffer, if wgpu tracks the memory.
    buffer: Option<Erased<wgpu::Buffer>>,
    native: Option<NativeMemory>,
    /// Gate that, on GL, keeps maps and drops of the memory apart from other wgpu calls.
    gate: Erased<Arc<GlGate>>,
    /// `Some` if the buffer is an external buffer.
    external: Option<Erased<ExternalBuffer>>,
    /// `Some` if the device reports later that it has no memory for the buffer.
    answer: Option<LateAnswer>,
}

impl WgpuMemory {
    /// Makes a zeroed wgpu buffer that the host does not map. If errors are `late`, the memory has the device's
    /// [answer](Self::answer).
    ///
    /// # Errors
    /// Returns `OutOfMemory`, or the error that wgpu reports, unless errors are `late`.
    pub(crate) fn plain(
        device: &wgpu::Device,
        gate: &Arc<GlGate>,
        wanted: BufferRequest<'_>,
        late: bool,
    ) -> Result<Self> {
        let BufferRequest { heap, size, label, .. } = wanted;
        let desc = wgpu::BufferDescriptor {
            label: Some(label),
            size,
            usage: usages(heap),
            mapped_at_creation: false,
        };
        let make = || Self::new(Some(device.create_buffer(&desc)), None, gate);
        let operation = Operation { object: label, bytes: size };
        if !late {
            return operation.run(device, make);
        }
        let (memory, answer) = operation.run_late(device, make);
        Ok(memory.with_answer(answer))
    }

    /// Returns memory without a buffer whose allocation has this answer.
    #[cfg(test)]
    pub(crate) fn answered(answer: &LateAnswer) -> Self {
        Self::new(None, None, &GlGate::new(wgpu::Backend::Noop)).with_answer(answer.clone())
    }

    fn with_answer(mut self, answer: LateAnswer) -> Self {
        self.answer = Some(answer);
        self
    }

    /// Makes a wgpu buffer with the handle of native memory. Returns `None` if wgpu cannot take the handle.
    ///
    /// # Errors
    /// Returns `OutOfMemory`, or the error that wgpu reports.
    pub(crate) fn of_native(
        device: &wgpu::Device,
        gate: &Arc<GlGate>,
        native: NativeMemory,
        wanted: BufferRequest<'_>,
    ) -> Result<Option<Self>> {
        let make = || {
            let buffer = native::share_with_wgpu(device, &native, wanted)?;
            Some(Self::new(Some(buffer), Some(native), gate))
        };
        Operation { object: wanted.label, bytes: wanted.size }.run(device, make)
    }

    /// Returns native memory without a wgpu buffer.
    pub(crate) fn native_only(native: NativeMemory, gate: &Arc<GlGate>) -> Self {
        Self::new(None, Some(native), gate)
    }

    /// Returns an external buffer as the memory of block `id`.
    pub(crate) fn external_on(
        buffer: &wgpu::Buffer,
        id: BlockId,
        gate: &Arc<GlGate>,
        all: Arc<ExternalBlocks>,
    ) -> Self {
        let mut memory = Self::new(Some(buffer.clone()), None, gate);
        memory.external = Some(Erased::new(ExternalBuffer::new(id, buffer, all)));
        memory
    }

    fn new(buffer: Option<wgpu::Buffer>, native: Option<NativeMemory>, gate: &Arc<GlGate>) -> Self {
        let buffer = buffer.map(Erased::new);
        let gate = Erased::new(gate.clone());
        Self { buffer, native, gate, external: None, answer: None }
    }

    /// # Panics
    /// Panics if the memory has no wgpu buffer, which is a bug in the code that made the command.
    pub(crate) fn buffer(&self) -> &wgpu::Buffer {
        self.buffer.as_ref().expect("bug: memory without a wgpu buffer")
    }

    /// Returns the state of the external buffer, if the memory is one.
    pub(crate) fn external(&self) -> Option<&ExternalBuffer> {
        self.external.as_deref()
    }

    /// Returns the device's answer to the allocation, if it comes later than the memory.
    pub(crate) fn answer(&self) -> Option<&LateAnswer> {
        self.answer.as_ref()
    }

    /// Returns the native memory, if there is any.
    pub(crate) fn native(&self) -> Option<&NativeMemory> {
        self.native.as_ref()
    }

    /// Returns the host's view, if the memory is mapped.
    pub(crate) fn view(&self) -> Option<&HostView> {
        self.native.as_ref().and_then(NativeMemory::view)
    }

    /// Returns the gate of the device.
    pub(crate) fn gate(&self) -> &GlGate {
        &self.gate
    }
}

/// Frees the memory of a buffer that no later submission uses, in a browser. There, the drop of the last handle frees it
/// only when garbage is collected, and a lack of device memory does not cause that. Elsewhere, the drop frees it.
#[allow(clippy::disallowed_methods, reason = "a browser's own `destroy` waits for nothing")]
pub(crate) fn free_in_page(buffer: &wgpu::Buffer) {
    if cfg!(target_arch = "wasm32") {
        buffer.destroy();
    }
}

impl Drop for WgpuMemory {
    fn drop(&mut self) {
        // The program may have other handles of an external buffer.
        if self.external.is_none() {
            self.buffer.as_deref().into_iter().for_each(free_in_page);
        }
        if self.gate.is_in_child() {
            std::mem::forget(self.external.take());
        }
        self.gate.drop_in_turn((self.buffer.take(), self.native.take()));
    }
}

/// Returns this crate's error for a driver's error.
pub(crate) fn refused(error: &native::MemoryRefused, object: &str, bytes: u64) -> crate::error::Error {
    let object = object.to_owned();
    match native::out_of_memory(error) {
        true => ErrorDetail::OutOfMemory { object, bytes, limit: None }.into(),
        false => ErrorDetail::Device { object, message: reasons(error) }.into(),
    }
}

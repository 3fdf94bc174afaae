//! Buffers of wgpu-hal, which stay mapped if the host can access them.
//!
//! wgpu destroys its own buffers when a device is lost. A buffer of this module instead belongs to
//! [`NativeBuffer`], and lives until its last reference is dropped. The wgpu recorder uses it through a wgpu buffer with
//! the same handle.
#![allow(unsafe_code, reason = "memory that stays mapped, which wgpu's own buffers do not")]

use crate::driver::backend::Backend;
use crate::memory::block::{BufferRequest, Heap};
use crate::memory::host_view::HostView;
use crate::memory::staging::StagingClaim;
use fencepost_sync::TimelineValue;
use fencepost_sync::backend::Fence;
use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wgpu::hal::{self, Device as _};

/// A buffer of wgpu-hal, mapped for the host or not.
pub(crate) struct NativeMemory {
    buffer: Arc<dyn Buffer>,
    view: Option<HostView>,
    /// `true` if the device must zero the memory before its first use.
    blank: AtomicBool,
}

/// A native buffer without the backend in its type, so that [`NativeMemory`] needs no type parameter.
trait Buffer: Send + Sync {
    /// Returns the wgpu-hal buffer, to be downcast to the type of its backend.
    fn any(&self) -> &dyn Any;

    /// Maps the whole buffer while `run` is called. `run` may write the bytes if `write` is `true`.
    fn visit(&self, write: bool, run: &mut dyn FnMut(&mut [u8])) -> Result<(), MemoryRefused>;
}

struct NativeBuffer<A: Backend> {
    buffer: Option<A::Buffer>,
    size: u64,
    device: wgpu::Device,
}

/// The driver's reason to refuse memory.
pub(crate) type MemoryRefused = hal::DeviceError;

/// Returns `true` if the driver is out of memory.
pub(crate) fn out_of_memory(refused: &MemoryRefused) -> bool {
    matches!(refused, MemoryRefused::OutOfMemory)
}

/// Makes a buffer. If the host maps it, the call zeroes it; otherwise the device must. Returns `None` if this device
/// has no such memory.
///
/// # Errors
/// Returns the driver's error, such as out of memory.
pub(crate) fn allocate<A: Backend>(
    device: &wgpu::Device,
    wanted: BufferRequest<'_>,
) -> Result<Option<NativeMemory>, MemoryRefused> {
    let Some(native) = NativeBuffer::<A>::new(device, wanted)? else { return Ok(None) };
    if !wanted.mapped {
        return Ok(Some(NativeMemory { buffer: Arc::new(native), view: None, blank: AtomicBool::new(true) }));
    }
    let Some(bytes) = native.map()? else { return Ok(None) };
    let buffer = Arc::new(native);
    // SAFETY: the buffer, which `map` has zeroed, stays mapped until it is dropped. The scheduler orders all accesses.
    let view = unsafe { HostView::new(bytes, wanted.size, buffer.clone()) };
    Ok(Some(NativeMemory { buffer, view: Some(view), blank: AtomicBool::new(false) }))
}

/// Returns the size of the device's own memory in bytes.
#[cfg(vulkan)]
pub(crate) fn device_memory(adapter: &wgpu::Adapter) -> Option<u64> {
    const DEVICE_LOCAL: u32 = 1; // VK_MEMORY_HEAP_DEVICE_LOCAL_BIT
    // SAFETY: this code destroys nothing through the handle, and does not keep the handle.
    let adapter = unsafe { adapter.as_hal::<hal::api::Vulkan>() }?;
    let instance = adapter.shared_instance().raw_instance();
    // SAFETY: the physical device belongs to this instance, and both live as long as the adapter.
    let memory = unsafe { instance.get_physical_device_memory_properties(adapter.raw_physical_device()) };
    let heaps = &memory.memory_heaps[..memory.memory_heap_count as usize];
    let own = heaps.iter().filter(|heap| heap.flags.as_raw() & DEVICE_LOCAL != 0);
    Some(own.map(|heap| heap.size).sum())
}

/// Returns `None`, because on other graphics interfaces the size of the memory is not known here.
#[cfg(not(vulkan))]
pub(crate) fn device_memory(_: &wgpu::Adapter) -> Option<u64> {
    None
}

/// Makes a wgpu buffer with the handle of `memory`. The wgpu buffer keeps the memory until wgpu drops it.
#[cfg(vulkan)]
pub(crate) fn share_with_wgpu(
    device: &wgpu::Device,
    memory: &NativeMemory,
    wanted: BufferRequest<'_>,
) -> Option<wgpu::Buffer> {
    use hal::{api::Vulkan, vulkan};
    let owner = memory.buffer.clone();
    // SAFETY: this copy of the handle destroys nothing: `NativeBuffer` destroys the buffer when its last reference is
    // dropped.
    let handle = unsafe { memory.buffer::<Vulkan>()?.raw_handle() };
    // SAFETY: the callback holds the memory, so the handle outlives the wgpu buffer.
    let buffer = unsafe { vulkan::Buffer::from_raw_externally_owned(handle, Box::new(move || drop(owner))) };
    let desc = wgpu::BufferDescriptor {
        label: Some(wanted.label),
        size: wanted.size,
        usage: crate::memory::block::usages(wanted.heap),
        mapped_at_creation: false,
    };
    // SAFETY: this device made the buffer with `uses`, which includes `usages`; the buffer is not empty and is zeroed.
    Some(unsafe { device.create_buffer_from_hal::<Vulkan>(buffer, &desc) })
}

/// Returns `None`, because wgpu takes over only Vulkan buffers without owning them.
#[cfg(not(vulkan))]
pub(crate) fn share_with_wgpu(
    _: &wgpu::Device,
    _: &NativeMemory,
    _: BufferRequest<'_>,
) -> Option<wgpu::Buffer> {
    None
}

/// Returns the uses to request from wgpu-hal. `MAP_READ` gives cached memory, which the host reads faster.
fn uses(wanted: BufferRequest<'_>) -> wgpu::BufferUses {
    use wgpu::BufferUses as Uses;
    match wanted.heap {
        Heap::Device => {
            let shader = Uses::STORAGE_READ_ONLY | Uses::STORAGE_READ_WRITE | Uses::INDIRECT | Uses::UNIFORM;
            let map = if wanted.mapped { Uses::MAP_READ } else { Uses::empty() };
            map | Uses::COPY_SRC | Uses::COPY_DST | shader
        }
        Heap::Upload if wanted.mapped => Uses::MAP_WRITE | Uses::COPY_SRC | Uses::UNIFORM,
        Heap::Upload => Uses::MAP_WRITE | Uses::COPY_SRC,
        Heap::Download => Uses::MAP_READ | Uses::COPY_DST,
    }
}

impl NativeMemory {
    /// Returns the buffer as wgpu-hal's type, or `None` if the buffer belongs to another backend.
    pub(crate) fn buffer<A: Backend>(&self) -> Option<&A::Buffer> {
        self.buffer.any().downcast_ref()
    }

    /// Returns the host's view, if the buffer is mapped.
    pub(crate) fn view(&self) -> Option<&HostView> {
        self.view.as_ref()
    }

    /// Returns `true` if the memory is not yet zeroed, and marks it as zeroed. In that case the caller must zero it
    /// before any other use, or call [`still_blank`](Self::still_blank). Only the thread that holds the lane's token
    /// may call this.
    pub(crate) fn take_blank(&self) -> bool {
        self.blank.load(Ordering::Relaxed) && self.blank.swap(false, Ordering::Relaxed)
    }

    /// Records that the memory was not zeroed after all.
    pub(crate) fn still_blank(&self) {
        self.blank.store(true, Ordering::Relaxed);
    }

    /// Maps the memory, just for this call, and fills a piece of it that no submission uses yet.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(crate) fn write_piece(
        &self,
        claim: &mut StagingClaim,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), MemoryRefused> {
        let (start, end) = bounds(claim);
        self.buffer.visit(true, &mut |bytes| fill(&mut bytes[start..end]))
    }

    /// Maps the memory, just for this call, and reads a piece of it that the submission with the value `value` fills.
    ///
    /// # Errors
    /// Returns the driver's error, or `Unexpected` if the submission is not complete.
    pub(crate) fn read_piece(
        &self,
        claim: &StagingClaim,
        (fence, value): (&dyn Fence, TimelineValue),
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<(), MemoryRefused> {
        match fence.completed() {
            Ok(completed) if completed >= value => self.read_waiting(claim, read),
            Ok(_) => Err(MemoryRefused::Unexpected),
            Err(_) => Err(MemoryRefused::Lost),
        }
    }

    /// Does the same as [`read_piece`](Self::read_piece) without a fence, because on GL the map itself waits for the
    /// device.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(crate) fn read_waiting(
        &self,
        claim: &StagingClaim,
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<(), MemoryRefused> {
        let (start, end) = bounds(claim);
        self.buffer.visit(false, &mut |bytes| read(&bytes[start..end]))
    }
}

fn bounds(claim: &StagingClaim) -> (usize, usize) {
    let range = claim.range();
    (range.start as usize, range.end as usize)
}

/// Returns the address of the native device below wgpu.
pub(crate) fn address<A: Backend>(device: &wgpu::Device) -> Option<usize> {
    // SAFETY: the code reads only the address of the handle.
    let raw = unsafe { device.as_hal::<A>() }?;
    Some((&raw const *raw).addr())
}

/// Returns a key of the driver's build, if the driver can return compiled pipelines.
pub(crate) fn driver_key<A: Backend>(device: &wgpu::Device) -> Option<[u8; 16]> {
    // SAFETY: the code only reads a property of the device.
    let raw = unsafe { device.as_hal::<A>() }?;
    raw.pipeline_cache_validation_key()
}

impl<A: Backend> NativeBuffer<A> {
    fn new(device: &wgpu::Device, wanted: BufferRequest<'_>) -> Result<Option<Self>, MemoryRefused> {
        // SAFETY: the code uses the handle only to make a buffer that this type destroys.
        let Some(raw) = (unsafe { device.as_hal::<A>() }) else { return Ok(None) };
        let memory_flags =
            if wanted.mapped { hal::MemoryFlags::PREFER_COHERENT } else { hal::MemoryFlags::empty() };
        let BufferRequest { size, label, .. } = wanted;
        let desc = hal::BufferDescriptor { label: Some(label), size, usage: uses(wanted), memory_flags };
        // SAFETY: the size is not zero, and the uses are those of an ordinary buffer.
        let made = unsafe { raw.create_buffer(&desc) };
        let buffer = made.map_err(|error| match error {
            // The allocator below wgpu-hal reports a lack of host memory as a loss. Other calls report a real loss.
            MemoryRefused::Lost => MemoryRefused::OutOfMemory,
            other => other,
        })?;
        Ok(Some(Self { buffer: Some(buffer), size, device: device.clone() }))
    }

    fn native(&self) -> Result<&A::Buffer, MemoryRefused> {
        self.buffer.as_ref().ok_or(MemoryRefused::Unexpected)
    }

    /// Maps the whole buffer and zeroes it. Returns `None` if the host would have to flush its writes.
    fn map(&self) -> Result<Option<NonNull<u8>>, MemoryRefused> {
        // SAFETY: the code uses the handle only to map a buffer of this type.
        let raw = unsafe { self.device.as_hal::<A>() }.ok_or(MemoryRefused::Lost)?;
        // SAFETY: the buffer is new and has a mapping use, and the range is the whole buffer.
        let mapping = unsafe { raw.map_buffer(self.native()?, 0..self.size) }?;
        // SAFETY: `size` bytes are mapped at the address, and no other code has the address yet.
        unsafe { mapping.ptr.write_bytes(0, self.size as usize) };
        Ok(mapping.is_coherent.then_some(mapping.ptr))
    }
}

impl<A: Backend> Buffer for NativeBuffer<A> {
    fn any(&self) -> &dyn Any {
        match &self.buffer {
            Some(buffer) => buffer,
            None => &(),
        }
    }

    fn visit(&self, write: bool, run: &mut dyn FnMut(&mut [u8])) -> Result<(), MemoryRefused> {
        // SAFETY: the code uses the handle only to map a buffer of this type.
        let raw = unsafe { self.device.as_hal::<A>() }.ok_or(MemoryRefused::Lost)?;
        let buffer = self.native()?;
        let all = 0..self.size;
        // SAFETY: the buffer has a mapping use. It is not mapped already, because only the caller is inside the
        // device's gate.
        let mapping = unsafe { raw.map_buffer(buffer, all.clone()) }?;
        if !mapping.is_coherent && !write {
            // SAFETY: the range is mapped.
            unsafe { raw.invalidate_mapped_ranges(buffer, std::iter::once(all.clone())) };
        }
        // SAFETY: `size` bytes are mapped at the address for this call alone, and no submission in flight uses the
        // piece that `run` accesses.
        run(unsafe { std::slice::from_raw_parts_mut(mapping.ptr.as_ptr(), self.size as usize) });
        if !mapping.is_coherent && write {
            // SAFETY: the range is still mapped.
            unsafe { raw.flush_mapped_ranges(buffer, std::iter::once(all)) };
        }
        // SAFETY: the buffer is mapped above, and the slice has ended.
        unsafe { raw.unmap_buffer(buffer) };
        Ok(())
    }
}

impl<A: Backend> Drop for NativeBuffer<A> {
    fn drop(&mut self) {
        // SAFETY: the code uses the handle only to destroy a buffer of this type.
        let raw = unsafe { self.device.as_hal::<A>() };
        if let (Some(raw), Some(buffer)) = (raw, self.buffer.take()) {
            // SAFETY: a batch keeps its blocks, and wgpu keeps its buffer with this handle, until no submission uses
            // the memory.
            unsafe { raw.destroy_buffer(buffer) };
        }
    }
}

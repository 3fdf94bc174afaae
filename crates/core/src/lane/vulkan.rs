//! Vulkan memory that the host reaches where it is: buffers of wgpu-hal's, lent to wgpu.
//!
//! wgpu destroys its buffers when a device is lost, so the memory is not wgpu's: it belongs to [`Native`], which
//! lives as long as a view of it or wgpu's buffer does.
#![allow(unsafe_code, reason = "memory mapped for good, which wgpu's own buffers are not")]

use crate::memory::{Claim, Heap};
use crate::scheduler::HostAccess;
use fencepost_sync::Value;
use fencepost_sync::backend::Fence;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use wgpu::hal::{self, Device as _, api::Vulkan};

/// The bytes of a buffer, where they are. Holding it is harmless; touching them takes a token.
pub(crate) struct HostView(Arc<Native>);

/// One mapped allocation.
struct Native {
    buffer: Option<<Vulkan as hal::Api>::Buffer>,
    bytes: NonNull<u8>,
    size: u64,
    device: wgpu::Device,
}

// SAFETY: `bytes` is memory of the whole process, mapped until `drop`, and bound to no thread.
unsafe impl Send for Native {}
// SAFETY: `Native` itself never touches the bytes after it was made; `HostView` says who may.
unsafe impl Sync for Native {}

/// Why a driver gave no memory.
pub(crate) type Refused = hal::DeviceError;

/// Whether it has none left.
pub(crate) fn out_of_memory(refused: &Refused) -> bool {
    matches!(refused, Refused::OutOfMemory)
}

/// Makes a zeroed buffer that the host reaches for good; `None` if this device has no such memory.
///
/// # Errors
/// The driver's, such as out of memory.
pub(crate) fn allocate(
    device: &wgpu::Device,
    heap: Heap,
    size: u64,
    label: &str,
) -> Result<Option<(wgpu::Buffer, HostView)>, Refused> {
    let Some(native) = Native::new(device, heap, size, label)? else { return Ok(None) };
    let native = Arc::new(native);
    let Some(buffer) = lend(device, &native, heap, label) else { return Ok(None) };
    Ok(Some((buffer, HostView(native))))
}

/// wgpu's own view of the buffer, which keeps the memory until wgpu is done with it.
fn lend(device: &wgpu::Device, native: &Arc<Native>, heap: Heap, label: &str) -> Option<wgpu::Buffer> {
    // SAFETY: the handle is not destroyed through this copy: `Native` does that when nobody has it any more.
    let handle = unsafe { native.buffer.as_ref()?.raw_handle() };
    let keeper = native.clone();
    // SAFETY: the callback holds the memory, so the handle outlives wgpu's buffer.
    let lent =
        unsafe { hal::vulkan::Buffer::from_raw_externally_owned(handle, Box::new(move || drop(keeper))) };
    let usage = super::memory::usages(heap);
    let desc =
        wgpu::BufferDescriptor { label: Some(label), size: native.size, usage, mapped_at_creation: false };
    // SAFETY: made by this very device with `uses(heap)`, which covers `usage`; not empty, and zeroed.
    Some(unsafe { device.create_buffer_from_hal::<Vulkan>(lent, &desc) })
}

/// The device reads or writes it, and the host maps it. Memory that the host reads is worth caching: `MAP_READ`
/// asks for that.
fn uses(heap: Heap) -> wgpu::BufferUses {
    use wgpu::BufferUses as Uses;
    match heap {
        Heap::Device => {
            let shader = Uses::STORAGE_READ_ONLY | Uses::STORAGE_READ_WRITE | Uses::INDIRECT;
            Uses::MAP_READ | Uses::COPY_SRC | Uses::COPY_DST | shader
        }
        Heap::Upload => Uses::MAP_WRITE | Uses::COPY_SRC | Uses::COPY_DST | Uses::UNIFORM,
        Heap::Download => Uses::MAP_READ | Uses::COPY_SRC | Uses::COPY_DST,
    }
}

impl Native {
    fn new(device: &wgpu::Device, heap: Heap, size: u64, label: &str) -> Result<Option<Self>, Refused> {
        // SAFETY: the handle is only used to make a buffer of our own.
        let Some(raw) = (unsafe { device.as_hal::<Vulkan>() }) else { return Ok(None) };
        let memory_flags = hal::MemoryFlags::PREFER_COHERENT;
        let desc = hal::BufferDescriptor { label: Some(label), size, usage: uses(heap), memory_flags };
        // SAFETY: the size is not zero, and the uses are those of an ordinary buffer.
        let buffer = unsafe { raw.create_buffer(&desc) }?;
        // SAFETY: made just now with a mapping use, and the range is the whole of it.
        let mapping = unsafe { raw.map_buffer(&buffer, 0..size) };
        let native = |bytes| Self { buffer: Some(buffer), bytes, size, device: device.clone() };
        let mapping = match mapping {
            Ok(mapping) => mapping,
            Err(error) => {
                drop(native(NonNull::dangling()));
                return Err(error);
            }
        };
        let native = native(mapping.ptr);
        // SAFETY: `size` bytes are mapped there, and nobody else knows of them yet.
        unsafe { native.bytes.write_bytes(0, size as usize) };
        Ok(mapping.is_coherent.then_some(native))
    }

    fn at(&self, range: &Range<u64>) -> NonNull<u8> {
        assert!(
            range.start <= range.end && range.end <= self.size,
            "bug: {range:?} of {} mapped bytes",
            self.size
        );
        // SAFETY: within the mapped bytes, as was just checked.
        unsafe { self.bytes.add(range.start as usize) }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        // SAFETY: the handle is only used to destroy a buffer of our own.
        let raw = unsafe { self.device.as_hal::<Vulkan>() };
        if let (Some(raw), Some(buffer)) = (raw, self.buffer.take()) {
            // SAFETY: wgpu held the memory through its own buffer until no submission used it, and has let go.
            unsafe { raw.destroy_buffer(buffer) };
        }
    }
}

impl HostView {
    /// The buffer as wgpu-hal knows it; `None` for another backend's. It lives as long as the view.
    pub(crate) fn buffer<A: hal::Api>(&self) -> Option<&A::Buffer> {
        let buffer: &dyn std::any::Any = self.0.buffer.as_ref()?;
        buffer.downcast_ref()
    }

    /// Copies bytes from `offset` on into `out`.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8], access: &HostAccess) {
        out.copy_from_slice(self.slice(offset..offset + out.len() as u64, access));
    }

    /// Copies `bytes` to `offset` and on.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8], _: &HostAccess) {
        let to = self.0.at(&(offset..offset + bytes.len() as u64));
        // SAFETY: in bounds, mapped and coherent; the scheduler gave the access, so neither the device nor another
        // host use touches these bytes, and `bytes` is a reference, so it is not these bytes either.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
    }

    /// The bytes of `range`.
    pub(crate) fn slice<'a>(&'a self, range: Range<u64>, _: &'a HostAccess) -> &'a [u8] {
        // SAFETY: in bounds, mapped, coherent and written before; the scheduler gave the access, so nobody writes
        // these bytes as long as it lasts.
        unsafe { std::slice::from_raw_parts(self.0.at(&range).as_ptr(), (range.end - range.start) as usize) }
    }

    /// The bytes of `range`, to be changed.
    pub(crate) fn slice_mut<'a>(&'a self, range: Range<u64>, _: &'a mut HostAccess) -> &'a mut [u8] {
        // SAFETY: as in `slice`; and the access is borrowed mutably, so this is the only slice made by it.
        unsafe {
            std::slice::from_raw_parts_mut(self.0.at(&range).as_ptr(), (range.end - range.start) as usize)
        }
    }

    /// The bytes of a piece of staging memory that no submission has seen.
    pub(crate) fn claimed_mut<'a>(&'a self, claim: &'a mut Claim) -> &'a mut [u8] {
        let range = claim.range();
        // SAFETY: in bounds, mapped, coherent. Claims on one chunk never overlap, this one is borrowed mutably, and
        // submissions hold their pieces by shared references until they are complete.
        unsafe {
            std::slice::from_raw_parts_mut(self.0.at(&range).as_ptr(), (range.end - range.start) as usize)
        }
    }

    /// The bytes of a piece of staging memory that the submission of `value` fills; `None` before it is complete.
    pub(crate) fn claimed<'a>(
        &'a self,
        claim: &'a Claim,
        fence: &dyn Fence,
        value: Value,
    ) -> Option<&'a [u8]> {
        let range = claim.range();
        fence.completed().ok().filter(|&completed| completed >= value)?;
        // SAFETY: in bounds, mapped, coherent. Claims on one chunk never overlap, and the one submission that
        // writes this one is complete.
        Some(unsafe {
            std::slice::from_raw_parts(self.0.at(&range).as_ptr(), (range.end - range.start) as usize)
        })
    }
}

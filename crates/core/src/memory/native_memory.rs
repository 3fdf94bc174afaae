//! Buffers of wgpu-hal's, mapped for good where the host reaches them.
//!
//! wgpu destroys its own buffers when a device is lost. These belong to [`Native`], which lives as long as anybody has
//! them; wgpu's recorder uses them through a buffer of wgpu's that is lent the handle.
#![allow(unsafe_code, reason = "memory mapped for good, which wgpu's own buffers are not")]

use crate::driver::backend::Backend;
use crate::memory::heap::{BufferRequest, Heap};
use crate::memory::host_right::HostRight;
use crate::memory::staging::StagingClaim;
use fencepost_sync::backend::Fence;
use fencepost_sync::{Lost, Value};
use std::any::Any;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wgpu::hal::{self, Device as _};

/// A buffer of some backend's.
pub(crate) struct NativeMemory {
    buffer: Arc<dyn Buffer>,
    view: Option<HostView>,
    /// Whether the device has to zero it before its first use.
    blank: AtomicBool,
}

/// The bytes of a buffer, where they are. Holding it is harmless; touching them takes a token.
pub(crate) struct HostView {
    bytes: NonNull<u8>,
    size: u64,
    /// Keeps the bytes mapped.
    _buffer: Arc<dyn Buffer>,
}

// SAFETY: `bytes` is memory of the whole process, mapped as long as the buffer lives, and bound to no thread.
unsafe impl Send for HostView {}
// SAFETY: the bytes are touched through tokens only, which say who may.
unsafe impl Sync for HostView {}

/// A native buffer behind a trait object.
trait Buffer: Send + Sync {
    /// The buffer, of its backend's type.
    fn any(&self) -> &dyn Any;

    /// Maps the whole for the time of `run`, which writes if `write` says so.
    fn visit(&self, write: bool, run: &mut dyn FnMut(&mut [u8])) -> Result<(), MemoryRefused>;
}

struct Native<A: Backend> {
    buffer: Option<A::Buffer>,
    size: u64,
    device: wgpu::Device,
}

/// Why a driver gave no memory.
pub(crate) type MemoryRefused = hal::DeviceError;

/// Whether it has none left.
pub(crate) fn out_of_memory(refused: &MemoryRefused) -> bool {
    matches!(refused, MemoryRefused::OutOfMemory)
}

/// Makes a buffer; one that the host reaches is zeroed. `None` if this device has no such memory.
///
/// # Errors
/// The driver's, such as out of memory.
pub(crate) fn allocate<A: Backend>(
    device: &wgpu::Device,
    wanted: BufferRequest<'_>,
) -> Result<Option<NativeMemory>, MemoryRefused> {
    let Some(native) = Native::<A>::new(device, wanted)? else { return Ok(None) };
    if !wanted.mapped {
        return Ok(Some(NativeMemory { buffer: Arc::new(native), view: None, blank: AtomicBool::new(true) }));
    }
    let Some(bytes) = native.map()? else { return Ok(None) };
    let buffer: Arc<dyn Buffer> = Arc::new(native);
    let view = HostView { bytes, size: wanted.size, _buffer: buffer.clone() };
    Ok(Some(NativeMemory { buffer, view: Some(view), blank: AtomicBool::new(false) }))
}

/// Bytes of the memory of the device itself.
#[cfg(vulkan)]
pub(crate) fn device_memory(adapter: &wgpu::Adapter) -> Option<u64> {
    const DEVICE_LOCAL: u32 = 1; // VK_MEMORY_HEAP_DEVICE_LOCAL_BIT
    // SAFETY: nothing is destroyed through it, and nothing of it is kept.
    let adapter = unsafe { adapter.as_hal::<hal::api::Vulkan>() }?;
    let instance = adapter.shared_instance().raw_instance();
    // SAFETY: the physical device is this instance's, and both live as long as the adapter.
    let memory = unsafe { instance.get_physical_device_memory_properties(adapter.raw_physical_device()) };
    let heaps = &memory.memory_heaps[..memory.memory_heap_count as usize];
    let own = heaps.iter().filter(|heap| heap.flags.as_raw() & DEVICE_LOCAL != 0);
    Some(own.map(|heap| heap.size).sum())
}

/// Not asked for: the other interfaces tell less, or elsewhere.
#[cfg(not(vulkan))]
pub(crate) fn device_memory(_: &wgpu::Adapter) -> Option<u64> {
    None
}

/// A buffer of wgpu's own that stands for the memory, and keeps it until wgpu is done with it.
#[cfg(vulkan)]
pub(crate) fn lend(
    device: &wgpu::Device,
    memory: &NativeMemory,
    wanted: BufferRequest<'_>,
) -> Option<wgpu::Buffer> {
    use hal::{api::Vulkan, vulkan};
    let keeper = memory.buffer.clone();
    // SAFETY: the handle is not destroyed through this copy: `Native` does that when nobody has it any more.
    let handle = unsafe { memory.buffer::<Vulkan>()?.raw_handle() };
    // SAFETY: the callback holds the memory, so the handle outlives wgpu's buffer.
    let lent = unsafe { vulkan::Buffer::from_raw_externally_owned(handle, Box::new(move || drop(keeper))) };
    let desc = wgpu::BufferDescriptor {
        label: Some(wanted.label),
        size: wanted.size,
        usage: crate::memory::heap::usages(wanted.heap),
        mapped_at_creation: false,
    };
    // SAFETY: made by this very device with `uses`, which covers `usages`; not empty, and zeroed.
    Some(unsafe { device.create_buffer_from_hal::<Vulkan>(lent, &desc) })
}

/// Lends nothing: wgpu takes only Vulkan's buffers without owning them.
#[cfg(not(vulkan))]
pub(crate) fn lend(_: &wgpu::Device, _: &NativeMemory, _: BufferRequest<'_>) -> Option<wgpu::Buffer> {
    None
}

/// The device reads or writes it, and the host maps it. Memory that the host reads is worth caching: `MAP_READ`
/// asks for that.
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
    /// The buffer as wgpu-hal knows it; `None` for another backend's. It lives as long as this.
    pub(crate) fn buffer<A: Backend>(&self) -> Option<&A::Buffer> {
        self.buffer.any().downcast_ref()
    }

    /// The host's view, where there is one.
    pub(crate) fn view(&self) -> Option<&HostView> {
        self.view.as_ref()
    }

    /// Whoever is told so has to zero the memory before anything else is done with it, or to say that it is still
    /// blank. Only for who holds the lane's token.
    pub(crate) fn take_blank(&self) -> bool {
        self.blank.load(Ordering::Relaxed) && self.blank.swap(false, Ordering::Relaxed)
    }

    /// It was not zeroed after all.
    pub(crate) fn still_blank(&self) {
        self.blank.store(true, Ordering::Relaxed);
    }

    /// Fills a piece that no submission has seen, of memory that is mapped for that moment only.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn write_piece(
        &self,
        claim: &mut StagingClaim,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), MemoryRefused> {
        let (start, end) = bounds(claim);
        self.buffer.visit(true, &mut |bytes| fill(&mut bytes[start..end]))
    }

    /// Reads a piece that the submission of `value` fills, of memory that is mapped for that moment only; nothing
    /// before that is complete.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn read_piece(
        &self,
        claim: &StagingClaim,
        (fence, value): (&dyn Fence, Value),
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<(), MemoryRefused> {
        let (start, end) = bounds(claim);
        match fence.completed() {
            Ok(completed) if completed >= value => {
                self.buffer.visit(false, &mut |bytes| read(&bytes[start..end]))
            }
            Ok(_) => Err(MemoryRefused::Unexpected),
            Err(_) => Err(MemoryRefused::Lost),
        }
    }
}

fn bounds(claim: &StagingClaim) -> (usize, usize) {
    let range = claim.range();
    (range.start as usize, range.end as usize)
}

/// Where the device below wgpu is.
pub(crate) fn address<A: Backend>(device: &wgpu::Device) -> Option<usize> {
    // SAFETY: the handle is not used but for where it is.
    let raw = unsafe { device.as_hal::<A>() }?;
    Some((&raw const *raw).addr())
}

/// What names the driver's build, where it gives out what it has compiled.
pub(crate) fn driver_key<A: Backend>(device: &wgpu::Device) -> Option<[u8; 16]> {
    // SAFETY: the handle is only asked.
    let raw = unsafe { device.as_hal::<A>() }?;
    raw.pipeline_cache_validation_key()
}

impl<A: Backend> Native<A> {
    fn new(device: &wgpu::Device, wanted: BufferRequest<'_>) -> Result<Option<Self>, MemoryRefused> {
        // SAFETY: the handle is only used to make a buffer of our own.
        let Some(raw) = (unsafe { device.as_hal::<A>() }) else { return Ok(None) };
        let memory_flags =
            if wanted.mapped { hal::MemoryFlags::PREFER_COHERENT } else { hal::MemoryFlags::empty() };
        let BufferRequest { size, label, .. } = wanted;
        let desc = hal::BufferDescriptor { label: Some(label), size, usage: uses(wanted), memory_flags };
        // SAFETY: the size is not zero, and the uses are those of an ordinary buffer.
        let made = unsafe { raw.create_buffer(&desc) };
        let buffer = made.map_err(|error| match error {
            // The allocator below wgpu-hal has no other word for host memory that ran out; a real loss shows elsewhere.
            MemoryRefused::Lost => MemoryRefused::OutOfMemory,
            other => other,
        })?;
        Ok(Some(Self { buffer: Some(buffer), size, device: device.clone() }))
    }

    fn native(&self) -> Result<&A::Buffer, MemoryRefused> {
        self.buffer.as_ref().ok_or(MemoryRefused::Unexpected)
    }

    /// Maps the whole for good and zeroes it; `None` if the host would have to flush what it writes.
    fn map(&self) -> Result<Option<NonNull<u8>>, MemoryRefused> {
        // SAFETY: the handle is only used to map a buffer of our own.
        let raw = unsafe { self.device.as_hal::<A>() }.ok_or(MemoryRefused::Lost)?;
        // SAFETY: made just now with a mapping use, and the range is the whole of it.
        let mapping = unsafe { raw.map_buffer(self.native()?, 0..self.size) }?;
        // SAFETY: `size` bytes are mapped there, and nobody else knows of them yet.
        unsafe { mapping.ptr.write_bytes(0, self.size as usize) };
        Ok(mapping.is_coherent.then_some(mapping.ptr))
    }
}

impl<A: Backend> Buffer for Native<A> {
    fn any(&self) -> &dyn Any {
        match &self.buffer {
            Some(buffer) => buffer,
            None => &(),
        }
    }

    fn visit(&self, write: bool, run: &mut dyn FnMut(&mut [u8])) -> Result<(), MemoryRefused> {
        // SAFETY: the handle is only used to map a buffer of our own.
        let raw = unsafe { self.device.as_hal::<A>() }.ok_or(MemoryRefused::Lost)?;
        let (buffer, all) = (self.native()?, 0..self.size);
        // SAFETY: made with a mapping use, not mapped otherwise: whoever visits is alone behind the device's gate.
        let mapping = unsafe { raw.map_buffer(buffer, all.clone()) }?;
        if !mapping.is_coherent && !write {
            // SAFETY: mapped just now.
            unsafe { raw.invalidate_mapped_ranges(buffer, std::iter::once(all.clone())) };
        }
        // SAFETY: so many bytes are mapped there, for this visit alone; no submission is at work on its piece of them.
        run(unsafe { std::slice::from_raw_parts_mut(mapping.ptr.as_ptr(), self.size as usize) });
        if !mapping.is_coherent && write {
            // SAFETY: still mapped.
            unsafe { raw.flush_mapped_ranges(buffer, std::iter::once(all)) };
        }
        // SAFETY: mapped above, and nobody keeps the slice.
        unsafe { raw.unmap_buffer(buffer) };
        Ok(())
    }
}

impl<A: Backend> Drop for Native<A> {
    fn drop(&mut self) {
        // SAFETY: the handle is only used to destroy a buffer of our own.
        let raw = unsafe { self.device.as_hal::<A>() };
        if let (Some(raw), Some(buffer)) = (raw, self.buffer.take()) {
            // SAFETY: batches keep their blocks, and wgpu its lent buffer, until no submission uses the memory.
            unsafe { raw.destroy_buffer(buffer) };
        }
    }
}

impl HostView {
    fn at(&self, range: &Range<u64>) -> NonNull<u8> {
        assert!(
            range.start <= range.end && range.end <= self.size,
            "bug: {range:?} of {} mapped bytes",
            self.size
        );
        // SAFETY: within the mapped bytes, as was just checked.
        unsafe { self.bytes.add(range.start as usize) }
    }

    /// Copies bytes from `offset` on into `out`.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8], right: &HostRight) {
        out.copy_from_slice(self.slice(offset..offset + out.len() as u64, right));
    }

    /// Copies `bytes` to `offset` and on.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8], _: &HostRight) {
        let to = self.at(&(offset..offset + bytes.len() as u64));
        // SAFETY: in bounds, mapped and coherent; the scheduler gave the access, so neither the device nor another
        // host use touches these bytes, and `bytes` is a reference, so it is not these bytes either.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
    }

    /// The bytes of `range`.
    pub(crate) fn slice<'a>(&'a self, range: Range<u64>, _: &'a HostRight) -> &'a [u8] {
        // SAFETY: in bounds, mapped, coherent and written before; the scheduler gave the access, so nobody writes
        // these bytes as long as it lasts.
        unsafe { std::slice::from_raw_parts(self.at(&range).as_ptr(), (range.end - range.start) as usize) }
    }

    /// The bytes of `range`, to be changed.
    pub(crate) fn slice_mut<'a>(&'a self, range: Range<u64>, _: &'a mut HostRight) -> &'a mut [u8] {
        // SAFETY: as in `slice`; and the access is borrowed mutably, so this is the only slice made by it.
        unsafe {
            std::slice::from_raw_parts_mut(self.at(&range).as_ptr(), (range.end - range.start) as usize)
        }
    }

    /// The bytes of a piece of staging memory that no submission has seen.
    pub(crate) fn claimed_mut<'a>(&'a self, claim: &'a mut StagingClaim) -> &'a mut [u8] {
        let range = claim.range();
        // SAFETY: in bounds, mapped, coherent. Claims on one chunk never overlap, this one is borrowed mutably, and
        // submissions hold their pieces by shared references until they are complete.
        unsafe {
            std::slice::from_raw_parts_mut(self.at(&range).as_ptr(), (range.end - range.start) as usize)
        }
    }

    /// The bytes of a piece of staging memory that the submission of `value` fills; `None` before it is complete.
    ///
    /// # Errors
    /// `Lost` if the device is gone.
    pub(crate) fn claimed<'a>(
        &'a self,
        claim: &'a StagingClaim,
        fence: &dyn Fence,
        value: Value,
    ) -> Result<Option<&'a [u8]>, Lost> {
        let range = claim.range();
        if fence.completed()? < value {
            return Ok(None);
        }
        // SAFETY: in bounds, mapped, coherent. Claims on one chunk never overlap, and the one submission that
        // writes this one is complete.
        Ok(Some(unsafe {
            std::slice::from_raw_parts(self.at(&range).as_ptr(), (range.end - range.start) as usize)
        }))
    }
}

//! Staging buffers that wgpu maps for each use, for devices without permanently mapped memory.

use crate::device::wgpu_device::WgpuDevice;
use crate::driver::error_scopes::{Operation, scoped};
use crate::error::Result;
use crate::memory::byte_meter::{ByteMeter, MeteredBytes};
use crate::memory::read_slot::Readback;
use crate::memory::spare_buffers::{SpareBuffer, SpareBuffers};
use fencepost_kernels::report;
use fencepost_sync::Lost;
use fencepost_sync::backend::{Arrival, LostFlag};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wgpu::{BufferUsages as Usages, MapMode};

/// Bytes of the smallest staging buffer.
const SMALLEST: u64 = 64 << 10;
/// Alignment in bytes of the start of each piece of a buffer.
const MAPPED_ALIGNMENT: u64 = 16;

/// The maker and pool of the staging buffers of one direction.
#[derive(Clone)]
pub(crate) struct MappedBuffers {
    device: wgpu::Device,
    lost: LostFlag,
    mode: MapMode,
    meter: Arc<ByteMeter>,
    spares: Arc<SpareBuffers>,
}

/// A staging buffer that one batch fills from the front.
pub(crate) struct FillingBuffer {
    pub(crate) buffer: wgpu::Buffer,
    count: MeteredBytes,
    /// Bytes in use from the front, at most the size of the buffer.
    used: u64,
    pool: MappedBuffers,
}

impl MappedBuffers {
    pub(crate) fn new(device: &WgpuDevice, mode: MapMode) -> Self {
        let (lost, meter, spares) =
            (device.lost().clone(), device.meter().clone(), device.spares(mode).clone());
        Self { device: device.raw().clone(), lost, mode, meter, spares }
    }

    /// Reserves `size` bytes in the last buffer of `filling`, or in a buffer that it adds. Returns the buffer and the
    /// offset of the bytes.
    ///
    /// # Errors
    /// Returns `OutOfMemory`.
    pub(crate) fn reserve<'a>(
        &self,
        filling: &'a mut Vec<FillingBuffer>,
        size: u64,
    ) -> Result<(&'a FillingBuffer, u64)> {
        let fits = |f: &FillingBuffer| f.used + size <= f.buffer.size();
        if !filling.last().is_some_and(fits) {
            filling.push(self.take(size)?);
        }
        let at = filling.len() - 1;
        let last = &mut filling[at];
        let offset = last.used;
        last.used = (offset + size).next_multiple_of(MAPPED_ALIGNMENT);
        debug_assert!(last.used <= last.buffer.size(), "bug: a piece ends after its buffer");
        Ok((last, offset))
    }

    /// Takes a free buffer that is not much larger than `size`, or makes a buffer.
    fn take(&self, size: u64) -> Result<FillingBuffer> {
        let (buffer, count) = match self.spares.take(size..=(4 * size).max(SMALLEST)) {
            Some((count, SpareBuffer { buffer, mapped })) => {
                if mapped && self.mode == MapMode::Read {
                    buffer.unmap(); // the read of an earlier batch left it mapped
                }
                (buffer, count)
            }
            None => {
                let buffer = self.make(size)?;
                let count = self.meter.count(buffer.size());
                (buffer, count)
            }
        };
        Ok(FillingBuffer { buffer, count, used: 0, pool: self.clone() })
    }

    /// Makes a buffer. A buffer for uploads is mapped from the start.
    fn make(&self, size: u64) -> Result<wgpu::Buffer> {
        let size =
            if size > SMALLEST << 8 { size.next_multiple_of(SMALLEST) } else { size.next_power_of_two() };
        let (label, usage) = match self.mode {
            MapMode::Write => ("upload staging", Usages::MAP_WRITE | Usages::COPY_SRC),
            MapMode::Read => ("download staging", Usages::MAP_READ | Usages::COPY_DST),
        };
        let (size, mapped_at_creation) = (size.max(SMALLEST), self.mode == MapMode::Write);
        let desc = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation };
        Operation { object: label, bytes: size }.run(&self.device, || self.device.create_buffer(&desc))
    }
}

impl FillingBuffer {
    /// Writes `bytes` at `offset` of the mapped buffer, and fills the rest of the last word with zeros.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let (whole, rest) = bytes.split_at(bytes.len() / 4 * 4);
        let mut tail = [0; 4];
        tail[..rest.len()].copy_from_slice(rest);
        let end = offset + bytes.len().next_multiple_of(4) as u64;
        let view = self.buffer.slice(offset..end).get_mapped_range_mut();
        let mut view = view.map_err(|error| crate::error::Kind::Device {
            object: "upload staging".into(),
            message: error.to_string(),
        })?;
        view.slice(..whole.len()).copy_from_slice(whole);
        view.slice(whole.len()..).copy_from_slice(&tail[..rest.len().next_multiple_of(4)]);
        Ok(())
    }
}

/// An upload buffer of a submitted batch. Dropped once the batch is complete, it asks wgpu to map the buffer again for
/// a later batch.
pub(crate) struct SubmittedUpload(Option<FillingBuffer>);

impl SubmittedUpload {
    /// Unmaps a filled buffer, so that the device may read it.
    pub(crate) fn new(filling: FillingBuffer) -> Self {
        filling.buffer.unmap();
        Self(Some(filling))
    }
}

impl Drop for SubmittedUpload {
    fn drop(&mut self) {
        let Some(FillingBuffer { buffer, count, pool, .. }) = self.0.take() else { return };
        if pool.lost.is_raised() {
            return;
        }
        let device = pool.device.clone();
        let back = buffer.clone();
        let mapped = move |result: Result<(), wgpu::BufferAsyncError>| {
            if result.is_ok() {
                pool.spares.keep(count, SpareBuffer { buffer: back, mapped: true });
            }
        };
        let ((), error) = scoped(&device, || buffer.slice(..).map_async(MapMode::Write, mapped));
        if let Some(error) = error {
            report!(Debug, "an upload buffer cannot be mapped again and is dropped: {error}");
        }
    }
}

/// A download buffer of a submitted batch. The host can read its bytes when the batch is complete.
pub(crate) struct DownloadBuffer(Arc<MappedDownload>);

struct MappedDownload {
    buffer: wgpu::Buffer,
    count: Option<MeteredBytes>,
    used: u64,
    /// `true` once wgpu has mapped the buffer for the host.
    mapped: Arc<AtomicBool>,
    pool: MappedBuffers,
}

/// Place of one read's bytes.
struct MappedReadback {
    from: Arc<MappedDownload>,
    offset: u64,
}

impl DownloadBuffer {
    pub(crate) fn new(filling: FillingBuffer) -> Self {
        let FillingBuffer { buffer, count, used, pool } = filling;
        Self(Arc::new(MappedDownload { buffer, count: Some(count), used, mapped: Arc::default(), pool }))
    }

    /// Returns the bytes from `offset` on, which can be read once they are mapped.
    pub(crate) fn read(&self, offset: u64) -> Arc<dyn Readback> {
        Arc::new(MappedReadback { from: self.0.clone(), offset })
    }

    /// Asks wgpu to map the buffer, after the submission. The callback drops `arrival`.
    pub(crate) fn map(&self, arrival: Arrival) {
        let slice = self.0.buffer.slice(..self.0.used);
        let (mapped, lost) = (self.0.mapped.clone(), self.0.pool.lost.clone());
        slice.map_async(MapMode::Read, move |result| {
            mapped.store(result.is_ok(), Ordering::Release);
            if result.is_err() {
                lost.raise("a buffer could not be mapped"); // a valid map of a valid buffer fails for no other reason
            }
            drop(arrival);
        });
    }
}

impl Readback for MappedReadback {
    fn copy_out(&self, out: &mut [u8]) -> std::result::Result<(), Lost> {
        let end = self.offset + out.len().next_multiple_of(4) as u64;
        let view = self.from.buffer.slice(self.offset..end).get_mapped_range();
        let view = view.map_err(|error| Lost { reason: format!("a read is no longer mapped: {error}") })?;
        out.copy_from_slice(&view[..out.len()]);
        Ok(())
    }
}

impl Drop for MappedDownload {
    fn drop(&mut self) {
        if let Some(count) = self.count.take()
            && !self.pool.lost.is_raised()
        {
            let (buffer, mapped) = (self.buffer.clone(), self.mapped.load(Ordering::Acquire));
            self.pool.spares.keep(count, SpareBuffer { buffer, mapped });
        }
    }
}

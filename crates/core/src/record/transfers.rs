//! The parts of transfers that both GPU recorders share: fills, copies within one block, and the staging memory of a
//! batch.
//!
//! Zeros are written by the encoder, other patterns by a kernel. On devices without permanently mapped memory, wgpu
//! maps a staging buffer for each use.

use crate::device::wgpu_device::WgpuDevice;
use crate::driver::error_scopes::{Operation, scoped};
use crate::error::Result;
use crate::memory::allocations::{ByteMeter, MeteredBytes};
use crate::memory::pool::{SpareBuffer, SpareBuffers};
use crate::memory::read_slot::Readback;
use crate::memory::staging::StagingPiece;
use crate::memory::wgpu_memory::WgpuMemory;
use crate::record::own_kernels::{OwnCommands, OwnDispatch, OwnDispatches, OwnGroups, OwnKernel, OwnRange};
use crate::work::step::{Pattern, Span};
use fencepost_kernels::report;
use fencepost_sync::backend::{Arrival, Fence, LostFlag};
use fencepost_sync::{Lost, TimelineValue};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use wgpu::{BufferUsages as Usages, MapMode};

/// Maximum number of bytes that one dispatch fills, so that there are fewer than 65536 workgroups, which every device
/// allows.
const PIECE: u64 = 32 << 20;
const WORKGROUP: u64 = 64;
/// Number of words that one invocation fills.
const WORDS_EACH: u64 = 4;

/// One dispatch of a fill: the range to bind, and the words in it to fill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FillPiece {
    offset: u64,
    size: u64,
    first: u32,
    count: u32,
}

/// Records the fill of `dst`. The size is rounded up to whole words.
///
/// # Errors
/// Returns `Compile` at the first use of the kernel, or `OutOfMemory`.
pub(crate) fn fill<'e>(commands: &mut impl OwnCommands<'e>, dst: &'e Span, pattern: &Pattern) -> Result<()> {
    if pattern.is_zero() {
        let size = dst.size.next_multiple_of(4);
        commands.clear(&dst.block, dst.offset..dst.offset + size);
        return Ok(());
    }
    fill_with_kernel(commands, dst, pattern)
}

/// Records the fill of `dst` as dispatches, for any pattern.
///
/// # Errors
/// Returns `Compile` at the first use of the kernel, or `OutOfMemory`.
pub(crate) fn fill_with_kernel<'e>(
    commands: &mut impl OwnDispatches<'e>,
    dst: &'e Span,
    pattern: &Pattern,
) -> Result<()> {
    let caps = commands.caps();
    let size = dst.size.next_multiple_of(4);
    for piece in pieces(dst.offset, size, caps.binding_alignment, PIECE.min(caps.max_binding)) {
        let groups = OwnGroups::Fixed(u64::from(piece.count).div_ceil(WORKGROUP * WORDS_EACH) as u32);
        let range = OwnRange { block: &dst.block, offset: piece.offset, size: piece.size, write: true };
        let kernel = OwnKernel::FillWords;
        let params = &params(pattern, piece);
        commands.dispatch_own(&OwnDispatch { kernel, params, ranges: &[range], groups })?;
    }
    Ok(())
}

/// Splits a range into pieces of at most `most` bytes. The binding of each piece starts at a multiple of `alignment`,
/// as devices require, and all pieces but the first also fill from there. `alignment` is a multiple of the pattern's
/// size, so these pieces begin with the first word of the pattern.
fn pieces(offset: u64, size: u64, alignment: u64, most: u64) -> impl Iterator<Item = FillPiece> {
    let most = (most / alignment).max(1) * alignment;
    let start = offset / alignment * alignment;
    let end = offset + size;
    (start..end).step_by(most as usize).map(move |bound| {
        let from = bound.max(offset);
        let to = end.min(bound + most);
        FillPiece {
            offset: bound,
            size: to - bound,
            first: ((from - bound) / 4) as u32,
            count: ((to - from) / 4) as u32,
        }
    })
}

/// Returns the shader's `Params`. The pattern starts at the first word that the piece fills.
fn params(pattern: &Pattern, piece: FillPiece) -> [u32; 8] {
    let repeated: [u8; 16] = std::array::from_fn(|at| pattern.bytes()[at % pattern.bytes().len()]);
    let [first, second, third, fourth] = bytemuck::cast(repeated);
    [first, second, third, fourth, piece.first, piece.count, 0, 0]
}

/// Bytes of the intermediate buffer for copies within one block.
pub(crate) const INTERMEDIATE: u64 = 16 << 20;

/// Staging memory of a batch, to keep until the batch is complete.
#[derive(Default)]
pub(crate) struct BatchStaging {
    /// Bytes that the batch copies to the device.
    uploads: Vec<StagingPiece<WgpuMemory>>,
    /// Staging memory that the batch writes and the host reads.
    reads: Vec<Arc<PinnedRead>>,
}

impl BatchStaging {
    /// Keeps a piece that the batch copies to the device.
    pub(crate) fn keep(&mut self, piece: StagingPiece<WgpuMemory>) -> &StagingPiece<WgpuMemory> {
        self.uploads.push(piece);
        &self.uploads[self.uploads.len() - 1]
    }

    /// Reserves memory that the batch writes and the host reads. Returns `None` if the device has no such memory.
    ///
    /// # Errors
    /// Returns `OutOfMemory`.
    pub(crate) fn reserve(
        &mut self,
        device: &WgpuDevice,
        size: u64,
        fence: &Arc<dyn Fence>,
        value: TimelineValue,
    ) -> Result<Option<Arc<PinnedRead>>> {
        let Some(piece) = device.download_piece(size)? else { return Ok(None) };
        let read = Arc::new(PinnedRead { piece, fence: fence.clone(), value, fetched: OnceLock::new() });
        self.reads.push(read.clone());
        Ok(Some(read))
    }

    /// Returns the memory that the batch writes and the host reads.
    pub(crate) fn published(&self) -> impl Iterator<Item = &WgpuMemory> {
        self.reads.iter().map(|read| read.piece.memory())
    }

    /// Copies the bytes of the submitted reads to host memory, on GL only. The next submission holds the device's gate
    /// until its work is over, so later reads, which need the gate, would wait for that work.
    #[cfg(native)]
    pub(crate) fn fetch_on_gl(&self) {
        for read in &self.reads {
            if let Some(bytes) = read.piece.fetch_on_gl() {
                let _ = read.fetched.set(bytes);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.uploads.is_empty() && self.reads.is_empty()
    }
}

/// Staging memory of a read. The bytes are valid after `fence` has passed `value`.
pub(crate) struct PinnedRead {
    pub(crate) piece: StagingPiece<WgpuMemory>,
    fence: Arc<dyn Fence>,
    value: TimelineValue,
    /// A copy of the bytes, on GL.
    fetched: OnceLock<Box<[u8]>>,
}

impl Readback for PinnedRead {
    fn copy_out(&self, out: &mut [u8]) -> std::result::Result<(), Lost> {
        let end = out.len();
        if let Some(bytes) = self.fetched.get() {
            out.copy_from_slice(&bytes[..end]);
            return Ok(());
        }
        self.piece.read(&*self.fence, self.value, &mut |bytes| out.copy_from_slice(&bytes[..end]))
    }
}

/// Rounds `size` up to whole words, because wgpu copies whole words. Arrays end at a multiple of 16 bytes, so the added
/// bytes belong to no element.
pub(crate) fn words(size: u64) -> u64 {
    size.next_multiple_of(4)
}

/// Returns the start and the size of each piece of a copy through the intermediate buffer. If the copy goes to a higher
/// offset, it must start `from_the_end`, so that no piece overwrites bytes that a later piece reads.
pub(crate) fn intermediate_pieces(size: u64, from_the_end: bool) -> impl Iterator<Item = (u64, u64)> {
    let count = size.div_ceil(INTERMEDIATE);
    (0..count).map(move |at| {
        let start = if from_the_end { count - 1 - at } else { at } * INTERMEDIATE;
        (start, INTERMEDIATE.min(size - start))
    })
}

/// Size of the smallest staging buffer in bytes.
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
    /// Number of bytes in use, from the front.
    used: u64,
    pool: MappedBuffers,
}

impl MappedBuffers {
    pub(crate) fn new(device: &WgpuDevice, mode: MapMode) -> Self {
        let lost = device.lost().clone();
        let meter = device.meter().clone();
        let spares = device.spares(mode).clone();
        Self { device: device.raw().clone(), lost, mode, meter, spares }
    }

    /// Reserves `size` bytes in the last buffer of `filling`, or in a new buffer added there. Returns the buffer and
    /// the offset of the bytes.
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
                    buffer.unmap(); // a read of an earlier batch left it mapped
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

    /// Makes a buffer. Buffers for uploads are mapped from the start.
    fn make(&self, size: u64) -> Result<wgpu::Buffer> {
        let size =
            if size > SMALLEST << 8 { size.next_multiple_of(SMALLEST) } else { size.next_power_of_two() };
        let (label, usage) = match self.mode {
            MapMode::Write => ("upload staging", Usages::MAP_WRITE | Usages::COPY_SRC),
            MapMode::Read => ("download staging", Usages::MAP_READ | Usages::COPY_DST),
        };
        let size = size.max(SMALLEST);
        let mapped_at_creation = self.mode == MapMode::Write;
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
        let mut view = view.map_err(|error| crate::error::ErrorDetail::Device {
            object: "upload staging".into(),
            message: error.to_string(),
        })?;
        view.slice(..whole.len()).copy_from_slice(whole);
        view.slice(whole.len()..).copy_from_slice(&tail[..rest.len().next_multiple_of(4)]);
        Ok(())
    }
}

/// An upload buffer of a submitted batch. Its drop, after the batch is complete, asks wgpu to map the buffer again for
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
        let error = scoped(&device, || buffer.slice(..).map_async(MapMode::Write, mapped)).error;
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

/// Location of one read's bytes.
struct MappedReadback {
    from: Arc<MappedDownload>,
    offset: u64,
}

impl DownloadBuffer {
    pub(crate) fn new(filling: FillingBuffer) -> Self {
        let FillingBuffer { buffer, count, used, pool } = filling;
        Self(Arc::new(MappedDownload { buffer, count: Some(count), used, mapped: Arc::default(), pool }))
    }

    /// Returns the bytes from `offset` on, which can be read once the buffer is mapped.
    pub(crate) fn read(&self, offset: u64) -> Arc<dyn Readback> {
        Arc::new(MappedReadback { from: self.0.clone(), offset })
    }

    /// Asks wgpu to map the buffer after the submission. When it is mapped, `arrival` is dropped.
    pub(crate) fn map(&self, arrival: Arrival) {
        let slice = self.0.buffer.slice(..self.0.used);
        let mapped = self.0.mapped.clone();
        let lost = self.0.pool.lost.clone();
        slice.map_async(MapMode::Read, move |result| {
            mapped.store(result.is_ok(), Ordering::Release);
            // Mapping a valid buffer fails for no other reason. In a browser, a buffer for which there was no memory is
            // invalid, and its batch fails too.
            if result.is_err() && cfg!(not(target_arch = "wasm32")) {
                lost.raise("a buffer could not be mapped");
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
        let Some(count) = self.count.take() else { return };
        let buffer = self.buffer.clone();
        let mapped = self.mapped.load(Ordering::Acquire);
        // In a browser, a buffer that could not be mapped may be invalid, and each later batch that uses it would fail.
        let is_doubtful = cfg!(target_arch = "wasm32") && !mapped;
        if self.pool.lost.is_raised() || is_doubtful {
            self.pool.spares.discard(buffer);
        } else {
            self.pool.spares.keep(count, SpareBuffer { buffer, mapped });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fill_pieces_cover_the_range_once() {
        for (offset, size) in [(0, 16), (4, 252), (260, 4), (36, 4096), (256, 1 << 20)] {
            let mut at = offset;
            for piece in pieces(offset, size, 256, 1000) {
                assert_eq!(piece.offset % 256, 0);
                assert!(piece.size <= 768);
                assert_eq!(piece.offset + u64::from(piece.first) * 4, at);
                at += u64::from(piece.count) * 4;
            }
            assert_eq!(at, offset + size);
        }
    }

    #[test]
    fn pieces_cover_the_range_once_in_either_direction() {
        let size = 2 * INTERMEDIATE + 4;
        let forward: Vec<_> = intermediate_pieces(size, false).collect();
        assert_eq!(forward, [(0, INTERMEDIATE), (INTERMEDIATE, INTERMEDIATE), (2 * INTERMEDIATE, 4)]);
        let mut backward: Vec<_> = intermediate_pieces(size, true).collect();
        backward.reverse();
        assert_eq!(backward, forward);
    }
}

//! Copies between blocks, uploads from staging memory, and reads to staging memory. Also the times of a batch, which
//! are recorded by its compute passes.

use crate::device::wgpu_device::WgpuDevice;
use crate::driver::error_scopes::Operation;
use crate::error::Result;
use crate::memory::read_slot::{ReadSlot, ReadState};
use crate::memory::staging::Staged;
use crate::memory::wgpu_memory::WgpuMemory;
use crate::record::lanes::LaneFence;
use crate::record::time_pages as times;
use crate::record::time_pages::QUERIES_A_PAGE;
use crate::record::transfers::{
    BatchStaging, DownloadBuffer, FillingBuffer, INTERMEDIATE, MappedBuffers, SubmittedUpload,
    intermediate_pieces, words,
};
use crate::record::wgpu::passes::Passes;
use crate::work::step::Span;
use crate::work::time_slot::{TickPage, TimeSlot};
use fencepost_sync::TimelineValue;
use std::sync::Arc;
use wgpu::MapMode;

/// Buffers for the copies, the uploads and the reads of a recorder.
pub(crate) struct WgpuTransfers {
    uploads: MappedBuffers,
    downloads: MappedBuffers,
    /// Intermediate buffer for copies within one block and for group counts, made at its first use.
    intermediate: Option<wgpu::Buffer>,
    /// Upload buffers of the batch that is being recorded, on devices without permanently mapped memory. The download
    /// buffers are in `reading`.
    sending: Vec<FillingBuffer>,
    reading: Vec<FillingBuffer>,
    /// Pending reads into `reading`: the index of the buffer, the offset in it, and the slot.
    readers: Vec<(usize, u64, Arc<ReadSlot>)>,
    /// Staging memory of the batch, on devices that have such memory.
    staging: BatchStaging,
}

/// Transfer resources to keep until a submission is complete.
pub(crate) struct WgpuTransferResources {
    _staging: BatchStaging,
    _sent: Vec<SubmittedUpload>,
    pub(crate) downloads: Vec<DownloadBuffer>,
}

impl WgpuTransfers {
    pub(crate) fn new(device: &WgpuDevice) -> Self {
        let buffers = |mode| MappedBuffers::new(device, mode);
        Self {
            uploads: buffers(MapMode::Write),
            downloads: buffers(MapMode::Read),
            intermediate: None,
            sending: Vec::new(),
            reading: Vec::new(),
            readers: Vec::new(),
            staging: BatchStaging::default(),
        }
    }

    /// Records a copy. A copy within one block goes through an intermediate buffer, piece by piece, in a direction such
    /// that no piece overwrites bytes that a later piece reads.
    ///
    /// # Errors
    /// Returns `OutOfMemory` for the intermediate buffer.
    pub(crate) fn copy(&mut self, passes: &mut Passes<'_>, src: &Span, dst: &Span) -> Result<()> {
        let size = words(src.size);
        let from = src.block.wgpu_buffer();
        let to = dst.block.wgpu_buffer();
        if !Arc::ptr_eq(&src.block, &dst.block) {
            passes.encoder().copy_buffer_to_buffer(from, src.offset, to, dst.offset, Some(size));
            return Ok(());
        }
        let intermediate = self.intermediate(passes.device)?;
        let encoder = passes.encoder();
        for (start, size) in intermediate_pieces(size, dst.offset > src.offset) {
            encoder.copy_buffer_to_buffer(from, src.offset + start, &intermediate, 0, Some(size));
            encoder.copy_buffer_to_buffer(&intermediate, 0, to, dst.offset + start, Some(size));
        }
        Ok(())
    }

    /// Records a copy of a launch's group counts, and returns the buffer of the copy. Needed if the launch may write
    /// its own counts, or if the device cannot read counts from there.
    ///
    /// # Errors
    /// Returns `OutOfMemory`.
    pub(crate) fn copy_group_counts(&mut self, passes: &mut Passes<'_>, span: &Span) -> Result<wgpu::Buffer> {
        let intermediate = self.intermediate(passes.device)?;
        let size = Some(words(span.size));
        passes.encoder().copy_buffer_to_buffer(span.block.wgpu_buffer(), span.offset, &intermediate, 0, size);
        Ok(intermediate)
    }

    /// Records an upload of staged bytes.
    ///
    /// # Errors
    /// Returns `OutOfMemory`.
    pub(crate) fn upload(&mut self, passes: &mut Passes<'_>, src: &Staged, dst: &Span) -> Result<()> {
        let to = dst.block.wgpu_buffer();
        let size = words(dst.size);
        match src {
            Staged::Wgpu(piece) => {
                let from = piece.memory().buffer();
                passes.encoder().copy_buffer_to_buffer(from, piece.offset(), to, dst.offset, Some(size));
            }
            Staged::Host(bytes) => {
                let (filling, offset) = self.uploads.reserve(&mut self.sending, size)?;
                filling.write(offset, bytes)?;
                passes.encoder().copy_buffer_to_buffer(&filling.buffer, offset, to, dst.offset, Some(size));
            }
        }
        Ok(())
    }

    /// Copies parameters, in whole words, to staging memory. Returns the buffer and the offset in it.
    ///
    /// # Errors
    /// Returns `OutOfMemory`.
    pub(crate) fn parameters(&mut self, device: &WgpuDevice, bytes: &[u8]) -> Result<(wgpu::Buffer, u64)> {
        let copied = device.staged(bytes.len() as u64, &mut |to| to.copy_from_slice(bytes))?;
        let Some(piece) = copied else {
            let (filling, offset) = self.uploads.reserve(&mut self.sending, bytes.len() as u64)?;
            filling.write(offset, bytes)?;
            return Ok((filling.buffer.clone(), offset));
        };
        let piece = self.staging.keep(piece);
        Ok((piece.memory().buffer().clone(), piece.offset()))
    }

    /// Records a read to staging memory, and stores in the slot where the bytes will be.
    ///
    /// # Errors
    /// Returns `OutOfMemory`.
    pub(crate) fn read(
        &mut self,
        passes: &mut Passes<'_>,
        src: &Span,
        slot: &Arc<ReadSlot>,
        read: (&LaneFence, TimelineValue),
    ) -> Result<()> {
        self.fetch(passes, (src.block.wgpu_buffer(), src.offset), words(src.size), slot, read)
    }

    /// Records a read of `size` bytes of a buffer, starting at an offset.
    ///
    /// # Errors
    /// Returns `OutOfMemory`.
    pub(crate) fn fetch(
        &mut self,
        passes: &mut Passes<'_>,
        (from, at): (&wgpu::Buffer, u64),
        size: u64,
        slot: &Arc<ReadSlot>,
        (fence, value): (&LaneFence, TimelineValue),
    ) -> Result<()> {
        if let Some(read) = self.staging.reserve(passes.device, size, &fence.shared(), value)? {
            let to = read.piece.memory().buffer();
            let offset = read.piece.offset();
            passes.encoder().copy_buffer_to_buffer(from, at, to, offset, Some(size));
            slot.set(ReadState::Staged(read));
            return Ok(());
        }
        let (filling, offset) = self.downloads.reserve(&mut self.reading, size)?;
        passes.encoder().copy_buffer_to_buffer(from, at, &filling.buffer, offset, Some(size));
        self.readers.push((self.reading.len() - 1, offset, slot.clone()));
        Ok(())
    }

    /// Returns the staging buffers that the batch writes and the host reads.
    pub(crate) fn published(&self) -> impl Iterator<Item = &wgpu::Buffer> {
        self.staging.published().map(WgpuMemory::buffer)
    }

    /// Ends the recording of a batch. Returns the resources to keep until it is complete, if any.
    pub(crate) fn finish(&mut self) -> Option<WgpuTransferResources> {
        let downloads: Vec<_> = self.reading.drain(..).map(DownloadBuffer::new).collect();
        for (at, offset, slot) in self.readers.drain(..) {
            slot.set(ReadState::Staged(downloads[at].read(offset)));
        }
        let kept = WgpuTransferResources {
            _staging: std::mem::take(&mut self.staging),
            _sent: self.sending.drain(..).map(SubmittedUpload::new).collect(),
            downloads,
        };
        let empty = kept._staging.is_empty() && kept._sent.is_empty() && kept.downloads.is_empty();
        (!empty).then_some(kept)
    }

    /// Drops the intermediate buffer, so that its next use makes another one.
    pub(crate) fn drop_intermediate(&mut self) {
        self.intermediate = None;
    }

    fn intermediate(&mut self, device: &WgpuDevice) -> Result<wgpu::Buffer> {
        if let Some(made) = &self.intermediate {
            return Ok(made.clone());
        }
        let label = "a copy within one array";
        let usage =
            wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::INDIRECT;
        let desc = wgpu::BufferDescriptor {
            label: Some(label),
            size: INTERMEDIATE,
            usage,
            mapped_at_creation: false,
        };
        let operation = Operation { object: label, bytes: INTERMEDIATE };
        let made = operation.run(device.raw(), || device.raw().create_buffer(&desc))?;
        Ok(self.intermediate.insert(made).clone())
    }
}

pub(crate) type WgpuTimePages = times::TimePages<WgpuQueries>;
pub(crate) type WgpuTimePage = times::TimePage<WgpuQueries>;

/// Queries, and the buffer that receives their results.
pub(crate) struct WgpuQueries {
    set: wgpu::QuerySet,
    results: wgpu::Buffer,
}

/// Starts the timing of a command of this level.
pub(crate) fn start(times: &mut WgpuTimePages, passes: &mut Passes<'_>, level: u32, time: &Arc<TimeSlot>) {
    let device = passes.device;
    let open = |idle: Option<WgpuQueries>| idle.map_or_else(|| make(device), Ok);
    if let Some(stamps) = times.start(level, time, open) {
        passes.start_time(&stamps.queries.set, stamps.start, stamps.end);
    }
}

/// Ends the timing of a started command.
pub(crate) fn end(times: &WgpuTimePages, passes: &mut Passes<'_>, time: &Arc<TimeSlot>) {
    if let Some((queries, end)) = times.end(time) {
        passes.end_time(&queries.set, end);
    }
}

/// Records the copy of the times to staging memory. Returns the pages, which must be kept until the batch is complete.
///
/// # Errors
/// Returns `OutOfMemory`, or an earlier error of making a page.
pub(crate) fn finish(
    times: &mut WgpuTimePages,
    passes: &mut Passes<'_>,
    transfers: &mut WgpuTransfers,
    read: (&LaneFence, TimelineValue),
) -> Result<Vec<WgpuTimePage>> {
    times.finish(|WgpuQueries { set, results }, count| {
        passes.encoder().resolve_query_set(set, 0..count, results, 0);
        let slot = ReadSlot::new();
        let bytes = u64::from(count) * TickPage::BYTES_A_QUERY as u64;
        transfers.fetch(passes, (results, 0), bytes, &slot, read)?;
        Ok(slot)
    })
}

fn make(device: &WgpuDevice) -> Result<WgpuQueries> {
    let label = "times";
    let size = u64::from(QUERIES_A_PAGE) * TickPage::BYTES_A_QUERY as u64;
    let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
    let set = wgpu::QuerySetDescriptor {
        label: Some(label),
        ty: wgpu::QueryType::Timestamp,
        count: QUERIES_A_PAGE,
    };
    let results = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
    let raw = device.raw();
    let make = || WgpuQueries { set: raw.create_query_set(&set), results: raw.create_buffer(&results) };
    Operation { object: "queries for times", bytes: size }.run(raw, make)
}

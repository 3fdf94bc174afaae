//! Recording of a batch's commands into wgpu encoders and compute passes. Uniform pages hold the parameters of kernels
//! that do not take them as immediates.

use crate::device::wgpu_device::WgpuDevice;
use crate::device::wgpu_pipeline::{BindGroups, GroupKey, LayoutId, ParameterPath, WgpuPipeline};
use crate::driver::error_scopes::Operation;
use crate::error::Result;
use crate::memory::block::{BlockId, overlap};
use crate::memory::wgpu_memory::free_in_page;
use crate::record::submitter::{BoundRange, BoundRanges, CommandBuffers, Dispatch, GroupCount};
use smallvec::SmallVec;
use std::num::NonZeroU64;

/// Maximum number of compute passes per encoder. wgpu makes native command buffers for each pass, keeps them, and
/// resets them all whenever the encoder is reused, so one long batch would slow down every later one.
const MOST_PASSES: usize = 16;

/// The commands of a batch while they are recorded.
pub(crate) struct Passes<'a> {
    pub(crate) device: &'a WgpuDevice,
    pub(crate) uniforms: &'a mut Uniforms,
    groups: &'a mut BindGroups,
    /// Finished command buffers, in order.
    done: CommandBuffers,
    encoder: wgpu::CommandEncoder,
    /// Number of passes in `encoder`, at most [`MOST_PASSES`].
    begun: usize,
    pass: Option<wgpu::ComputePass<'static>>,
    /// Pipeline that is set in the open pass, with the bind group in `bound`. Both are `None` while no pass is open.
    pipeline: Option<LayoutId>,
    bound: Option<GroupKey>,
    /// A key that is no longer bound, so that the next dispatch can reuse its allocation.
    key: Option<GroupKey>,
    /// Queries of the command that is being timed.
    time: Option<PassTime>,
    /// Copies of ranges that launches read twice.
    copies: Vec<RangeCopy>,
}

/// Queries for the times of a command. `start` is `None` if the command shares the start of another.
struct PassTime {
    set: wgpu::QuerySet,
    start: Option<u32>,
    end: u32,
    begun: PassTimeStart,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PassTimeStart {
    /// No pass has recorded the start yet.
    Not,
    /// A separate pass has recorded the start, and another one will record the end.
    Apart,
    /// The command's only pass records both the start and the end.
    Pass,
}

/// Buffers with copies of ranges, each with the position of its binding.
type Copies = SmallVec<[(usize, wgpu::Buffer); 1]>;

/// A buffer with a copy of a range, to keep until the batch is complete.
pub(crate) struct RangeCopy(wgpu::Buffer);

impl Drop for RangeCopy {
    fn drop(&mut self) {
        free_in_page(&self.0);
    }
}

/// A dispatch of the wgpu recorder.
pub(crate) type WgpuDispatch<'a, P> = Dispatch<'a, WgpuPipeline, wgpu::Buffer, P>;

impl<'a> Passes<'a> {
    pub(crate) fn new(
        device: &'a WgpuDevice,
        groups: &'a mut BindGroups,
        uniforms: &'a mut Uniforms,
    ) -> Self {
        Self {
            device,
            uniforms,
            groups,
            done: CommandBuffers::new(),
            encoder: device.encoder("batch"),
            begun: 0,
            pass: None,
            pipeline: None,
            bound: None,
            key: None,
            time: None,
            copies: Vec::new(),
        }
    }

    /// Ends the open pass, and returns the encoder for a command outside passes. If a command is timed, first records
    /// its start.
    pub(crate) fn encoder(&mut self) -> &mut wgpu::CommandEncoder {
        self.end_pass();
        self.begin_time();
        &mut self.encoder
    }

    pub(crate) fn end_pass(&mut self) {
        if self.pass.take().is_some() {
            self.pipeline = None;
            self.key = self.bound.take().or(self.key.take());
        }
        debug_assert!(self.pipeline.is_none() && self.bound.is_none(), "bug: state of a closed pass");
    }

    pub(crate) fn finish(mut self) -> (CommandBuffers, Vec<RangeCopy>) {
        self.end_pass();
        self.done.push(self.encoder.finish());
        (self.done, self.copies)
    }

    /// Starts the timing of a command with these queries of `set`.
    pub(crate) fn start_time(&mut self, set: &wgpu::QuerySet, start: Option<u32>, end: u32) {
        self.end_pass();
        self.time = Some(PassTime { set: set.clone(), start, end, begun: PassTimeStart::Not });
    }

    /// Ends the timing of a command. The query `end` of `set` receives its end time. If another command has started
    /// since, this one is a graph.
    pub(crate) fn end_time(&mut self, set: &wgpu::QuerySet, end: u32) {
        self.end_pass();
        match self.time.take_if(|time| time.end == end && time.set == *set) {
            Some(PassTime { start, begun: PassTimeStart::Not, .. }) => self.stamp(set, start, Some(end)),
            Some(PassTime { begun: PassTimeStart::Pass, .. }) => {}
            Some(PassTime { begun: PassTimeStart::Apart, .. }) | None => self.stamp(set, Some(end), None),
        }
    }

    /// Records the start of a timed graph in a separate pass, because the graph may have several passes.
    pub(crate) fn begin_graph_time(&mut self) {
        if self.time.is_some() {
            self.end_pass();
            self.begin_time();
        }
    }

    /// Records the start of a timed command that needs an encoder outside passes.
    fn begin_time(&mut self) {
        if let Some(PassTime { set, start, begun: begun @ PassTimeStart::Not, .. }) = &mut self.time {
            *begun = PassTimeStart::Apart;
            if let (set, Some(start)) = (set.clone(), *start) {
                self.stamp(&set, Some(start), None);
            }
        }
    }

    /// Records a pass that only takes timestamps, because every device supports timestamps at the ends of a pass.
    fn stamp(&mut self, set: &wgpu::QuerySet, beginning: Option<u32>, end: Option<u32>) {
        self.count_pass();
        drop(self.encoder.begin_compute_pass(&timed(set, beginning, end)));
    }

    /// Begins a pass of dispatches. The pass records both times of the timed command, unless its start is already
    /// recorded.
    fn begin_pass(&mut self) -> wgpu::ComputePass<'static> {
        self.count_pass();
        let pass = match &mut self.time {
            Some(PassTime { set, start, end, begun: begun @ PassTimeStart::Not }) => {
                *begun = PassTimeStart::Pass;
                self.encoder.begin_compute_pass(&timed(set, *start, Some(*end)))
            }
            _ => self.encoder.begin_compute_pass(&PASS),
        };
        pass.forget_lifetime()
    }

    /// Counts a new pass. Begins another encoder if the current one already has [`MOST_PASSES`].
    fn count_pass(&mut self) {
        if self.begun == MOST_PASSES {
            let full = std::mem::replace(&mut self.encoder, self.device.encoder("batch"));
            self.done.push(full.finish());
            self.begun = 0;
        }
        self.begun += 1;
        debug_assert!(self.begun <= MOST_PASSES, "bug: an encoder with too many passes");
    }

    /// Records a dispatch. `mixed` is `true` if the dispatch binds one block to both a read-only and a writable
    /// binding.
    ///
    /// # Errors
    /// Returns `Compile` if the dispatch needs a kernel variant that the driver rejects, or `OutOfMemory`.
    pub(crate) fn dispatch<'p, P: BoundRanges<'p>>(
        &mut self,
        dispatch: &WgpuDispatch<'_, P>,
        mixed: bool,
    ) -> Result<()> {
        let variant = dispatch.pipeline.variant(mixed)?;
        let parameter_path = dispatch.pipeline.parameter_path();
        let slot = match parameter_path {
            ParameterPath::Uniform { size, .. } => {
                Some(self.uniforms.push(self.device, bytemuck::cast_slice(dispatch.params), size)?)
            }
            ParameterPath::Nothing | ParameterPath::Immediates => None,
        };
        let copies = if mixed { self.copy_shared_reads(dispatch)? } else { Copies::new() };
        let key = self.key_of(variant.id, dispatch.parts.clone(), slot);
        let group = match self.bound.as_ref() == Some(&key) && slot.is_none() {
            true => None,
            false => Some(self.group(&key, &variant.layout, (dispatch, &copies), slot)),
        };
        let new_pipeline = self.pipeline.replace(variant.id) != Some(variant.id);
        if self.pass.is_none() {
            self.pass = Some(self.begin_pass());
        }
        let Some(pass) = &mut self.pass else { unreachable!("bug: no pass is open") };
        if new_pipeline {
            pass.set_pipeline(&variant.pipeline);
        }
        if let Some(group) = group {
            let offset = slot.map(|slot| slot.offset);
            pass.set_bind_group(0, &group, offset.as_slice());
        }
        if parameter_path == ParameterPath::Immediates {
            pass.set_immediates(0, bytemuck::cast_slice(dispatch.params));
        }
        match dispatch.size {
            GroupCount::Fixed([x, y, z]) => pass.dispatch_workgroups(x, y, z),
            GroupCount::Indirect(buffer, offset) => pass.dispatch_workgroups_indirect(buffer, offset),
        }
        self.key = self.bound.replace(key);
        Ok(())
    }

    /// Records a copy of each range that the kernel only reads, if it shares bytes with an earlier such range. Where the
    /// variant with writable bindings runs, a browser refuses two bindings of the same bytes. Other implementations of
    /// wgpu accept them, so nothing is copied there.
    ///
    /// # Errors
    /// Returns `OutOfMemory`.
    fn copy_shared_reads<'p, P: BoundRanges<'p>>(
        &mut self,
        dispatch: &WgpuDispatch<'_, P>,
    ) -> Result<Copies> {
        let mut copies = Copies::new();
        if !cfg!(target_arch = "wasm32") {
            return Ok(copies);
        }
        let range = |part: &BoundRange<'p>| part.offset..part.offset + part.size;
        let reads = dispatch.parts.clone().enumerate().filter(|(at, _)| !dispatch.pipeline.binding(*at).1);
        for (at, part) in reads.clone() {
            let mut earlier = reads.clone().map_while(|(other, part)| (other < at).then_some(part));
            if !earlier.any(|other| other.block.id == part.block.id && overlap(&range(&other), &range(&part)))
            {
                continue;
            }
            let label = "an array that a launch reads twice";
            let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
            let desc = wgpu::BufferDescriptor {
                label: Some(label),
                size: part.size,
                usage,
                mapped_at_creation: false,
            };
            let device = self.device.raw();
            let operation = Operation { object: label, bytes: part.size };
            let buffer = operation.run(device, || device.create_buffer(&desc))?;
            let from = part.block.wgpu_buffer();
            self.encoder().copy_buffer_to_buffer(from, part.offset, &buffer, 0, Some(part.size));
            self.copies.push(RangeCopy(buffer.clone()));
            copies.push((at, buffer));
        }
        Ok(copies)
    }

    fn key_of<'p>(
        &mut self,
        layout: LayoutId,
        parts: impl BoundRanges<'p>,
        slot: Option<UniformSlot>,
    ) -> GroupKey {
        let mut key = self.key.take().unwrap_or(GroupKey { layout, parts: Vec::new() });
        key.layout = layout;
        key.parts.clear();
        key.parts.extend(parts.map(|part| (part.block.id, part.offset, part.size)));
        key.parts.extend(slot.map(|slot| (slot.block(), 0, 0)));
        key
    }

    /// Returns the bind group of `key`, from the cache or newly made.
    fn group<'p, P: BoundRanges<'p>>(
        &mut self,
        key: &GroupKey,
        layout: &wgpu::BindGroupLayout,
        (dispatch, copies): (&WgpuDispatch<'_, P>, &Copies),
        slot: Option<UniformSlot>,
    ) -> wgpu::BindGroup {
        let device = self.device;
        let uniforms = &*self.uniforms;
        let make = || {
            let mut entries: SmallVec<[_; 8]> = SmallVec::new();
            for (at, part) in dispatch.parts.clone().enumerate() {
                let index = dispatch.pipeline.binding(at).0;
                entries.push(match copies.iter().find(|(copied, _)| *copied == at) {
                    Some((_, copy)) => entry(index, copy, 0, part.size),
                    None => entry(index, part.block.wgpu_buffer(), part.offset, part.size),
                });
            }
            if let (Some(slot), ParameterPath::Uniform { index, size }) =
                (slot, dispatch.pipeline.parameter_path())
            {
                entries.push(entry(index, uniforms.page(slot), 0, u64::from(size)));
            }
            let desc = wgpu::BindGroupDescriptor { label: None, layout, entries: &entries };
            device.raw().create_bind_group(&desc)
        };
        // A group in the cache would keep the copies.
        if copies.is_empty() { self.groups.get_or_make(key, make) } else { make() }
    }
}

fn timed(set: &wgpu::QuerySet, beginning: Option<u32>, end: Option<u32>) -> wgpu::ComputePassDescriptor<'_> {
    let timestamp_writes = Some(wgpu::ComputePassTimestampWrites {
        query_set: set,
        beginning_of_pass_write_index: beginning,
        end_of_pass_write_index: end,
    });
    wgpu::ComputePassDescriptor { label: None, timestamp_writes }
}

const PASS: wgpu::ComputePassDescriptor<'static> =
    wgpu::ComputePassDescriptor { label: None, timestamp_writes: None };

fn entry(binding: u32, buffer: &wgpu::Buffer, offset: u64, size: u64) -> wgpu::BindGroupEntry<'_> {
    let bound = wgpu::BufferBinding { buffer, offset, size: NonZeroU64::new(size) };
    wgpu::BindGroupEntry { binding, resource: wgpu::BindingResource::Buffer(bound) }
}

/// Size of a page in bytes. The parameters of a launch are never split between pages.
const PAGE: u64 = 64 << 10;

/// Pages of uniform buffers. Every batch fills them from the front again: commands before its first step copy its
/// parameters into the pages.
pub(crate) struct Uniforms {
    alignment: u64,
    pages: Vec<wgpu::Buffer>,
    /// Parameters of the batch that is being recorded, page after page. There are enough pages for all of them.
    bytes: Vec<u8>,
}

/// The place of a launch's parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UniformSlot {
    pub(crate) page: usize,
    pub(crate) offset: u32,
}

impl UniformSlot {
    /// Returns the id of the page in the keys of bind groups. No block has such an id.
    pub(crate) fn block(self) -> BlockId {
        BlockId(u64::MAX - self.page as u64)
    }
}

impl Uniforms {
    pub(crate) fn new(device: &wgpu::Device) -> Self {
        let alignment = u64::from(device.limits().min_uniform_buffer_offset_alignment).max(16);
        Self { alignment, pages: Vec::new(), bytes: Vec::new() }
    }

    /// Starts a batch: drops the parameters of the previous batch.
    pub(crate) fn reset(&mut self) {
        self.bytes.clear();
    }

    /// Adds the parameters of a launch, followed by zeros up to `size` bytes.
    ///
    /// # Errors
    /// Returns `OutOfMemory` for another page.
    pub(crate) fn push(&mut self, device: &WgpuDevice, params: &[u8], size: u32) -> Result<UniformSlot> {
        let (page, offset) = place(self.bytes.len() as u64, u64::from(size), self.alignment);
        while self.pages.len() <= page {
            self.pages.push(new_page(device)?);
        }
        let start = (page as u64 * PAGE + offset) as usize;
        self.bytes.resize(start, 0);
        self.bytes.extend_from_slice(params);
        self.bytes.resize(start + size as usize, 0);
        debug_assert!(self.bytes.len() <= self.pages.len() * PAGE as usize, "bug: parameters without a page");
        Ok(UniformSlot { page, offset: offset as u32 })
    }

    pub(crate) fn page(&self, slot: UniformSlot) -> &wgpu::Buffer {
        &self.pages[slot.page]
    }

    /// Returns the parameters of the batch, in whole words. The slice is empty if there are none.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Records the copies of all parameters from `staging` into their pages.
    pub(crate) fn load(&self, encoder: &mut wgpu::CommandEncoder, staging: &wgpu::Buffer, offset: u64) {
        for (at, bytes) in self.bytes.chunks(PAGE as usize).enumerate() {
            let from = offset + at as u64 * PAGE;
            encoder.copy_buffer_to_buffer(staging, from, &self.pages[at], 0, Some(bytes.len() as u64));
        }
    }
}

/// Returns the page and the offset of the next `size` bytes after the first `used` bytes.
fn place(used: u64, size: u64, alignment: u64) -> (usize, u64) {
    let start = used.next_multiple_of(alignment);
    let start = if start % PAGE + size > PAGE { start.next_multiple_of(PAGE) } else { start };
    ((start / PAGE) as usize, start % PAGE)
}

fn new_page(device: &WgpuDevice) -> Result<wgpu::Buffer> {
    let label = "parameters";
    let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
    let desc = wgpu::BufferDescriptor { label: Some(label), size: PAGE, usage, mapped_at_creation: false };
    Operation { object: label, bytes: PAGE }.run(device.raw(), || device.raw().create_buffer(&desc))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_start_aligned() {
        assert_eq!(place(0, 16, 256), (0, 0));
        assert_eq!(place(16, 16, 256), (0, 256));
    }

    #[test]
    fn parameters_never_straddle_pages() {
        assert_eq!(place(PAGE - 256, 256, 256), (0, PAGE - 256));
        assert_eq!(place(PAGE - 256, 272, 256), (1, 0));
        assert_eq!(place(PAGE, 64, 256), (1, 0));
    }
}

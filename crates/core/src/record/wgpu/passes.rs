//! One encoder, and in it compute passes that know what is set in them.

use crate::device::bind_groups::{BindGroups, GroupKey};
use crate::device::bind_layout::{LayoutId, ParameterPath};
use crate::device::wgpu_device::WgpuDevice;
use crate::device::wgpu_pipeline::WgpuPipeline;
use crate::error::Result;
use crate::memory::block::{Block, Memory};
use crate::record::dispatch::{BoundRange, GroupCount};
use crate::record::submitter::CommandBuffers;
use crate::record::wgpu::uniforms::{UniformSlot, Uniforms};
use smallvec::SmallVec;
use std::num::NonZeroU64;

/// Passes of one encoder. wgpu makes native command buffers for each, never gives them back, and resets all of an
/// encoder's whenever it is used again: one long batch would slow every later one.
const MOST_PASSES: usize = 16;

/// The commands of a batch while they are recorded.
pub(crate) struct Passes<'a> {
    pub(crate) device: &'a WgpuDevice,
    pub(crate) uniforms: &'a mut Uniforms,
    groups: &'a mut BindGroups,
    /// What is recorded already, in order.
    done: CommandBuffers,
    encoder: wgpu::CommandEncoder,
    /// Passes that `encoder` has begun.
    begun: usize,
    pass: Option<wgpu::ComputePass<'static>>,
    /// What is set in the open pass.
    pipeline: Option<LayoutId>,
    bound: Option<GroupKey>,
    /// The key of the dispatch being recorded; kept for its memory.
    key: Option<GroupKey>,
    /// The command that is being timed.
    time: Option<PassTime>,
}

/// Queries for the time of a command: one before it, unless another one's stands for it, and one behind it.
struct PassTime {
    set: wgpu::QuerySet,
    start: Option<u32>,
    end: u32,
    begun: PassTimeStart,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PassTimeStart {
    Not,
    /// By a pass of its own, and so it ends.
    Apart,
    /// By the command's only pass, which also ends it.
    Pass,
}

/// A dispatch, resolved to blocks.
pub(crate) struct WgpuDispatch<'a> {
    pub(crate) pipeline: &'a WgpuPipeline,
    /// Whether it binds one block both to a readable and to a writable binding.
    pub(crate) mixed: bool,
    pub(crate) params: &'a [u8],
    pub(crate) parts: &'a [BoundRange<'a>],
    pub(crate) size: GroupCount<'a, wgpu::Buffer>,
}

impl<'a> Passes<'a> {
    pub(crate) fn new(
        device: &'a WgpuDevice,
        groups: &'a mut BindGroups,
        uniforms: &'a mut Uniforms,
    ) -> Self {
        let (encoder, done) = (encoder(device), CommandBuffers::new());
        let (pass, pipeline, bound, key, time) = Default::default();
        Self { device, uniforms, groups, done, encoder, begun: 0, pass, pipeline, bound, key, time }
    }

    /// The encoder outside of any pass.
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
    }

    pub(crate) fn finish(mut self) -> CommandBuffers {
        self.end_pass();
        self.done.push(self.encoder.finish());
        self.done
    }

    /// What is recorded next is timed, in these queries of `set`.
    pub(crate) fn start_time(&mut self, set: &wgpu::QuerySet, start: Option<u32>, end: u32) {
        self.end_pass();
        self.time = Some(PassTime { set: set.clone(), start, end, begun: PassTimeStart::Not });
    }

    /// What was timed ends.
    pub(crate) fn end_time(&mut self) {
        self.end_pass();
        match self.time.take() {
            Some(PassTime { set, start, end, begun: PassTimeStart::Not }) => {
                self.stamp(&set, start, Some(end))
            }
            Some(PassTime { set, end, begun: PassTimeStart::Apart, .. }) => self.stamp(&set, Some(end), None),
            Some(PassTime { begun: PassTimeStart::Pass, .. }) | None => {}
        }
    }

    /// Notes the time before what is no pass.
    fn begin_time(&mut self) {
        if let Some(PassTime { set, start, begun: begun @ PassTimeStart::Not, .. }) = &mut self.time {
            *begun = PassTimeStart::Apart;
            if let (set, Some(start)) = (set.clone(), *start) {
                self.stamp(&set, Some(start), None);
            }
        }
    }

    /// A pass that does nothing but note the time: that is what every device can.
    fn stamp(&mut self, set: &wgpu::QuerySet, beginning: Option<u32>, end: Option<u32>) {
        self.count_pass();
        drop(self.encoder.begin_compute_pass(&timed(set, beginning, end)));
    }

    /// Begins a pass of dispatches, which is the whole of what is being timed unless that has begun.
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

    /// Makes room for another pass.
    fn count_pass(&mut self) {
        if self.begun == MOST_PASSES {
            let full = std::mem::replace(&mut self.encoder, encoder(self.device));
            self.done.push(full.finish());
            self.begun = 0;
        }
        self.begun += 1;
    }

    /// Records a dispatch.
    ///
    /// # Errors
    /// `Compile` if it needs a form of the kernel that the driver rejects; out of memory.
    pub(crate) fn dispatch(&mut self, dispatch: &WgpuDispatch<'_>) -> Result<()> {
        let variant = dispatch.pipeline.variant(dispatch.mixed)?;
        let carry = dispatch.pipeline.carry();
        let slot = match carry {
            ParameterPath::Uniform { size, .. } => {
                Some(self.uniforms.push(self.device, dispatch.params, size)?)
            }
            ParameterPath::Nothing | ParameterPath::Immediates => None,
        };
        let key = self.key_of(variant.id, dispatch.parts, slot);
        let group = match self.bound.as_ref() == Some(&key) && slot.is_none() {
            true => None,
            false => Some(self.group(&key, &variant.layout, dispatch, slot)),
        };
        let new_pipeline = self.pipeline.replace(variant.id) != Some(variant.id);
        if self.pass.is_none() {
            self.pass = Some(self.begin_pass());
        }
        let Some(pass) = &mut self.pass else { unreachable!("bug: the pass is open") };
        if new_pipeline {
            pass.set_pipeline(&variant.pipeline);
        }
        if let Some(group) = group {
            let offset = slot.map(|slot| slot.offset);
            pass.set_bind_group(0, &group, offset.as_slice());
        }
        if carry == ParameterPath::Immediates {
            pass.set_immediates(0, dispatch.params);
        }
        match dispatch.size {
            GroupCount::Fixed([x, y, z]) => pass.dispatch_workgroups(x, y, z),
            GroupCount::Indirect(buffer, offset) => pass.dispatch_workgroups_indirect(buffer, offset),
        }
        self.key = self.bound.replace(key);
        Ok(())
    }

    fn key_of(&mut self, layout: LayoutId, parts: &[BoundRange<'_>], slot: Option<UniformSlot>) -> GroupKey {
        let mut key = self.key.take().unwrap_or(GroupKey { layout, parts: Vec::new() });
        key.layout = layout;
        key.parts.clear();
        key.parts.extend(parts.iter().map(|part| (part.block.id, part.offset, part.size)));
        key.parts.extend(slot.map(|slot| (slot.block(), 0, 0)));
        key
    }

    fn group(
        &mut self,
        key: &GroupKey,
        layout: &wgpu::BindGroupLayout,
        dispatch: &WgpuDispatch<'_>,
        slot: Option<UniformSlot>,
    ) -> wgpu::BindGroup {
        let (device, uniforms) = (self.device, &*self.uniforms);
        self.groups.get(key, || {
            let mut entries: SmallVec<[_; 8]> = SmallVec::new();
            for (at, part) in dispatch.parts.iter().enumerate() {
                let index = dispatch.pipeline.binding(at).0;
                entries.push(entry(index, buffer_of(part.block), part.offset, part.size));
            }
            if let (Some(slot), ParameterPath::Uniform { index, size }) = (slot, dispatch.pipeline.carry()) {
                entries.push(entry(index, uniforms.page(slot), 0, u64::from(size)));
            }
            let desc = wgpu::BindGroupDescriptor { label: None, layout, entries: &entries };
            device.raw().create_bind_group(&desc)
        })
    }
}

fn encoder(device: &WgpuDevice) -> wgpu::CommandEncoder {
    device.raw().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("batch") })
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

/// The buffer behind a block of a wgpu device.
///
/// # Panics
/// If the block is another device's: a bug of whoever made the command.
pub(crate) fn buffer_of(block: &Block) -> &wgpu::Buffer {
    match &block.memory {
        Memory::Wgpu(memory) => memory.buffer(),
        Memory::Host(_) => unreachable!("bug: {block:?} is the CPU recorder's"),
    }
}

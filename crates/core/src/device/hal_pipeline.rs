//! Pipelines and bind groups of wgpu-hal's, on a device that wgpu opened.
#![allow(unsafe_code, reason = "objects that wgpu itself does not know")]

use crate::device::bind_layout::{LayoutId, ParameterPath};
use crate::device::kernel_folder::KernelFile;
use crate::device::kernel_origin::{CompileTarget, KernelOrigin, check, make_writable};
use crate::driver::backend::Backend;
use crate::driver::error_scopes::reasons;
use crate::driver::gl_gate::GlGate;
use crate::error::{Error, Kind, Result};
use crate::memory::wgpu_memory::refused;
use crate::work::compiled_kernel::Recipe;
use crate::work::kernel_launch::BoundArray;
use std::num::NonZeroU64;
use std::sync::{Arc, OnceLock};
use wgpu::BufferUses as Uses;
use wgpu::hal::{self, Device as _};
use wgpu::naga::valid::ValidationFlags;

/// What is bound at one index: a buffer of hal's, from where, and how many bytes.
pub(crate) struct HalBinding<'a, A: Backend> {
    pub(crate) index: u32,
    pub(crate) buffer: &'a A::Buffer,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// A compiled kernel.
pub(crate) struct HalPipeline<A: Backend> {
    pub(crate) id: LayoutId,
    pub(crate) carry: ParameterPath,
    /// The index of each binding, in the order of the interface.
    pub(crate) indices: Vec<u32>,
    /// Whether the shader declares each binding writable.
    writable: Vec<bool>,
    origin: Arc<KernelOrigin>,
    /// With every storage binding writable: for launches that bind one buffer both ways, where a buffer has to be in
    /// the one state of its use.
    both_ways: OnceLock<Box<Self>>,
    gate: Arc<GlGate>,
    /// There until the drop.
    parts: Option<PipelineParts<A>>,
}

/// The native objects of a pipeline, as far as they were made.
struct PipelineParts<A: Backend> {
    device: wgpu::Device,
    pipeline: Option<A::ComputePipeline>,
    layout: Option<A::PipelineLayout>,
    groups: Option<Arc<GroupLayout<A>>>,
    shader: Option<A::ShaderModule>,
}

/// What a group has to bind. No group may outlive it.
struct GroupLayout<A: Backend> {
    native: Option<A::BindGroupLayout>,
    device: wgpu::Device,
}

/// A bind group. It names buffers and keeps none of them.
pub(crate) struct HalGroup<A: Backend> {
    native: Option<A::BindGroup>,
    layout: Arc<GroupLayout<A>>,
}

/// Queries for times.
pub(crate) struct HalQueries<A: Backend> {
    native: Option<A::QuerySet>,
    count: u32,
    device: wgpu::Device,
}

impl<'a, A: Backend> HalBinding<'a, A> {
    fn native(&self) -> hal::BufferBinding<'a, A::Buffer> {
        hal::BufferBinding::new_unchecked(self.buffer, self.offset, NonZeroU64::new(self.size))
    }
}

impl<A: Backend> HalPipeline<A> {
    /// Compiles one entry point for a device of `A`.
    ///
    /// # Errors
    /// As the wgpu recorder's pipelines.
    pub(crate) fn new(target: CompileTarget<'_>, recipe: &Recipe<'_>) -> Result<Self> {
        check(target.caps, recipe.interface)?;
        let origin = Arc::new(KernelOrigin::new(target, recipe));
        Self::of(target.device, target.gate, origin, false)
    }

    fn of(
        device: &wgpu::Device,
        gate: &Arc<GlGate>,
        origin: Arc<KernelOrigin>,
        all_writable: bool,
    ) -> Result<Self> {
        let indices = origin.bindings.iter().map(|&(index, ..)| index).collect();
        let writable = origin.bindings.iter().map(|&(_, _, writable)| writable || all_writable).collect();
        let (id, carry, device, gate) = (LayoutId::next(), origin.carry, device.clone(), gate.clone());
        let mut parts = PipelineParts { device, pipeline: None, layout: None, groups: None, shader: None };
        // What was made before something fails goes with the parts.
        parts.make(&origin, all_writable).map_err(|unmade| unmade.error(&origin.kernel))?;
        Ok(Self {
            id,
            carry,
            indices,
            writable,
            origin,
            both_ways: OnceLock::new(),
            gate,
            parts: Some(parts),
        })
    }

    /// The form for a launch.
    ///
    /// # Errors
    /// `Compile` if the form is made now and the driver rejects it.
    pub(crate) fn form(&self, bindings: &[BoundArray]) -> Result<&Self> {
        if !A::EXACT || !self.mixes(bindings) {
            return Ok(self);
        }
        if let Some(made) = self.both_ways.get() {
            return Ok(made);
        }
        let made = Self::of(&self.parts().device, &self.gate, self.origin.clone(), true)?;
        Ok(self.both_ways.get_or_init(|| Box::new(made)))
    }

    /// Whether one block is bound both to a readable and to a writable binding.
    fn mixes(&self, bindings: &[BoundArray]) -> bool {
        let same = |a: usize, b: usize| Arc::ptr_eq(&bindings[a].block, &bindings[b].block);
        (0..bindings.len()).any(|a| (0..a).any(|b| self.writable[a] != self.writable[b] && same(a, b)))
    }

    fn parts(&self) -> &PipelineParts<A> {
        self.parts.as_ref().expect("they live as long as the pipeline")
    }

    /// What a launch does to its argument at `at`; nothing if it is bound and not used.
    pub(crate) fn uses(&self, at: usize, bound: &BoundArray) -> Option<(Uses, bool)> {
        let write = bound.used?.writes();
        let read_only = A::EXACT && !self.writable[at];
        let uses = if read_only { Uses::STORAGE_READ_ONLY } else { Uses::STORAGE_READ_WRITE };
        Some((uses, write))
    }

    pub(crate) fn pipeline(&self) -> &A::ComputePipeline {
        self.parts().pipeline.as_ref().expect("bug: an unfinished pipeline was given out")
    }

    pub(crate) fn layout(&self) -> &A::PipelineLayout {
        self.parts().layout.as_ref().expect("bug: an unfinished pipeline was given out")
    }

    /// A group of these buffers, each of which is longer than its binding's smallest size.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn group(
        &self,
        binds: &[HalBinding<'_, A>],
    ) -> std::result::Result<Arc<HalGroup<A>>, hal::DeviceError> {
        // SAFETY: the handle is only used to make a group of our own.
        let raw = unsafe { self.parts().device.as_hal::<A>() }.ok_or(hal::DeviceError::Lost)?;
        let layout = self.parts().groups.clone().expect("bug: an unfinished pipeline was given out");
        let mut order: Vec<usize> = (0..binds.len()).collect();
        order.sort_unstable_by_key(|&at| binds[at].index);
        let entry = |&at: &usize| hal::BindGroupEntry {
            binding: binds[at].index,
            resource_index: at as u32,
            count: 1,
        };
        let entries: Vec<_> = order.iter().map(entry).collect();
        let buffers: Vec<_> = binds.iter().map(HalBinding::native).collect();
        let desc = hal::BindGroupDescriptor {
            label: None,
            layout: layout.native(),
            buffers: &buffers,
            samplers: &[],
            textures: &[],
            entries: &entries,
            acceleration_structures: &[],
            external_textures: &[],
        };
        // SAFETY: every binding of the layout once, in order, within the buffers and aligned, as launches check.
        let native = unsafe { raw.create_bind_group(&desc) }?;
        Ok(Arc::new(HalGroup { native: Some(native), layout }))
    }
}

impl<A: Backend> PipelineParts<A> {
    fn make(
        &mut self,
        origin: &KernelOrigin,
        all_writable: bool,
    ) -> std::result::Result<(), PipelineFailure> {
        let device = self.device.clone();
        // SAFETY: the handle is only used to make objects of our own.
        let raw = unsafe { device.as_hal::<A>() }.ok_or(hal::DeviceError::Lost)?;
        let label = Some(origin.kernel.as_str());
        let shader = naga_shader(&device, origin, all_writable)?;
        let entries = origin.entries(all_writable);
        let flags = hal::BindGroupLayoutFlags::empty();
        let desc = hal::BindGroupLayoutDescriptor { label, flags, entries: &entries };
        // SAFETY: the entries are in the order of their indices and within the device's limits.
        let groups = unsafe { raw.create_bind_group_layout(&desc) }?;
        let layout = GroupLayout { native: Some(groups), device: device.clone() };
        let groups = self.groups.insert(Arc::new(layout));
        let desc = hal::PipelineLayoutDescriptor {
            label,
            flags: hal::PipelineLayoutFlags::NUM_WORK_GROUPS,
            bind_group_layouts: &[Some(groups.native())],
            immediate_size: origin.immediates,
        };
        // SAFETY: one group layout of this device, and immediates within its limit.
        let layout = unsafe { raw.create_pipeline_layout(&desc) }?;
        let layout = self.layout.insert(layout);
        let runtime_checks = wgpu::ShaderRuntimeChecks::checked();
        let desc = hal::ShaderModuleDescriptor { label, runtime_checks };
        // SAFETY: the module was validated, and keeps all its checks.
        let shader = unsafe { raw.create_shader_module(&desc, hal::ShaderInput::Naga(shader)) };
        let shader = self.shader.insert(shader?);
        let constants = origin.constants.iter().map(|(name, value)| (name.clone(), *value)).collect();
        let stage = hal::ProgrammableStage {
            module: &*shader,
            entry_point: &origin.kernel,
            constants: &constants,
            zero_initialize_workgroup_memory: true,
        };
        let file = origin.file(all_writable);
        let loaded = file.as_ref().and_then(KernelFile::load);
        let cache = file.as_ref().and_then(|_| pipeline_cache::<A>(&raw, loaded.as_deref()));
        let desc = hal::ComputePipelineDescriptor { label, layout: &*layout, stage, cache: cache.as_ref() };
        // SAFETY: made from this device's own layout and shader, whose interface the layout was made from.
        let pipeline = unsafe { raw.create_compute_pipeline(&desc) };
        if let (Some(file), Some(cache)) = (file, cache) {
            // SAFETY: a cache of this device.
            let data = unsafe { raw.pipeline_cache_get_data(&cache) };
            // Some drivers give more each time for the same kernel: what was there stays.
            if let (Some(data), None, Ok(_)) = (data, loaded, &pipeline) {
                file.keep(&data);
            }
            // SAFETY: the pipeline is made, and nothing else uses the cache.
            unsafe { raw.destroy_pipeline_cache(cache) };
        }
        self.pipeline = Some(pipeline?);
        Ok(())
    }
}

/// What the driver made before, for it to take up; an empty one if it does not want that. The kernel is compiled without
/// one if the driver has none.
fn pipeline_cache<A: Backend>(raw: &A::Device, loaded: Option<&[u8]>) -> Option<A::PipelineCache> {
    let make = |data| {
        let desc = hal::PipelineCacheDescriptor { label: Some("kernel"), data };
        // SAFETY: the bytes are those of a cache of this device and driver: name, length and checksum of the file say so,
        // and the driver compares what it wrote at their beginning.
        unsafe { raw.create_pipeline_cache(&desc) }.ok()
    };
    loaded.and_then(|data| make(Some(data))).or_else(|| make(None))
}

/// As [`pipeline_cache`], of wgpu's own, for a device that has the feature.
pub(crate) fn portable_cache(device: &wgpu::Device, data: Option<&[u8]>) -> Option<wgpu::PipelineCache> {
    let desc = wgpu::PipelineCacheDescriptor { label: Some("kernel"), data, fallback: true };
    // SAFETY: the bytes are those of a cache of this device and driver: name, length and checksum of the file say so, and
    // wgpu and the driver compare what they wrote at their beginning.
    Some(unsafe { device.create_pipeline_cache(&desc) })
}

/// Why there is no pipeline.
enum PipelineFailure {
    /// The driver could not, whatever the shader.
    Refused(hal::DeviceError),
    Rejected(String),
}

impl PipelineFailure {
    fn error(self, kernel: &str) -> Error {
        match self {
            PipelineFailure::Refused(error) => refused(&error, &format!("kernel `{kernel}`"), 0),
            PipelineFailure::Rejected(message) => Kind::Compile { kernel: kernel.into(), message }.into(),
        }
    }
}

impl From<hal::DeviceError> for PipelineFailure {
    fn from(error: hal::DeviceError) -> Self {
        PipelineFailure::Refused(error)
    }
}

impl From<hal::ShaderError> for PipelineFailure {
    fn from(error: hal::ShaderError) -> Self {
        match error {
            hal::ShaderError::Device(error) => PipelineFailure::Refused(error),
            other => PipelineFailure::Rejected(reasons(&other)),
        }
    }
}

impl From<hal::PipelineError> for PipelineFailure {
    fn from(error: hal::PipelineError) -> Self {
        match error {
            hal::PipelineError::Device(error) => PipelineFailure::Refused(error),
            other => PipelineFailure::Rejected(reasons(&other)),
        }
    }
}

impl<A: Backend> HalGroup<A> {
    pub(crate) fn native(&self) -> &A::BindGroup {
        self.native.as_ref().expect("it lives as long as the group")
    }
}

impl<A: Backend> Drop for HalGroup<A> {
    fn drop(&mut self) {
        // SAFETY: the handle is only used to destroy a group of our own.
        let raw = unsafe { self.layout.device.as_hal::<A>() };
        if let (Some(raw), Some(native)) = (raw, self.native.take()) {
            // SAFETY: whoever recorded it keeps it until its submission is complete.
            unsafe { raw.destroy_bind_group(native) };
        }
    }
}

impl<A: Backend> GroupLayout<A> {
    fn native(&self) -> &A::BindGroupLayout {
        self.native.as_ref().expect("it lives as long as the layout")
    }
}

impl<A: Backend> Drop for GroupLayout<A> {
    fn drop(&mut self) {
        // SAFETY: the handle is only used to destroy a layout of our own.
        let raw = unsafe { self.device.as_hal::<A>() };
        if let (Some(raw), Some(native)) = (raw, self.native.take()) {
            // SAFETY: its groups keep it, and they are gone.
            unsafe { raw.destroy_bind_group_layout(native) };
        }
    }
}

impl<A: Backend> Drop for HalPipeline<A> {
    fn drop(&mut self) {
        self.gate.drop_in_turn(self.parts.take());
    }
}

impl<A: Backend> Drop for PipelineParts<A> {
    fn drop(&mut self) {
        // SAFETY: the handle is only used to destroy objects of our own.
        let Some(raw) = (unsafe { self.device.as_hal::<A>() }) else { return };
        let Self { pipeline, layout, shader, .. } = self;
        // SAFETY: launches keep their kernel until their submission is complete.
        pipeline.take().into_iter().for_each(|pipeline| unsafe { raw.destroy_compute_pipeline(pipeline) });
        // SAFETY: as above, and the pipeline that used it is gone.
        layout.take().into_iter().for_each(|layout| unsafe { raw.destroy_pipeline_layout(layout) });
        // SAFETY: as above.
        shader.take().into_iter().for_each(|shader| unsafe { raw.destroy_shader_module(shader) });
    }
}

impl<A: Backend> HalQueries<A> {
    /// Makes `count` of them.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn new(device: &wgpu::Device, count: u32) -> Result<Self> {
        let gone = || hal::DeviceError::Lost;
        // SAFETY: the handle is only used to make queries of our own.
        let raw = unsafe { device.as_hal::<A>() };
        let desc =
            wgpu::wgt::QuerySetDescriptor { label: Some("times"), ty: wgpu::QueryType::Timestamp, count };
        // SAFETY: the device has timestamps, or nothing would be timed.
        let made = raw.ok_or_else(gone).and_then(|raw| unsafe { raw.create_query_set(&desc) });
        let native = made.map_err(|error| refused(&error, "queries for times", 8 * u64::from(count)))?;
        Ok(Self { native: Some(native), count, device: device.clone() })
    }

    pub(crate) fn native(&self) -> &A::QuerySet {
        self.native.as_ref().expect("they are there until the drop")
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}

impl<A: Backend> Drop for HalQueries<A> {
    fn drop(&mut self) {
        // SAFETY: the handle is only used to destroy queries of our own.
        let raw = unsafe { self.device.as_hal::<A>() };
        if let (Some(raw), Some(native)) = (raw, self.native.take()) {
            // SAFETY: whoever recorded them keeps them until its submission is complete.
            unsafe { raw.destroy_query_set(native) };
        }
    }
}

/// The shader, validated for what the device can do, as wgpu does it.
fn naga_shader(
    device: &wgpu::Device,
    origin: &KernelOrigin,
    all_writable: bool,
) -> std::result::Result<hal::NagaShader, PipelineFailure> {
    let mut module = origin.source.clone();
    if all_writable {
        make_writable(&mut module);
    }
    let downlevel = wgpu::DownlevelFlags::all(); // what it limits has nothing to do with compute
    let mut validator =
        wgpu_naga_bridge::create_validator(device.features(), downlevel, ValidationFlags::all());
    let info = validator.validate(&module).map_err(|error| PipelineFailure::Rejected(reasons(&error)))?;
    Ok(hal::NagaShader { module: std::borrow::Cow::Owned(module), info, debug_source: None })
}

//! Pipelines and bind groups of wgpu-hal, on a device that wgpu opened.
#![allow(unsafe_code, reason = "native objects that wgpu does not track")]

use crate::device::bind_groups::LayoutId;
use crate::device::kernel_folder::KernelFile;
use crate::device::kernel_origin::{CompileTarget, KernelOrigin, check, make_writable};
use crate::device::parameter_path::ParameterPath;
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

/// Binds a native buffer at one index, from `offset` on.
pub(crate) struct HalBinding<'a, A: Backend> {
    pub(crate) index: u32,
    pub(crate) buffer: &'a A::Buffer,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// Holds a compiled kernel.
pub(crate) struct HalPipeline<A: Backend> {
    pub(crate) id: LayoutId,
    pub(crate) carry: ParameterPath,
    /// Lists the index of each binding, in the order of the interface.
    pub(crate) indices: Vec<u32>,
    /// Is `true` for each binding that the shader declares writable.
    writable: Vec<bool>,
    origin: Arc<KernelOrigin>,
    /// Holds the form with every storage binding writable. A launch that binds one buffer both to a readable and to a
    /// writable binding uses it, on a backend where a buffer must be in exactly one state.
    both_ways: OnceLock<Box<Self>>,
    gate: Arc<GlGate>,
    /// Is `Some` until the drop.
    parts: Option<PipelineParts<A>>,
}

/// Holds the native objects of a pipeline that are made so far.
struct PipelineParts<A: Backend> {
    device: wgpu::Device,
    pipeline: Option<A::ComputePipeline>,
    layout: Option<A::PipelineLayout>,
    groups: Option<Arc<GroupLayout<A>>>,
    shader: Option<A::ShaderModule>,
}

/// Holds the layout of a bind group. A group holds a reference to its layout, so no group outlives it.
struct GroupLayout<A: Backend> {
    native: Option<A::BindGroupLayout>,
    device: wgpu::Device,
}

/// Holds a bind group. The group refers to buffers and keeps none of them alive.
pub(crate) struct HalGroup<A: Backend> {
    native: Option<A::BindGroup>,
    layout: Arc<GroupLayout<A>>,
}

/// Holds timestamp queries.
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
    /// Returns the errors of [`WgpuPipeline::new`](crate::device::wgpu_pipeline::WgpuPipeline::new).
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
        // If a later object fails, the drop of `parts` destroys the earlier ones.
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

    /// Returns the form of the pipeline for a launch.
    ///
    /// # Errors
    /// Returns `Compile` if this call makes the form and the driver rejects it.
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

    /// Returns `true` if one block is bound both to a readable and to a writable binding.
    fn mixes(&self, bindings: &[BoundArray]) -> bool {
        let same = |a: usize, b: usize| Arc::ptr_eq(&bindings[a].block, &bindings[b].block);
        (0..bindings.len()).any(|a| (0..a).any(|b| self.writable[a] != self.writable[b] && same(a, b)))
    }

    fn parts(&self) -> &PipelineParts<A> {
        self.parts.as_ref().expect("the parts live until the drop of the pipeline")
    }

    /// Returns the use of the argument at `at`, and whether it is a write. Returns `None` if the kernel does not use
    /// the argument.
    pub(crate) fn uses(&self, at: usize, bound: &BoundArray) -> Option<(Uses, bool)> {
        let write = bound.used?.writes();
        let read_only = A::EXACT && !self.writable[at];
        let uses = if read_only { Uses::STORAGE_READ_ONLY } else { Uses::STORAGE_READ_WRITE };
        Some((uses, write))
    }

    pub(crate) fn pipeline(&self) -> &A::ComputePipeline {
        self.parts().pipeline.as_ref().expect("bug: an unfinished pipeline is in use")
    }

    pub(crate) fn layout(&self) -> &A::PipelineLayout {
        self.parts().layout.as_ref().expect("bug: an unfinished pipeline is in use")
    }

    /// Makes a group of these buffers, each of which is longer than its binding's smallest size.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(crate) fn group(
        &self,
        binds: &[HalBinding<'_, A>],
    ) -> std::result::Result<Arc<HalGroup<A>>, hal::DeviceError> {
        // SAFETY: the code uses the handle only to make a group that `HalGroup` destroys.
        let raw = unsafe { self.parts().device.as_hal::<A>() }.ok_or(hal::DeviceError::Lost)?;
        let layout = self.parts().groups.clone().expect("bug: an unfinished pipeline is in use");
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
        // SAFETY: the entries name every binding of the layout once and in order. Launches check that each range is
        // aligned and inside its buffer.
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
        // SAFETY: the code uses the handle only to make objects that this type destroys.
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
        // SAFETY: the group layout belongs to this device, and the immediates are within its limit.
        let layout = unsafe { raw.create_pipeline_layout(&desc) }?;
        let layout = self.layout.insert(layout);
        let runtime_checks = wgpu::ShaderRuntimeChecks::checked();
        let desc = hal::ShaderModuleDescriptor { label, runtime_checks };
        // SAFETY: the module is validated and keeps all its runtime checks.
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
        // SAFETY: the layout and the shader belong to this device, and the layout was made from the shader's interface.
        let pipeline = unsafe { raw.create_compute_pipeline(&desc) };
        if let (Some(file), Some(cache)) = (file, cache) {
            // SAFETY: the cache belongs to this device.
            let data = unsafe { raw.pipeline_cache_get_data(&cache) };
            // Some drivers return more data each time for the same kernel, so an existing file stays as it is.
            if let (Some(data), None, Ok(_)) = (data, loaded, &pipeline) {
                file.keep(&data);
            }
            // SAFETY: the pipeline is made, and no other code uses the cache.
            unsafe { raw.destroy_pipeline_cache(cache) };
        }
        self.pipeline = Some(pipeline?);
        Ok(())
    }
}

/// Makes a pipeline cache from the data of an earlier run, or an empty one if the driver refuses the data. Returns
/// `None` if the driver has no pipeline cache; the kernel is then compiled without one.
fn pipeline_cache<A: Backend>(raw: &A::Device, loaded: Option<&[u8]>) -> Option<A::PipelineCache> {
    let make = |data| {
        let desc = hal::PipelineCacheDescriptor { label: Some("kernel"), data };
        // SAFETY: the bytes come from a cache of this device and driver: the name, the length and the checksum of the
        // file say so. The driver compares the header that it wrote.
        unsafe { raw.create_pipeline_cache(&desc) }.ok()
    };
    loaded.and_then(|data| make(Some(data))).or_else(|| make(None))
}

/// Makes a pipeline cache of wgpu for a device with the feature, as [`pipeline_cache`] does.
pub(crate) fn portable_cache(device: &wgpu::Device, data: Option<&[u8]>) -> Option<wgpu::PipelineCache> {
    let desc = wgpu::PipelineCacheDescriptor { label: Some("kernel"), data, fallback: true };
    // SAFETY: the bytes come from a cache of this device and driver: the name, the length and the checksum of the file
    // say so. wgpu and the driver compare the headers that they wrote.
    Some(unsafe { device.create_pipeline_cache(&desc) })
}

/// Is the reason why a pipeline could not be made.
enum PipelineFailure {
    /// The driver failed for a reason apart from the shader.
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
        self.native.as_ref().expect("the native group lives until the drop")
    }
}

impl<A: Backend> Drop for HalGroup<A> {
    fn drop(&mut self) {
        // SAFETY: the code uses the handle only to destroy the group of this type.
        let raw = unsafe { self.layout.device.as_hal::<A>() };
        if let (Some(raw), Some(native)) = (raw, self.native.take()) {
            // SAFETY: a submission keeps the groups that it uses until it is complete, so no submission uses this one.
            unsafe { raw.destroy_bind_group(native) };
        }
    }
}

impl<A: Backend> GroupLayout<A> {
    fn native(&self) -> &A::BindGroupLayout {
        self.native.as_ref().expect("the native layout lives until the drop")
    }
}

impl<A: Backend> Drop for GroupLayout<A> {
    fn drop(&mut self) {
        // SAFETY: the code uses the handle only to destroy the layout of this type.
        let raw = unsafe { self.device.as_hal::<A>() };
        if let (Some(raw), Some(native)) = (raw, self.native.take()) {
            // SAFETY: each group keeps its layout, so all groups of this layout are destroyed.
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
        // SAFETY: the code uses the handle only to destroy the objects of this type.
        let Some(raw) = (unsafe { self.device.as_hal::<A>() }) else { return };
        let Self { pipeline, layout, shader, .. } = self;
        // SAFETY: a launch keeps its kernel until its submission is complete, so no submission uses the pipeline.
        pipeline.take().into_iter().for_each(|pipeline| unsafe { raw.destroy_compute_pipeline(pipeline) });
        // SAFETY: as above, and the pipeline that used the layout is destroyed.
        layout.take().into_iter().for_each(|layout| unsafe { raw.destroy_pipeline_layout(layout) });
        // SAFETY: as above.
        shader.take().into_iter().for_each(|shader| unsafe { raw.destroy_shader_module(shader) });
    }
}

impl<A: Backend> HalQueries<A> {
    /// Makes `count` timestamp queries.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(crate) fn new(device: &wgpu::Device, count: u32) -> Result<Self> {
        let gone = || hal::DeviceError::Lost;
        // SAFETY: the code uses the handle only to make queries that this type destroys.
        let raw = unsafe { device.as_hal::<A>() };
        let desc =
            wgpu::wgt::QuerySetDescriptor { label: Some("times"), ty: wgpu::QueryType::Timestamp, count };
        // SAFETY: the device has the timestamp feature, because only such a device records times.
        let made = raw.ok_or_else(gone).and_then(|raw| unsafe { raw.create_query_set(&desc) });
        let native = made.map_err(|error| refused(&error, "queries for times", 8 * u64::from(count)))?;
        Ok(Self { native: Some(native), count, device: device.clone() })
    }

    pub(crate) fn native(&self) -> &A::QuerySet {
        self.native.as_ref().expect("the native queries live until the drop")
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}

impl<A: Backend> Drop for HalQueries<A> {
    fn drop(&mut self) {
        // SAFETY: the code uses the handle only to destroy the queries of this type.
        let raw = unsafe { self.device.as_hal::<A>() };
        if let (Some(raw), Some(native)) = (raw, self.native.take()) {
            // SAFETY: a submission keeps the queries that it uses until it is complete, so no submission uses these.
            unsafe { raw.destroy_query_set(native) };
        }
    }
}

/// Returns the shader, validated for the abilities of the device as wgpu validates it.
fn naga_shader(
    device: &wgpu::Device,
    origin: &KernelOrigin,
    all_writable: bool,
) -> std::result::Result<hal::NagaShader, PipelineFailure> {
    let mut module = origin.source.clone();
    if all_writable {
        make_writable(&mut module);
    }
    let downlevel = wgpu::DownlevelFlags::all(); // these flags limit no compute feature
    let mut validator =
        wgpu_naga_bridge::create_validator(device.features(), downlevel, ValidationFlags::all());
    let info = validator.validate(&module).map_err(|error| PipelineFailure::Rejected(reasons(&error)))?;
    Ok(hal::NagaShader { module: std::borrow::Cow::Owned(module), info, debug_source: None })
}

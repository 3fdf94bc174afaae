//! Pipelines and bind groups of wgpu-hal, on a device that wgpu opened.
#![allow(unsafe_code, reason = "native objects that wgpu does not track")]

use crate::device::kernel_folder::{CompileTarget, KernelFile, KernelOrigin, check, make_writable, panicked};
use crate::device::wgpu_pipeline::{LayoutId, ParameterPath};
use crate::driver::backend::Backend;
use crate::driver::error_scopes::reasons;
use crate::driver::gl_gate::GlGate;
use crate::error::{Error, ErrorDetail, Result};
use crate::memory::wgpu_memory::refused;
use crate::work::kernel_launch::{BoundArray, PipelineDescriptor};
use fencepost_kernels::catch_naga_panic;
use std::num::NonZeroU64;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use wgpu::BufferUses as Uses;
use wgpu::hal::{self, Device as _};
use wgpu::naga::valid::ValidationFlags;

/// A native buffer bound at one index, from `offset` on.
pub(crate) struct HalBinding<'a, A: Backend> {
    pub(crate) index: u32,
    pub(crate) buffer: &'a A::Buffer,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// A compiled kernel.
pub(crate) struct HalPipeline<A: Backend> {
    pub(crate) id: LayoutId,
    pub(crate) parameter_path: ParameterPath,
    /// Index of each binding, in the order of the interface.
    pub(crate) indices: Vec<u32>,
    /// `true` for each binding that the shader declares writable.
    writable: Vec<bool>,
    origin: Arc<KernelOrigin>,
    /// The variant with all storage bindings writable. On exact backends, where a buffer must be in exactly one state,
    /// it serves launches that bind one buffer to both a read-only and a writable binding.
    writable_variant: OnceLock<Box<Self>>,
    gate: Arc<GlGate>,
    /// `Some` until the drop.
    parts: Option<PipelineParts<A>>,
}

/// Native objects of a pipeline, destroyed in this order.
struct PipelineParts<A: Backend> {
    pipeline: NativeObject<A, A::ComputePipeline>,
    layout: NativeObject<A, A::PipelineLayout>,
    _shader: NativeObject<A, A::ShaderModule>,
    groups: Arc<GroupLayout<A>>,
}

/// An object of wgpu-hal, which is destroyed when this is dropped.
struct NativeObject<A: Backend, T> {
    /// `Some` until the drop.
    native: Option<T>,
    device: wgpu::Device,
    destroy: unsafe fn(&A::Device, T),
}

/// The layout of a bind group. A group holds a reference to its layout, so the layout lives at least as long.
type GroupLayout<A> = NativeObject<A, <A as hal::Api>::BindGroupLayout>;

/// A bind group, which does not keep its buffers alive. It is not a [`NativeObject`], which would clone the device
/// handle: because some launches make a group each, it uses the handle in its layout.
pub(crate) struct HalGroup<A: Backend> {
    native: Option<A::BindGroup>,
    layout: Arc<GroupLayout<A>>,
}

/// Timestamp queries.
pub(crate) struct HalQueries<A: Backend> {
    native: NativeObject<A, A::QuerySet>,
    count: u32,
}

impl<A: Backend, T> NativeObject<A, T> {
    /// Takes ownership of `native`, an object of `device`. `destroy` is wgpu-hal's function for destroying its type.
    fn new(device: &wgpu::Device, native: T, destroy: unsafe fn(&A::Device, T)) -> Self {
        Self { native: Some(native), device: device.clone(), destroy }
    }
}

impl<A: Backend, T> Deref for NativeObject<A, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.native.as_ref().expect("the native object lives until the drop")
    }
}

impl<A: Backend, T> Drop for NativeObject<A, T> {
    fn drop(&mut self) {
        // SAFETY: the code uses the handle only to destroy the object of this type.
        let raw = unsafe { self.device.as_hal::<A>() };
        if let (Some(raw), Some(native)) = (raw, self.native.take()) {
            // SAFETY: `destroy` fits the object. A submission keeps the kernels and the queries that it uses until it
            // is complete, each group keeps its layout, and a pipeline is destroyed before its layout and its shader.
            unsafe { (self.destroy)(&raw, native) };
        }
    }
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
    pub(crate) fn new(target: CompileTarget<'_>, recipe: &PipelineDescriptor<'_>) -> Result<Self> {
        check(target.caps, recipe.module, recipe.interface())?;
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
        let parts = catch_naga_panic(|| PipelineParts::new(device, &origin, all_writable));
        let parts = parts.map_err(|panic| panicked(&origin.kernel, &panic))?;
        let parts = parts.map_err(|failure| failure.error(&origin.kernel))?;
        Ok(Self {
            id: LayoutId::next(),
            parameter_path: origin.parameter_path,
            indices,
            writable,
            origin,
            writable_variant: OnceLock::new(),
            gate: gate.clone(),
            parts: Some(parts),
        })
    }

    /// Returns the variant of the pipeline for a launch: the writable one if an exact backend needs it, otherwise
    /// `self`.
    ///
    /// # Errors
    /// Returns `Compile` if the variant is compiled now and the driver rejects it.
    pub(crate) fn variant_for(&self, bindings: &[BoundArray]) -> Result<&Self> {
        if !A::EXACT || !self.origin.mixes(bindings) {
            return Ok(self);
        }
        if let Some(made) = self.writable_variant.get() {
            return Ok(made);
        }
        let made = Self::of(&self.origin.device, &self.gate, self.origin.clone(), true)?;
        Ok(self.writable_variant.get_or_init(|| Box::new(made)))
    }

    fn parts(&self) -> &PipelineParts<A> {
        self.parts.as_ref().expect("the parts live until the drop of the pipeline")
    }

    /// Returns the use of the argument at `at`, and `true` if the kernel writes the argument. Returns `None` if the
    /// kernel does not use the argument.
    pub(crate) fn uses(&self, at: usize, bound: &BoundArray) -> Option<(Uses, bool)> {
        let write = bound.used?.writes();
        let read_only = A::EXACT && !self.writable[at];
        let uses = if read_only { Uses::STORAGE_READ_ONLY } else { Uses::STORAGE_READ_WRITE };
        Some((uses, write))
    }

    pub(crate) fn pipeline(&self) -> &A::ComputePipeline {
        &self.parts().pipeline
    }

    pub(crate) fn layout(&self) -> &A::PipelineLayout {
        &self.parts().layout
    }

    /// Makes a group of these bindings. Each must have at least the smallest size that the shader declares.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(crate) fn group(
        &self,
        binds: &[HalBinding<'_, A>],
    ) -> std::result::Result<Arc<HalGroup<A>>, hal::DeviceError> {
        // SAFETY: the code uses the handle only to make a group that `HalGroup` destroys.
        let raw = unsafe { self.origin.device.as_hal::<A>() }.ok_or(hal::DeviceError::Lost)?;
        let layout = self.parts().groups.clone();
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
            layout: &**layout,
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
    fn new(
        device: &wgpu::Device,
        origin: &KernelOrigin,
        all_writable: bool,
    ) -> std::result::Result<Self, PipelineFailure> {
        // SAFETY: the code uses the handle only to make objects that this type destroys.
        let raw = unsafe { device.as_hal::<A>() }.ok_or(hal::DeviceError::Lost)?;
        let label = Some(origin.kernel.as_str());
        let shader = naga_shader(device, origin, all_writable)?;
        let entries = origin.entries(all_writable);
        let flags = hal::BindGroupLayoutFlags::empty();
        let desc = hal::BindGroupLayoutDescriptor { label, flags, entries: &entries };
        // SAFETY: the entries are in the order of their indices and within the device's limits.
        let groups = unsafe { raw.create_bind_group_layout(&desc) }?;
        let groups = GroupLayout::<A>::new(device, groups, A::Device::destroy_bind_group_layout);
        let desc = hal::PipelineLayoutDescriptor {
            label,
            flags: hal::PipelineLayoutFlags::NUM_WORK_GROUPS,
            bind_group_layouts: &[Some(&*groups)],
            immediate_size: origin.immediates,
        };
        // SAFETY: the group layout belongs to this device, and the immediates are within its limit.
        let layout = unsafe { raw.create_pipeline_layout(&desc) }?;
        let layout = NativeObject::new(device, layout, A::Device::destroy_pipeline_layout);
        let desc = hal::ShaderModuleDescriptor { label, runtime_checks: origin.runtime_checks() };
        // SAFETY: the module is validated. It keeps all its runtime checks, or the code that asked for the kernel has
        // proven that no launch needs the checks that it lacks.
        let shader = unsafe { raw.create_shader_module(&desc, hal::ShaderInput::Naga(shader)) }?;
        let shader = NativeObject::new(device, shader, A::Device::destroy_shader_module);
        let constants = Default::default(); // they are already applied in the module
        let stage = hal::ProgrammableStage {
            module: &*shader,
            entry_point: &origin.kernel,
            constants: &constants,
            zero_initialize_workgroup_memory: origin.zeroes_workgroup_memory(),
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
            // Some drivers return more and more data for the same kernel, so an existing file is left as it is.
            if let (Some(data), None, Ok(_)) = (data, loaded, &pipeline) {
                file.keep(&data);
            }
            // SAFETY: the pipeline is made, and no other code uses the cache.
            unsafe { raw.destroy_pipeline_cache(cache) };
        }
        let pipeline = NativeObject::new(device, pipeline?, A::Device::destroy_compute_pipeline);
        Ok(Self { pipeline, layout, _shader: shader, groups: Arc::new(groups) })
    }
}

/// Makes a pipeline cache from the data of an earlier run, or an empty one if the driver refuses the data. Returns
/// `None` if the driver has no pipeline cache; then the kernel is compiled without one.
fn pipeline_cache<A: Backend>(raw: &A::Device, loaded: Option<&[u8]>) -> Option<A::PipelineCache> {
    let make = |data| {
        let desc = hal::PipelineCacheDescriptor { label: Some("kernel"), data };
        // SAFETY: the bytes come from a cache of this device and driver: the name, the length and the checksum of the
        // file say so. The driver compares the header that it wrote.
        unsafe { raw.create_pipeline_cache(&desc) }.ok()
    };
    loaded.and_then(|data| make(Some(data))).or_else(|| make(None))
}

/// Makes a pipeline cache of wgpu, as [`pipeline_cache`] does, for a device with that feature.
pub(crate) fn portable_cache(device: &wgpu::Device, data: Option<&[u8]>) -> Option<wgpu::PipelineCache> {
    let desc = wgpu::PipelineCacheDescriptor { label: Some("kernel"), data, fallback: true };
    // SAFETY: the bytes come from a cache of this device and driver: the name, the length and the checksum of the file
    // say so. wgpu and the driver compare the headers that they wrote.
    Some(unsafe { device.create_pipeline_cache(&desc) })
}

/// Makes a shader module of wgpu with the runtime checks of its kernel.
pub(crate) fn portable_module(
    device: &wgpu::Device,
    desc: wgpu::ShaderModuleDescriptor<'_>,
    origin: &KernelOrigin,
) -> wgpu::ShaderModule {
    // SAFETY: the kernel keeps all its runtime checks, or the code that asked for it has proven that no launch needs
    // the checks that it lacks.
    unsafe { device.create_shader_module_trusted(desc, origin.runtime_checks()) }
}

/// Reason why a pipeline could not be made.
enum PipelineFailure {
    /// A failure of the driver for a reason other than the shader.
    Refused(hal::DeviceError),
    /// A rejection of the shader by the validator or the driver, with the reason.
    Rejected(String),
}

impl PipelineFailure {
    fn error(self, kernel: &str) -> Error {
        match self {
            PipelineFailure::Refused(error) => refused(&error, &format!("kernel `{kernel}`"), 0),
            PipelineFailure::Rejected(message) => {
                ErrorDetail::Compile { kernel: kernel.into(), message }.into()
            }
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

impl<A: Backend> Drop for HalPipeline<A> {
    fn drop(&mut self) {
        self.gate.drop_in_turn(self.parts.take());
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
        Ok(Self { native: NativeObject::new(device, native, A::Device::destroy_query_set), count })
    }

    pub(crate) fn native(&self) -> &A::QuerySet {
        &self.native
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}

/// Returns the shader, validated for the device's features as wgpu does it.
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

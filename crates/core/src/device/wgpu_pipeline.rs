//! Compute pipelines of wgpu.

use crate::device::bind_groups::LayoutId;
#[cfg(native)]
use crate::device::hal_pipeline::portable_module;
use crate::device::kernel_origin::{CompileTarget, KernelOrigin, check, make_writable, panicked};
use crate::device::parameter_path::ParameterPath;
use crate::device::pipeline_cache::PipelineCache;
use crate::driver::error_scopes::{Operation, reasons, scoped};
use crate::driver::gl_gate::GlGate;
use crate::error::{Kind, Result};
use crate::work::compiled_kernel::Recipe;
use crate::work::kernel_launch::BoundArray;
use fencepost_kernels::guarded;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// A compiled kernel.
pub(crate) struct WgpuPipeline {
    plain: Arc<Variant>,
    /// The form with every storage binding writable. A launch that binds one buffer both to a readable and to a
    /// writable binding uses it.
    writable: OnceLock<Arc<Variant>>,
    gate: Arc<GlGate>,
    /// `true` if some bindings are writable and some are not.
    has_both: bool,
    origin: Box<KernelOrigin>,
}

/// One compiled form of a kernel.
pub(crate) struct Variant {
    pub(crate) id: LayoutId,
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) layout: wgpu::BindGroupLayout,
}

impl WgpuPipeline {
    /// Compiles one entry point for a device.
    ///
    /// # Errors
    /// Returns `Unsupported` if the device lacks an ability that the kernel needs, and `Compile` if the driver rejects
    /// the kernel.
    pub(crate) fn new(target: CompileTarget<'_>, recipe: &Recipe<'_>) -> Result<Self> {
        check(target.caps, recipe.module, recipe.interface())?;
        let origin = Box::new(KernelOrigin::new(target, recipe));
        let has_both =
            [true, false].iter().all(|way| origin.bindings.iter().any(|(_, _, writable)| writable == way));
        let (plain, writable) = (origin.make(false)?, OnceLock::new());
        Ok(Self { plain, writable, gate: target.gate.clone(), has_both, origin })
    }

    /// Returns the form for a launch. `mixed` is `true` if the launch binds one buffer both to a readable and to a
    /// writable binding.
    ///
    /// # Errors
    /// Returns `Compile` if this call makes the form and the driver rejects it.
    pub(crate) fn variant(&self, mixed: bool) -> Result<&Variant> {
        if !mixed {
            return Ok(&self.plain);
        }
        if let Some(made) = self.writable.get() {
            return Ok(made);
        }
        let made = self.origin.make(true)?;
        Ok(self.writable.get_or_init(|| made))
    }

    pub(crate) fn parameter_path(&self) -> ParameterPath {
        self.origin.parameter_path
    }

    /// Returns the index of a binding, and `true` if the shader declares it writable. `at` counts in the order of the
    /// interface.
    pub(crate) fn binding(&self, at: usize) -> (u32, bool) {
        let (index, _, writable) = self.origin.bindings[at];
        (index, writable)
    }

    /// Returns `true` if one block is bound both to a readable and to a writable binding.
    #[inline]
    pub(crate) fn mixes(&self, bound: &[BoundArray]) -> bool {
        self.has_both && self.origin.mixes(bound)
    }
}

impl Drop for WgpuPipeline {
    fn drop(&mut self) {
        self.gate.drop_in_turn((self.plain.clone(), self.writable.take()));
    }
}

impl KernelOrigin {
    /// Compiles one form of the kernel: the plain one, or the one with every storage binding writable.
    fn make(&self, all_writable: bool) -> Result<Arc<Variant>> {
        // wgpu calls naga.
        let (made, error) = scoped(&self.device, || {
            guarded(|| {
                let layout = self.layout(all_writable);
                let pipeline = self.pipeline(&layout, all_writable);
                Variant { id: LayoutId::next(), pipeline, layout }
            })
        });
        let made = made.map_err(|panic| panicked(&self.kernel, &panic))?;
        match error {
            Some(error @ wgpu::Error::OutOfMemory { .. }) => {
                Err(Operation { object: &format!("kernel `{}`", self.kernel), bytes: 0 }.failed(&error))
            }
            Some(error) => {
                Err(Kind::Compile { kernel: self.kernel.clone(), message: reasons(&error) }.into())
            }
            None => Ok(Arc::new(made)),
        }
    }

    fn layout(&self, all_writable: bool) -> wgpu::BindGroupLayout {
        let (label, entries) = (Some(self.kernel.as_str()), self.entries(all_writable));
        self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries })
    }

    fn pipeline(&self, layout: &wgpu::BindGroupLayout, all_writable: bool) -> wgpu::ComputePipeline {
        let label = Some(self.kernel.as_str());
        let layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[Some(layout)],
            immediate_size: self.immediates,
        });
        let source = self.shader(all_writable);
        let is_text = matches!(source, wgpu::ShaderSource::Wgsl(_));
        let module = self.module(wgpu::ShaderModuleDescriptor { label, source });
        // Only the text has overrides without values.
        let constants = self.constants.iter().filter(|_| is_text);
        let constants: Vec<_> = constants.map(|(name, value)| (name.as_str(), *value)).collect();
        let cache = self.file(all_writable).and_then(|file| PipelineCache::open(&self.device, file));
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&layout),
            module: &module,
            entry_point: Some(&self.kernel),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &constants,
                zero_initialize_workgroup_memory: self.zeroes_workgroup_memory(),
            },
            cache: cache.as_ref().map(PipelineCache::cache),
        });
        if let Some(cache) = cache {
            cache.close();
        }
        pipeline
    }

    #[cfg(native)]
    fn module(&self, desc: wgpu::ShaderModuleDescriptor<'_>) -> wgpu::ShaderModule {
        portable_module(&self.device, desc, self)
    }

    /// Makes a module with all runtime checks, which the browser adds.
    #[cfg(not(native))]
    fn module(&self, desc: wgpu::ShaderModuleDescriptor<'_>) -> wgpu::ShaderModule {
        self.device.create_shader_module(desc)
    }

    /// Returns the source of the shader. In the browser that is the user's text, because the browser has its own
    /// compiler.
    fn shader(&self, all_writable: bool) -> wgpu::ShaderSource<'_> {
        if cfg!(target_arch = "wasm32") && !all_writable && self.parameter_path != ParameterPath::Immediates {
            return wgpu::ShaderSource::Wgsl(Cow::Borrowed(&self.text));
        }
        let mut source = self.source.clone();
        if all_writable {
            make_writable(&mut source);
        }
        wgpu::ShaderSource::Naga(Cow::Owned(source))
    }
}

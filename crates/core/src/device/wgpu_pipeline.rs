//! A kernel becomes a compute pipeline.

use crate::device::Device as _;
use crate::device::kernel_folder::{KernelFile, KernelFolder};
use crate::device::pipeline_cache::PipelineCache;
use crate::device::wgpu_device::WgpuDevice;
use crate::driver::caps::Caps;
use crate::driver::error_scopes::{Doing, reasons, scoped};
use crate::driver::gl_gate::Gate;
use crate::error::{Kind, Result};
use crate::work::compiled_kernel::Recipe;
use fencepost_kernels::{Access, Interface, Module, Needs};
use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// A compiled kernel.
pub(crate) struct WgpuPipeline {
    plain: Arc<Variant>,
    /// With every storage binding writable: for launches that bind one buffer both ways.
    writable: OnceLock<Arc<Variant>>,
    gate: Arc<Gate>,
    both_ways: bool,
    origin: Box<Origin>,
}

/// One compiled form of a kernel.
pub(crate) struct Variant {
    pub(crate) id: LayoutId,
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) layout: wgpu::BindGroupLayout,
}

/// Names a bind group layout for as long as the process lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LayoutId(u32);

impl LayoutId {
    /// Names none.
    #[cfg(native)]
    pub(crate) fn none() -> Self {
        Self(u32::MAX)
    }

    pub(crate) fn next() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    #[cfg(test)]
    pub(crate) fn for_test(id: u32) -> Self {
        Self(id)
    }
}

/// How the values of a launch reach the shader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Carry {
    Nothing,
    Immediates,
    /// By the uniform ring, at this binding; so many bytes, rounded up to 16.
    Uniform {
        index: u32,
        size: u32,
    },
}

/// What a compiled form is made from.
pub(crate) struct Origin {
    device: wgpu::Device,
    pub(crate) kernel: String,
    pub(crate) source: wgpu::naga::Module,
    text: String,
    /// Index, smallest size and whether the shader declares it writable.
    pub(crate) bindings: Vec<(u32, u64, bool)>,
    pub(crate) carry: Carry,
    pub(crate) immediates: u32,
    pub(crate) constants: Vec<(String, f64)>,
    /// Where the driver's work is kept for the next run.
    folder: Option<Arc<KernelFolder>>,
}

impl WgpuPipeline {
    /// Compiles one entry point for a device.
    ///
    /// # Errors
    /// `Unsupported` where the device lacks what it needs; `Compile` if the driver rejects it.
    pub(crate) fn new(device: &WgpuDevice, recipe: &Recipe<'_>) -> Result<Self> {
        check(device.caps(), recipe.interface)?;
        let origin = Box::new(Origin::new(device, recipe));
        let both_ways =
            [true, false].iter().all(|way| origin.bindings.iter().any(|(_, _, writable)| writable == way));
        let (plain, writable) = (origin.make(false)?, OnceLock::new());
        Ok(Self { plain, writable, gate: device.gate().clone(), both_ways, origin })
    }

    /// The form for a launch; `mixed` if it binds one buffer both to a readable and to a writable binding.
    ///
    /// # Errors
    /// `Compile` if the form is made now and the driver rejects it.
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

    pub(crate) fn carry(&self) -> Carry {
        self.origin.carry
    }

    /// The index of a binding and whether the shader declares it writable; in the order of the interface.
    pub(crate) fn binding(&self, at: usize) -> (u32, bool) {
        let (index, _, writable) = self.origin.bindings[at];
        (index, writable)
    }

    /// Whether some bindings are writable and some are not.
    pub(crate) fn both_ways(&self) -> bool {
        self.both_ways
    }
}

impl Drop for WgpuPipeline {
    fn drop(&mut self) {
        self.gate.bury((self.plain.clone(), self.writable.take()));
    }
}

impl Origin {
    pub(crate) fn new(device: &WgpuDevice, recipe: &Recipe<'_>) -> Self {
        let Recipe { module, interface, overrides, .. } = *recipe;
        let (carry, immediates, source) = carry(device.caps(), module, interface);
        let writable = |access: Access| access != Access::Read;
        let bindings = interface.bindings.iter().map(|b| (b.index, b.min_size, writable(b.declared)));
        Self {
            device: device.raw().clone(),
            kernel: interface.entry.clone(),
            source,
            text: module.text().into(),
            bindings: bindings.collect(),
            carry,
            immediates,
            constants: overrides.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
            folder: device.kernel_folder().cloned(),
        }
    }

    /// Where what the driver makes of one form is kept, if it is.
    pub(crate) fn file(&self, all_writable: bool) -> Option<KernelFile> {
        let constants: Vec<_> = self.constants.iter().map(|(name, value)| (name, value.to_bits())).collect();
        let carried = match self.carry {
            Carry::Nothing => (0, 0, 0),
            Carry::Immediates => (1, 0, self.immediates),
            Carry::Uniform { index, size } => (2, index, size),
        };
        let form = (&self.text, &self.kernel, constants, &self.bindings, carried, all_writable);
        self.folder.as_ref().map(|folder| folder.file(&form))
    }

    fn make(&self, all_writable: bool) -> Result<Arc<Variant>> {
        let (made, error) = scoped(&self.device, || {
            let layout = self.layout(all_writable);
            let pipeline = self.pipeline(&layout, all_writable);
            Variant { id: LayoutId::next(), pipeline, layout }
        });
        match error {
            Some(error @ wgpu::Error::OutOfMemory { .. }) => {
                Err(Doing { object: &format!("kernel `{}`", self.kernel), bytes: 0 }.failed(&error))
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

    /// What is bound where, in the order of the indices.
    pub(crate) fn entries(&self, all_writable: bool) -> Vec<wgpu::BindGroupLayoutEntry> {
        let storage = |&(binding, size, writable): &(u32, u64, bool)| {
            let ty = wgpu::BufferBindingType::Storage { read_only: !(writable || all_writable) };
            entry(binding, ty, false, size)
        };
        let mut entries: Vec<_> = self.bindings.iter().map(storage).collect();
        if let Carry::Uniform { index, size } = self.carry {
            entries.push(entry(index, wgpu::BufferBindingType::Uniform, true, u64::from(size)));
        }
        entries.sort_by_key(|entry| entry.binding);
        entries
    }

    fn pipeline(&self, layout: &wgpu::BindGroupLayout, all_writable: bool) -> wgpu::ComputePipeline {
        let label = Some(self.kernel.as_str());
        let layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[Some(layout)],
            immediate_size: self.immediates,
        });
        let source = self.shader(all_writable);
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor { label, source });
        let constants: Vec<_> = self.constants.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let cache = self.file(all_writable).and_then(|file| PipelineCache::open(&self.device, file));
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&layout),
            module: &module,
            entry_point: Some(&self.kernel),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &constants,
                ..Default::default()
            },
            cache: cache.as_ref().map(PipelineCache::cache),
        });
        if let Some(cache) = cache {
            cache.close();
        }
        pipeline
    }

    /// The browser gets the text as it was written; it has a compiler of its own.
    fn shader(&self, all_writable: bool) -> wgpu::ShaderSource<'_> {
        if cfg!(target_arch = "wasm32") && !all_writable && self.carry != Carry::Immediates {
            return wgpu::ShaderSource::Wgsl(Cow::Borrowed(&self.text));
        }
        let mut source = self.source.clone();
        if all_writable {
            make_writable(&mut source);
        }
        wgpu::ShaderSource::Naga(Cow::Owned(source))
    }
}

pub(crate) fn make_writable(module: &mut wgpu::naga::Module) {
    use wgpu::naga::{AddressSpace, StorageAccess};
    for (_, variable) in module.global_variables.iter_mut() {
        if let AddressSpace::Storage { access } = &mut variable.space {
            *access |= StorageAccess::LOAD | StorageAccess::STORE;
        }
    }
}

fn entry(binding: u32, ty: wgpu::BufferBindingType, dynamic: bool, size: u64) -> wgpu::BindGroupLayoutEntry {
    let ty = wgpu::BindingType::Buffer {
        ty,
        has_dynamic_offset: dynamic,
        min_binding_size: NonZeroU64::new(size),
    };
    wgpu::BindGroupLayoutEntry { binding, visibility: wgpu::ShaderStages::COMPUTE, ty, count: None }
}

/// Immediates where they fit and can hold the values, else the uniform ring.
fn carry(caps: &Caps, module: &Module, interface: &Interface) -> (Carry, u32, wgpu::naga::Module) {
    let plain = || module.naga().clone();
    let Some(params) = &interface.params else { return (Carry::Nothing, 0, plain()) };
    if params.size <= caps.max_immediates
        && params.size % 4 == 0
        && let Ok(moved) = module.with_immediates(&interface.entry)
    {
        return (Carry::Immediates, params.size, moved);
    }
    (Carry::Uniform { index: params.index, size: params.size.next_multiple_of(16) }, 0, plain())
}

pub(crate) fn check(caps: &Caps, interface: &Interface) -> Result<()> {
    let kernel = interface.entry.clone();
    let parameters = interface.params.as_ref().map_or(0, |params| params.size);
    if parameters > MOST_PARAMETERS {
        return Err(Kind::TooManyParameters { kernel, found: parameters, limit: MOST_PARAMETERS }.into());
    }
    let indices = interface.bindings.iter().map(|binding| binding.index);
    let highest = indices.chain(interface.params.as_ref().map(|params| params.index)).max().unwrap_or(0);
    let too_high = (highest >= caps.max_binding_index).then(|| format!("binding {highest}"));
    if let Some(what) = too_high.or(missing(caps, interface.needs).map(String::from)) {
        return Err(Kind::Unsupported { kernel, what, adapter: caps.adapter.clone() }.into());
    }
    Ok(())
}

/// Bytes of parameters that go through the uniform ring, at most: all devices have room for so many.
const MOST_PARAMETERS: u32 = 16 << 10;

/// What the kernel needs and the device lacks.
fn missing(caps: &Caps, needs: Needs) -> Option<&'static str> {
    let abilities = [
        (needs.f16, caps.f16, "16-bit floats"),
        (needs.f64, caps.f64, "64-bit floats"),
        (needs.int64, caps.int64, "64-bit integers"),
        (needs.subgroups, caps.subgroups, "subgroup operations"),
        (needs.float32_atomics, caps.float32_atomics, "atomic operations on 32-bit floats"),
    ];
    abilities.iter().find(|(needed, there, _)| *needed && !there).map(|&(_, _, what)| what)
}

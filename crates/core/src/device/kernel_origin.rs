//! The source of every form of a kernel, and the check that a device can run the kernel.

use crate::device::kernel_folder::{KernelFile, KernelFolder};
use crate::device::parameter_path::ParameterPath;
use crate::driver::caps::Caps;
use crate::driver::gl_gate::GlGate;
use crate::error::{Error, Kind, Result};
use crate::work::compiled_kernel::Recipe;
use crate::work::kernel_launch::BoundArray;
use fencepost_kernels::{Access, Entry, Interface, Module, NagaPanic, Needs, Trust, fit};
use std::num::NonZeroU64;
use std::sync::Arc;

/// The parts of a device that a compiler needs.
#[derive(Clone, Copy)]
pub(crate) struct CompileTarget<'a> {
    pub(crate) device: &'a wgpu::Device,
    pub(crate) gate: &'a Arc<GlGate>,
    pub(crate) caps: &'a Caps,
    /// Folder that stores compiled kernels for the next run.
    pub(crate) folder: Option<&'a Arc<KernelFolder>>,
}

/// The source from which each form of a kernel is compiled.
pub(crate) struct KernelOrigin {
    pub(crate) device: wgpu::Device,
    pub(crate) kernel: String,
    /// Shader with its overrides applied, changed for the path of its parameters.
    pub(crate) source: wgpu::naga::Module,
    /// Text of the module.
    pub(crate) text: String,
    /// For each binding: its index, its smallest size, and `true` if the shader declares it writable.
    pub(crate) bindings: Vec<(u32, u64, bool)>,
    pub(crate) parameter_path: ParameterPath,
    /// Bytes of immediates.
    pub(crate) immediates: u32,
    /// Overrides with their values.
    pub(crate) constants: Vec<(String, f64)>,
    /// Proof that the kernel does not need some runtime checks; `None` if it needs all of them.
    trust: Option<Trust>,
    /// Folder of compiled kernels, if the context has one.
    folder: Option<Arc<KernelFolder>>,
}

impl KernelOrigin {
    pub(crate) fn new(target: CompileTarget<'_>, recipe: &Recipe<'_>) -> Self {
        let Recipe { module, entry, overrides, trust, .. } = *recipe;
        let interface = entry.interface();
        let (parameter_path, immediates, mut source) = pass_parameters(target.caps, entry);
        if let Some(back_end) = target.caps.back_end {
            fit(&mut source, back_end);
        }
        let writable = |access: Access| access != Access::Read;
        let bindings = interface.bindings.iter().map(|b| (b.index, b.min_size, writable(b.declared)));
        Self {
            device: target.device.clone(),
            kernel: interface.entry.clone(),
            source,
            text: module.text().into(),
            bindings: bindings.collect(),
            parameter_path,
            immediates,
            constants: overrides.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
            trust,
            folder: target.folder.cloned(),
        }
    }

    /// Returns the file of one form, if the context has a folder of compiled kernels.
    pub(crate) fn file(&self, all_writable: bool) -> Option<KernelFile> {
        let constants: Vec<_> = self.constants.iter().map(|(name, value)| (name, value.to_bits())).collect();
        let carried = match self.parameter_path {
            ParameterPath::Nothing => (0, 0, 0),
            ParameterPath::Immediates => (1, 0, self.immediates),
            ParameterPath::Uniform { index, size } => (2, index, size),
        };
        let form = (&self.text, &self.kernel, constants, &self.bindings, carried, all_writable, self.trust);
        self.folder.as_ref().map(|folder| folder.file(&form))
    }

    /// Returns the runtime checks that the compiler of the device adds to the kernel: all of them, or the checks of
    /// what is not proven.
    #[cfg(native)]
    pub(crate) fn runtime_checks(&self) -> wgpu::ShaderRuntimeChecks {
        let is_checked = self.trust.is_none();
        wgpu::ShaderRuntimeChecks {
            bounds_checks: is_checked,
            force_loop_bounding: is_checked,
            ..wgpu::ShaderRuntimeChecks::checked()
        }
    }

    /// Returns `true` if memory of the workgroup begins with zeros.
    pub(crate) fn zeroes_workgroup_memory(&self) -> bool {
        self.trust != Some(Trust::IndicesAndMemory)
    }

    /// Returns the entries of the bind group layout in the order of their indices.
    pub(crate) fn entries(&self, all_writable: bool) -> Vec<wgpu::BindGroupLayoutEntry> {
        let storage = |&(binding, size, writable): &(u32, u64, bool)| {
            let ty = wgpu::BufferBindingType::Storage { read_only: !(writable || all_writable) };
            entry(binding, ty, false, size)
        };
        let mut entries: Vec<_> = self.bindings.iter().map(storage).collect();
        if let ParameterPath::Uniform { index, size } = self.parameter_path {
            entries.push(entry(index, wgpu::BufferBindingType::Uniform, true, u64::from(size)));
        }
        entries.sort_by_key(|entry| entry.binding);
        entries
    }

    /// Returns `true` if one block is bound both to a readable and to a writable binding.
    #[inline]
    pub(crate) fn mixes(&self, bound: &[BoundArray]) -> bool {
        let writable = |at: usize| self.bindings[at].2;
        let same = |a: usize, b: usize| Arc::ptr_eq(&bound[a].block, &bound[b].block);
        (0..bound.len()).any(|a| (0..a).any(|b| writable(a) != writable(b) && same(a, b)))
    }
}

/// Declares all storage bindings of a module readable and writable.
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

/// Returns the path of the parameters, the bytes of immediates, and the module for that path. Parameters become
/// immediates if they fit and immediates can hold their types. Otherwise a uniform buffer holds them.
fn pass_parameters(caps: &Caps, entry: &Entry) -> (ParameterPath, u32, wgpu::naga::Module) {
    let plain = || entry.module().clone();
    let Some(params) = &entry.interface().params else { return (ParameterPath::Nothing, 0, plain()) };
    if params.size <= caps.max_immediates
        && params.size % 4 == 0
        && let Ok(moved) = entry.with_immediates()
    {
        return (ParameterPath::Immediates, params.size, moved);
    }
    (ParameterPath::Uniform { index: params.index, size: params.size.next_multiple_of(16) }, 0, plain())
}

/// Returns the error for a panic inside the compiler of a device.
pub(crate) fn panicked(kernel: &str, NagaPanic(panic): &NagaPanic) -> Error {
    let message = format!(
        "naga, which translates WGSL for the device, fails on this kernel: write it in another way (naga says: {panic})"
    );
    Kind::Compile { kernel: kernel.into(), message }.into()
}

/// Checks that the device's limits, abilities and compiler allow the kernel.
pub(crate) fn check(caps: &Caps, module: &Module, interface: &Interface) -> Result<()> {
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
    if let Some(mistake) = caps.back_end.and_then(|back_end| module.mistake_on(back_end)) {
        return Err(mistake.into());
    }
    Ok(())
}

/// Most bytes of a kernel's parameters. Every device can bind a uniform buffer of this size.
const MOST_PARAMETERS: u32 = 16 << 10;

/// Returns the first ability that the kernel needs and the device lacks.
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

//! Compute pipelines of wgpu, and how parameters reach a shader. Also a cache of bind groups that does not keep dropped
//! buffers alive.

#[cfg(native)]
use crate::device::hal_pipeline::portable_module;
use crate::device::kernel_folder::{
    CompileTarget, KernelOrigin, PipelineCache, check, make_writable, panicked,
};
use crate::driver::error_scopes::{Operation, reasons, scoped};
use crate::driver::gl_gate::GlGate;
#[cfg(target_arch = "wasm32")]
use crate::driver::page::contains_naga;
use crate::error::{ErrorDetail, Result};
use crate::memory::block::BlockId;
use crate::work::kernel_launch::{BoundArray, PipelineDescriptor};
#[cfg(target_arch = "wasm32")]
use fencepost_kernels::with_final_returns;
use fencepost_kernels::{catch_naga_panic, with_uniform_block, with_writable_storage};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// A compiled kernel.
pub(crate) struct WgpuPipeline {
    plain: Arc<Variant>,
    /// The variant with all storage bindings writable, for launches that bind one buffer to both a read-only and a
    /// writable binding.
    writable: OnceLock<Arc<Variant>>,
    gate: Arc<GlGate>,
    /// `true` if some bindings are writable and some are not.
    has_both: bool,
    origin: Box<KernelOrigin>,
}

/// One compiled variant of a kernel.
pub(crate) struct Variant {
    pub(crate) id: LayoutId,
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) layout: wgpu::BindGroupLayout,
}

impl WgpuPipeline {
    /// Compiles one entry point for a device.
    ///
    /// # Errors
    /// Returns `Unsupported` if the device lacks a feature that the kernel needs, and `Compile` if the driver rejects
    /// the kernel.
    pub(crate) fn new(target: CompileTarget<'_>, recipe: &PipelineDescriptor<'_>) -> Result<Self> {
        check(target.caps, recipe.module, recipe.interface())?;
        let origin = Box::new(KernelOrigin::new(target, recipe));
        let has_both =
            [true, false].iter().all(|way| origin.bindings.iter().any(|(_, _, writable)| writable == way));
        let plain = origin.make(false)?;
        let writable = OnceLock::new();
        Ok(Self { plain, writable, gate: target.gate.clone(), has_both, origin })
    }

    /// Returns the variant for a launch. `mixed` is `true` if the launch binds one buffer to both a read-only and a
    /// writable binding.
    ///
    /// # Errors
    /// Returns `Compile` if the variant is compiled now and the driver rejects it.
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

    /// Returns the error with which the browser has refused the kernel, if it has done so by now.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn refusal(&self) -> Option<&crate::error::Error> {
        self.origin.refused.get()
    }

    /// Returns the index of a binding, and `true` if the shader declares it writable. `at` is its position in the
    /// interface.
    pub(crate) fn binding(&self, at: usize) -> (u32, bool) {
        let (index, _, writable) = self.origin.bindings[at];
        (index, writable)
    }

    /// Returns `true` if one block is bound to both a read-only and a writable binding.
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
    /// Compiles one variant of the kernel: the plain one, or the one with all storage bindings writable.
    fn make(&self, all_writable: bool) -> Result<Arc<Variant>> {
        // Here wgpu calls naga.
        let scoped = scoped(&self.device, || {
            catch_naga_panic(|| {
                let layout = self.layout(all_writable);
                let pipeline = self.pipeline(&layout, all_writable);
                Variant { id: LayoutId::next(), pipeline, layout }
            })
        });
        let made = scoped.made.map_err(|panic| panicked(&self.kernel, &panic))?;
        let kernel = self.kernel.clone();
        let refusal = move |error: &wgpu::Error| match error {
            wgpu::Error::OutOfMemory { .. } => {
                Operation { object: &format!("kernel `{kernel}`"), bytes: 0 }.failed(error)
            }
            error => ErrorDetail::Compile { kernel: kernel.clone(), message: reasons(error) }.into(),
        };
        #[cfg(target_arch = "wasm32")]
        let refusal = {
            let refused = self.refused.clone();
            move |error: &wgpu::Error| refused.get_or_init(|| refusal(error)).clone()
        };
        match scoped.error {
            Some(error) => Err(refusal(&error)),
            None => {
                scoped.late.note(&self.device, refusal);
                Ok(Arc::new(made))
            }
        }
    }

    fn layout(&self, all_writable: bool) -> wgpu::BindGroupLayout {
        let label = Some(self.kernel.as_str());
        let entries = self.entries(all_writable);
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
        // Only for a source text do the overrides still need their values.
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

    /// Returns the source of the shader. In a browser that is the user's text, because browsers have their own
    /// compiler, and naga's writer of WGSL loses overrides. A `var<immediate>` in it becomes the uniform block that holds
    /// the parameters there.
    fn shader(&self, all_writable: bool) -> wgpu::ShaderSource<'_> {
        if cfg!(target_arch = "wasm32") {
            debug_assert_ne!(self.parameter_path, ParameterPath::Immediates, "bug: a browser has immediates");
            let text = &*self.text;
            let text = if all_writable { with_writable_storage(text).into() } else { Cow::Borrowed(text) };
            // Other entry points' values may get the number of a binding that this one uses.
            let index =
                if let ParameterPath::Uniform { index, .. } = self.parameter_path { index } else { 0 };
            let text = with_uniform_block(&text, index);
            #[cfg(target_arch = "wasm32")]
            let text = if contains_naga() { with_final_returns(&text) } else { text };
            return wgpu::ShaderSource::Wgsl(text.into());
        }
        let mut source = self.source.clone();
        if all_writable {
            make_writable(&mut source);
        }
        wgpu::ShaderSource::Naga(Cow::Owned(source))
    }
}

/// Maximum number of cached groups. At the limit, the cache drops all groups and makes them anew on demand.
const MOST_GROUPS: usize = 8192;

/// Id of a bind group layout, unique in the process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LayoutId(u32);

impl LayoutId {
    /// Returns an id that belongs to no layout.
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

/// The contents of a group: its layout, and the block, offset and size of each binding.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct GroupKey {
    pub(crate) layout: LayoutId,
    pub(crate) parts: Vec<(BlockId, u64, u64)>,
}

/// A device's cache of bind groups, by their contents.
///
/// Each number in `users` has an entry in `keys`, and each key in `keys` has a group in `groups`.
pub(crate) struct BindGroups<G = wgpu::BindGroup> {
    /// Each group, with its number.
    groups: FxHashMap<GroupKey, (u64, G)>,
    keys: FxHashMap<u64, GroupKey>,
    /// Numbers of the groups that bind each block.
    users: FxHashMap<BlockId, FxHashSet<u64>>,
    /// Number of the newest group.
    next: u64,
}

impl<G> Default for BindGroups<G> {
    fn default() -> Self {
        Self {
            groups: FxHashMap::default(),
            keys: FxHashMap::default(),
            users: FxHashMap::default(),
            next: 0,
        }
    }
}

impl<G: Clone> BindGroups<G> {
    /// Returns the group of `key`, if it is cached.
    #[cfg(native)]
    pub(crate) fn known(&self, key: &GroupKey) -> Option<&G> {
        self.groups.get(key).map(|(_, group)| group)
    }

    /// Returns the group of `key`. If it is not cached, calls `make`.
    pub(crate) fn get_or_make(&mut self, key: &GroupKey, make: impl FnOnce() -> G) -> G {
        if let Some((_, group)) = self.groups.get(key) {
            return group.clone();
        }
        if self.groups.len() >= MOST_GROUPS {
            self.clear();
        }
        let group = make();
        self.insert(key, group.clone());
        group
    }

    fn insert(&mut self, key: &GroupKey, group: G) {
        self.next += 1;
        for (block, _, _) in &key.parts {
            self.users.entry(*block).or_default().insert(self.next);
        }
        self.keys.insert(self.next, key.clone());
        self.groups.insert(key.clone(), (self.next, group));
    }

    /// Drops the groups that bind `block`.
    pub(crate) fn forget(&mut self, block: BlockId) {
        for number in self.users.remove(&block).unwrap_or_default() {
            let Some(key) = self.keys.remove(&number) else { continue };
            self.groups.remove(&key);
            for (other, _, _) in &key.parts {
                if let Some(users) = self.users.get_mut(other) {
                    users.remove(&number);
                }
            }
        }
    }

    /// Drops all groups.
    pub(crate) fn clear(&mut self) {
        self.groups.clear();
        self.keys.clear();
        self.users.clear();
    }
}
/// Path of a launch's parameters to the shader: there are none, the dispatch carries them as immediates, or they are in
/// a uniform buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ParameterPath {
    Nothing,
    Immediates,
    /// The parameters are in a uniform buffer, bound at `index`. `size` is their size in bytes, rounded up to a
    /// multiple of 16.
    Uniform {
        index: u32,
        size: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    fn key(blocks: &[u64]) -> GroupKey {
        let parts = blocks.iter().map(|&block| (BlockId(block), 0, 64)).collect();
        GroupKey { layout: LayoutId::for_test(1), parts }
    }

    #[test]
    fn a_group_is_made_once() {
        let mut groups = BindGroups::default();
        assert_eq!(groups.get_or_make(&key(&[1, 2]), || "first"), "first");
        assert_eq!(groups.get_or_make(&key(&[1, 2]), || "second"), "first");
        assert_eq!(groups.get_or_make(&key(&[2, 1]), || "other"), "other");
    }

    #[test]
    fn no_group_keeps_a_dropped_block() {
        let mut groups = BindGroups::default();
        let made: Vec<Rc<()>> = (0..3).map(|_| Rc::new(())).collect();
        groups.get_or_make(&key(&[1, 2]), || made[0].clone());
        groups.get_or_make(&key(&[3, 1]), || made[1].clone());
        groups.get_or_make(&key(&[2, 3]), || made[2].clone());
        groups.forget(BlockId(1));
        let left: Vec<_> = made.iter().map(|group| Rc::strong_count(group) - 1).collect();
        assert_eq!(left, [0, 0, 1]);
        assert_eq!((groups.keys.len(), groups.users[&BlockId(2)].len()), (1, 1));
    }

    #[test]
    fn the_number_of_groups_is_bounded() {
        let mut groups = BindGroups::default();
        for block in 0..3 * MOST_GROUPS as u64 {
            groups.get_or_make(&key(&[block]), || ());
        }
        assert!(groups.groups.len() <= MOST_GROUPS && groups.users.len() <= MOST_GROUPS);
    }
}

//! The compilation of one kernel for a context.

use crate::api::context::text_dump;
use crate::driver::caps::Caps;
use crate::error::site::label_of_verb;
use crate::error::{Error, Kind, Result};
use crate::runtime::kernel_cache::{KernelCache, KernelKey};
use crate::runtime::owner::Owner;
use crate::scheduler::engine::Engine;
use crate::work::compiled_kernel::{KernelInner, KernelText, Recipe};
use fencepost_kernels::{Interface, Module, ShaderSource, Trust};
use std::sync::Arc;

/// Describes a kernel to compile: its source, its entry points and its overrides.
pub(crate) struct Job {
    source: ShaderSource,
    entry: String,
    /// Names the entry points that the same launch runs after the first one.
    next: &'static [&'static str],
    overrides: Vec<(String, f64)>,
    trust: Option<Trust>,
    verb: Option<&'static str>,
}

impl Job {
    pub(crate) fn new(source: ShaderSource, entry: &str, overrides: &[(&str, f64)]) -> Self {
        let overrides = overrides.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Self { source, entry: entry.into(), next: &[], overrides, trust: None, verb: None }
    }

    /// Adds the entry points that the same launch runs after the first one.
    pub(crate) fn with_next(self, next: &'static [&'static str]) -> Self {
        Self { next, ..self }
    }

    /// Lets the device leave out the runtime checks for what is proven of the kernel.
    pub(crate) fn with_trust(self, trust: Option<Trust>) -> Self {
        Self { trust, ..self }
    }

    /// Makes the kernel one of a verb, which messages name. The kernels of several verbs share one compiled form.
    pub(crate) fn with_verb(self, verb: Option<&'static str>) -> Self {
        Self { verb, ..self }
    }

    pub(crate) fn run(&self, owner: &Owner) -> Result<Arc<KernelInner>> {
        self.run_on(owner.engine(), owner.kernels())
    }

    /// Returns the first entry point from the cache. Compiles each entry point that the cache lacks.
    pub(crate) fn run_on(&self, engine: &Engine, kernels: &KernelCache) -> Result<Arc<KernelInner>> {
        let first = self.run_entry(engine, kernels, &self.entry)?;
        self.next.iter().try_for_each(|entry| self.run_entry(engine, kernels, entry).map(drop))?;
        Ok(first)
    }

    /// Returns all entry points as [`run_on`](Self::run_on) does.
    pub(crate) fn run_each(&self, engine: &Engine, kernels: &KernelCache) -> Result<Vec<Arc<KernelInner>>> {
        let entries = std::iter::once(&*self.entry).chain(self.next.iter().copied());
        entries.map(|entry| self.run_entry(engine, kernels, entry)).collect()
    }

    fn run_entry(&self, engine: &Engine, kernels: &KernelCache, entry: &str) -> Result<Arc<KernelInner>> {
        let overrides = self.overrides();
        let key = KernelKey::new(&self.source, entry, &overrides, self.trust);
        let Some(verb) = self.verb else {
            return kernels.get(key, || compile(engine, &self.source, (entry, &overrides), self.trust));
        };
        kernels.get(key.clone().of_verb(verb), || {
            let kernel = kernels.get(key, || compile(engine, &self.source, (entry, &overrides), self.trust));
            let kernel = kernel.map_err(|error| of_verb(error, verb))?;
            Ok(Arc::new(kernel.of_verb(verb, engine.new_kernel(&label_of_verb(verb, entry)))))
        })
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn key(&self) -> KernelKey {
        KernelKey::new(&self.source, &self.entry, &self.overrides(), self.trust)
    }

    fn overrides(&self) -> Vec<(&str, f64)> {
        self.overrides.iter().map(|(name, value)| (&**name, *value)).collect()
    }
}

/// Parses the shader, checks the device's limits, and compiles the pipeline.
pub(crate) fn compile(
    engine: &Engine,
    source: &ShaderSource,
    (entry, overrides): (&str, &[(&str, f64)]),
    trust: Option<Trust>,
) -> Result<Arc<KernelInner>> {
    let module = Module::parse(source)?;
    text_dump::write(source, entry);
    let interface = module.interface(entry, overrides)?;
    check_limits(engine.device.caps(), &interface)?;
    let reference = source.reference();
    let recipe = Recipe { module: &module, interface: &interface, overrides, reference, trust };
    let pipeline =
        engine.checked(engine.device.compile(&recipe)).map_err(|error| explained(error, &recipe))?;
    let (id, name) = engine.new_kernel(entry);
    let overrides = overrides.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let origin = KernelText { source: source.clone(), entry: entry.into(), verb: None, overrides, trust };
    Ok(Arc::new(KernelInner { id, label: name.clone(), name, interface, pipeline, origin }))
}

/// Returns an error of a compilation with the name of the verb in place of that of its kernel.
fn of_verb(error: Error, verb: &str) -> Error {
    let kernel = verb.into();
    match error.kind() {
        Kind::Compile { message, .. } => Kind::Compile { kernel, message: message.clone() }.into(),
        Kind::Unsupported { what, adapter, .. } => {
            Kind::Unsupported { kernel, what: what.clone(), adapter: adapter.clone() }.into()
        }
        &Kind::TooManyBindings { found, limit, .. } => Kind::TooManyBindings { kernel, found, limit }.into(),
        &Kind::WorkgroupTooLarge { found, limit, total, .. } => {
            Kind::WorkgroupTooLarge { kernel, found, limit, total }.into()
        }
        &Kind::WorkgroupMemory { found, limit, .. } => Kind::WorkgroupMemory { kernel, found, limit }.into(),
        _ => error,
    }
}

/// Returns the mistake of the overrides if it is the reason for which the device refuses a kernel. The compilers of devices
/// name no line for it.
fn explained(error: Error, recipe: &Recipe<'_>) -> Error {
    let is_refusal = matches!(error.kind(), Kind::Compile { .. });
    let mistake = || recipe.module.override_mistake(&recipe.interface.entry, recipe.overrides);
    is_refusal.then(mistake).flatten().map_or(error, Error::from)
}

fn check_limits(caps: &Caps, interface: &Interface) -> Result<()> {
    let kernel = interface.entry.clone();
    let (found, limit) = (interface.bindings.len(), caps.max_bindings);
    if found > limit as usize {
        return Err(Kind::TooManyBindings { kernel, found, limit }.into());
    }
    let (found, limit) = (interface.workgroup, caps.max_workgroup);
    let total: u64 = found.iter().fold(1, |all: u64, &n| all.saturating_mul(u64::from(n)));
    if found.iter().zip(limit).any(|(&n, limit)| n > limit) || total > u64::from(caps.max_invocations) {
        return Err(Kind::WorkgroupTooLarge { kernel, found, limit, total: caps.max_invocations }.into());
    }
    let (found, limit) = (interface.workgroup_memory, caps.max_workgroup_memory);
    if found > limit {
        return Err(Kind::WorkgroupMemory { kernel, found, limit }.into());
    }
    Ok(())
}

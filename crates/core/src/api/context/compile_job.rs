//! The compilation of one kernel for a context.

use crate::api::context::text_dump;
use crate::device::kernel_origin;
use crate::driver::caps::Caps;
use crate::error::panic_text::panic_text;
use crate::error::site::label_of_verb;
use crate::error::{Error, Kind, Result};
use crate::runtime::kernel_cache::{KernelCache, KernelKey};
use crate::runtime::owner::Owner;
use crate::scheduler::engine::Engine;
use crate::work::compiled_kernel::{KernelInner, KernelText, LatePipeline, Pipeline, Recipe};
use fencepost_kernels::{Entry, Interface, Module, ShaderSource, Trust, on_compiler_stack, report};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A kernel to compile: its source, its entry points and its overrides.
pub(crate) struct Job {
    source: ShaderSource,
    entry: String,
    /// Entry points that the same launch runs after the first one.
    next: &'static [&'static str],
    overrides: Vec<(String, f64)>,
    trust: Option<Trust>,
    verb: Option<&'static str>,
    /// `true` if a thread of the context makes the pipeline, if the context has threads.
    late: bool,
}

impl Job {
    pub(crate) fn new(source: ShaderSource, entry: &str, overrides: &[(&str, f64)]) -> Self {
        let overrides = overrides.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Self { source, entry: entry.into(), next: &[], overrides, trust: None, verb: None, late: false }
    }

    /// Adds the entry points that the same launch runs after the first one.
    pub(crate) fn with_next(self, next: &'static [&'static str]) -> Self {
        Self { next, ..self }
    }

    /// Lets the device leave out the runtime checks for what is proven of the kernel.
    pub(crate) fn with_trust(self, trust: Option<Trust>) -> Self {
        Self { trust, ..self }
    }

    /// Assigns the kernel to a verb, which messages name. The kernels of several verbs share one compiled form.
    pub(crate) fn with_verb(self, verb: Option<&'static str>) -> Self {
        Self { verb, ..self }
    }

    /// Lets the call return before the pipeline is compiled, if `late` is `true`. The launches of the kernel wait for
    /// the pipeline.
    pub(crate) fn late_if(self, late: bool) -> Self {
        Self { late, ..self }
    }

    pub(crate) fn run(&self, owner: &Owner) -> Result<Arc<KernelInner>> {
        owner.engine().check_device()?;
        if self.late && owner.engine().threads && !owner.device().compiles_at_once() {
            return self.run_late(owner);
        }
        self.run_on(owner.engine(), owner.kernels())
    }

    /// Returns the compiled kernel, because a context in a browser has no threads.
    #[cfg(target_arch = "wasm32")]
    fn run_late(&self, owner: &Owner) -> Result<Arc<KernelInner>> {
        self.run_on(owner.engine(), owner.kernels())
    }

    /// Returns the kernel. If the cache lacks it, a thread of the context compiles its pipeline.
    #[cfg(not(target_arch = "wasm32"))]
    fn run_late(&self, owner: &Owner) -> Result<Arc<KernelInner>> {
        let engine = owner.engine();
        let kernels = owner.kernels().clone();
        let is_new = Cell::new(false);
        let kernel = self.run_with(engine, &kernels, &self.entry, |overrides| {
            is_new.set(true);
            let refuses_warnings = kernels.refuses_warnings();
            compile(engine, &self.source, (&self.entry, overrides), self.trust, true, refuses_warnings)
        })?;
        if is_new.get()
            && let Some(late) = kernel.pipeline.unfinished().cloned()
        {
            let task = move |_: &Engine| {
                late.compile();
                if late.result().is_some_and(|result| result.is_err()) {
                    kernels.forget_if(|kernel| kernel.pipeline.has_failed());
                }
            };
            owner.compilers().add(owner.threads(), engine, Box::new(task));
        }
        Ok(kernel)
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

    /// Returns an entry point, whose pipeline is compiled.
    fn run_entry(&self, engine: &Engine, kernels: &KernelCache, entry: &str) -> Result<Arc<KernelInner>> {
        engine.check_device()?;
        let kernel = self.run_with(engine, kernels, entry, |overrides| {
            let refuses_warnings = kernels.refuses_warnings();
            compile(engine, &self.source, (entry, overrides), self.trust, false, refuses_warnings)
        })?;
        if let Some(late) = kernel.pipeline.unfinished() {
            late.finish()?; // a verb was the first to ask for the kernel
        }
        Ok(kernel)
    }

    /// Returns an entry point from the cache, or the kernel that `compile` returns for the overrides.
    fn run_with(
        &self,
        engine: &Engine,
        kernels: &KernelCache,
        entry: &str,
        compile: impl Fn(&[(&str, f64)]) -> Result<Arc<KernelInner>>,
    ) -> Result<Arc<KernelInner>> {
        let overrides = self.overrides();
        let key = KernelKey::new(&self.source, entry, &overrides, self.trust);
        let is_new = Cell::new(false);
        let compile = || {
            is_new.set(true);
            compile(&overrides)
        };
        let kernel = match self.verb {
            None => kernels.get(key, compile),
            Some(verb) => kernels.get(key.clone().of_verb(verb), || {
                let kernel = kernels.get(key, compile).map_err(|error| of_verb(error, verb))?;
                Ok(Arc::new(kernel.of_verb(verb, engine.new_kernel(&label_of_verb(verb, entry)))))
            }),
        }?;
        if is_new.get() {
            // The cache is not locked here, so the program's logger may call the context.
            kernel.interface.warnings.iter().for_each(|warning| report!(Warn, "{warning}"));
        }
        Ok(kernel)
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn key(&self) -> KernelKey {
        KernelKey::new(&self.source, &self.entry, &self.overrides(), self.trust)
    }

    fn overrides(&self) -> Vec<(&str, f64)> {
        self.overrides.iter().map(|(name, value)| (&**name, *value)).collect()
    }
}

/// Parses the shader, checks the device's limits, and compiles the pipeline, whatever stack the caller has. If `late`
/// is `true`, the pipeline is left for another thread, unless the kernel has messages.
pub(crate) fn compile(
    engine: &Engine,
    source: &ShaderSource,
    (entry, overrides): (&str, &[(&str, f64)]),
    trust: Option<Trust>,
    late: bool,
    refuses_warnings: bool,
) -> Result<Arc<KernelInner>> {
    on_known_stack(entry, || {
        let module = Module::parse(source)?;
        text_dump::write(source, entry);
        let caps = engine.device.caps();
        let known = module.entry(entry, overrides).map_err(|error| match error {
            fencepost_kernels::Error::WorkgroupTooLarge { kernel, found, .. } => {
                let limit = caps.max_workgroup;
                let total = caps.max_invocations;
                Error::from(Kind::WorkgroupTooLarge { kernel, found, limit, total })
            }
            other => other.into(),
        })?;
        let interface = known.interface().clone();
        if let Some(warning) = interface.warnings.first().filter(|_| refuses_warnings) {
            return Err(fencepost_kernels::Error::from(warning.clone()).into());
        }
        check_limits(caps, &interface)?;
        let overrides: Vec<_> = overrides.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let (id, name) = engine.new_kernel(entry);
        let origin = KernelText { source: source.clone(), entry: entry.into(), verb: None, overrides, trust };
        let pipeline = if late && interface.messages.is_none() {
            kernel_origin::check(caps, &module, &interface)?;
            late_pipeline(engine, module, known, origin.clone())
        } else {
            pipeline(engine, &module, &known, &origin)?
        };
        Ok(Arc::new(KernelInner { id, label: name.clone(), name, interface, pipeline, origin }))
    })
}

/// Calls a function on a thread with a large stack.
fn on_known_stack<T: Send>(kernel: &str, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    on_compiler_stack(work).map_err(|error| {
        let object = format!("kernel `{kernel}`");
        Error::from(Kind::Device { object, message: format!("no thread was started for it: {error}") })
    })?
}

/// Returns the pipeline of a kernel, which the first thread that needs it compiles.
fn late_pipeline(engine: &Engine, module: Module, known: Entry, origin: KernelText) -> Pipeline {
    let me = engine.me.clone();
    Pipeline::Late(LatePipeline::new(Box::new(move || {
        let kernel = known.interface().entry.clone();
        let Some(engine) = me.upgrade() else {
            let message = "the context has ended".into();
            return Err(Kind::Compile { kernel, message }.into());
        };
        let made =
            AssertUnwindSafe(|| on_known_stack(&kernel, || pipeline(&engine, &module, &known, &origin)));
        catch_unwind(made).unwrap_or_else(|panic| {
            let message = format!("the compiler panicked: {}", panic_text(panic));
            Err(Kind::Compile { kernel, message }.into())
        })
    })))
}

/// Compiles the pipeline of a kernel.
fn pipeline(engine: &Engine, module: &Module, entry: &Entry, origin: &KernelText) -> Result<Pipeline> {
    let overrides: Vec<_> = origin.overrides.iter().map(|(name, value)| (&**name, *value)).collect();
    let reference = origin.source.reference();
    let trust = origin.trust;
    let recipe = Recipe { module, entry, overrides: &overrides, reference, trust };
    engine.checked(engine.device.compile(&recipe))
}

/// Returns the error of a compilation with the name of the verb in place of the kernel's name.
pub(crate) fn of_verb(error: Error, verb: &str) -> Error {
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

//! Kernels that are compiled for a device.

use crate::error::Result;
use crate::error::site::{KernelId, subject};
#[cfg(cpu)]
use crate::work::host_code::HostCode;
use fencepost_kernels::{Entry, HostKernel, Interface, Module, ShaderSource, Trust};
use fencepost_sync::prim::{Condvar, Mutex, lock, sleep};
use std::any::Any;
use std::sync::{Arc, OnceLock};

/// A compiled and checked kernel, shared by all its launches.
pub(crate) struct KernelInner {
    pub(crate) id: KernelId,
    /// Name in messages: the entry point, or the verb that launches the kernel.
    pub(crate) name: Arc<str>,
    /// Name in profiles, where a verb has a row for each of its kernels.
    pub(crate) label: Arc<str>,
    /// Interface of the entry point. Its `entry` is the `name`.
    pub(crate) interface: Interface,
    pub(crate) pipeline: Pipeline,
    pub(crate) origin: KernelText,
}

/// Text, entry point and overrides of a kernel, for saving a graph to a file.
#[derive(Clone)]
pub(crate) struct KernelText {
    pub(crate) source: ShaderSource,
    pub(crate) entry: String,
    /// Verb that launches the kernel, or `None` for a user kernel.
    pub(crate) verb: Option<&'static str>,
    pub(crate) overrides: Vec<(String, f64)>,
    /// Proven properties of the kernel, or `None` if it was compiled with all runtime checks.
    pub(crate) trust: Option<Trust>,
}

impl KernelInner {
    /// Returns the subject of a launch of the kernel in messages.
    pub(crate) fn subject(&self) -> String {
        subject(&self.label)
    }

    /// Returns the same compiled kernel under the name of a verb. `label` is its registered name in profiles.
    pub(crate) fn of_verb(&self, verb: &'static str, (id, label): (KernelId, Arc<str>)) -> Self {
        let interface = Interface { entry: verb.into(), ..self.interface.clone() };
        let origin = KernelText { verb: Some(verb), ..self.origin.clone() };
        Self { id, name: verb.into(), label, interface, pipeline: self.pipeline.clone(), origin }
    }
}

/// Compiled form of a kernel for one kind of recorder. The kernels of several verbs share it.
#[derive(Clone)]
pub(crate) enum Pipeline {
    /// Pipeline of the wgpu recorder, or of the native recorder for its backend.
    Device(Arc<DevicePipeline>),
    /// Code that the CPU runs.
    #[cfg(cpu)]
    Host(HostCode),
    /// Pipeline that another thread compiles, or has compiled.
    Late(Arc<LatePipeline>),
}

impl Pipeline {
    /// Returns the pipeline that is compiled.
    ///
    /// # Panics
    /// Panics if the pipeline is late and not compiled, which is a bug: its launches wait for it.
    #[inline]
    pub(crate) fn compiled(&self) -> &Self {
        match self {
            Self::Late(late) => late.compiled(),
            pipeline => pipeline,
        }
    }

    /// Returns the pipeline if it is not compiled yet, or if its compilation has failed.
    #[inline]
    pub(crate) fn unfinished(&self) -> Option<&Arc<LatePipeline>> {
        match self {
            Self::Late(late) if !late.is_compiled() => Some(late),
            _ => None,
        }
    }

    /// Returns `true` if a late compilation has failed.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn has_failed(&self) -> bool {
        self.unfinished().is_some_and(|late| late.result().is_some())
    }
}

/// A pipeline that another thread compiles. Its launches are enqueued meanwhile, and their queues wait.
pub(crate) struct LatePipeline {
    /// Result of the compilation.
    made: OnceLock<Result<Pipeline>>,
    progress: Mutex<LateProgress>,
    ended: Condvar,
}

/// A function that compiles a pipeline.
type Compile = Box<dyn FnOnce() -> Result<Pipeline> + Send>;

/// A receiver of the result of a compilation.
type AfterCompile = Box<dyn FnOnce(Result<()>) + Send>;

struct LateProgress {
    /// `None` once a thread has begun to compile.
    compile: Option<Compile>,
    /// Receivers to call when the compilation ends.
    after: Vec<AfterCompile>,
}

impl LatePipeline {
    /// Returns the pipeline that `compile` returns. The function does not panic.
    pub(crate) fn new(compile: Compile) -> Arc<Self> {
        let progress = LateProgress { compile: Some(compile), after: Vec::new() };
        Arc::new(Self { made: OnceLock::new(), progress: Mutex::new(progress), ended: Condvar::new() })
    }

    /// Compiles the pipeline on this thread, unless a thread has begun before.
    pub(crate) fn compile(&self) {
        let Some(compile) = lock(&self.progress).compile.take() else { return };
        let made = compile();
        let mut progress = lock(&self.progress);
        self.made.get_or_init(|| made);
        let after = std::mem::take(&mut progress.after);
        drop(progress);
        self.ended.notify_all();
        for call in after {
            call(self.result().unwrap_or(Ok(())));
        }
    }

    /// Blocks until the pipeline is compiled. Compiles it on this thread if no thread has begun.
    ///
    /// # Errors
    /// Returns the error of the compilation.
    pub(crate) fn finish(&self) -> Result<()> {
        self.compile();
        let mut progress = lock(&self.progress);
        loop {
            if let Some(result) = self.result() {
                return result;
            }
            progress = sleep(&self.ended, progress);
        }
    }

    /// Calls a function with the result: on the thread that compiles, or here if the compilation has ended.
    pub(crate) fn after(&self, call: AfterCompile) {
        let mut progress = lock(&self.progress);
        let Some(result) = self.result() else { return progress.after.push(call) };
        drop(progress);
        call(result);
    }

    /// Returns the result of the compilation, or `None` before its end.
    pub(crate) fn result(&self) -> Option<Result<()>> {
        self.made.get().map(|made| made.as_ref().map(|_| ()).map_err(Clone::clone))
    }

    fn is_compiled(&self) -> bool {
        matches!(self.made.get(), Some(Ok(_)))
    }

    fn compiled(&self) -> &Pipeline {
        match self.made.get() {
            Some(Ok(pipeline)) => pipeline,
            _ => panic!("bug: a launch did not wait for the compilation of its kernel"),
        }
    }
}

/// Pipeline of a device recorder. Every launch reads it, so it has a fixed place in its `Arc`, unlike the value of an
/// `Arc<dyn Any>`.
pub(crate) struct DevicePipeline(Box<dyn Any + Send + Sync>);

impl DevicePipeline {
    pub(crate) fn new(pipeline: impl Any + Send + Sync) -> Arc<Self> {
        Arc::new(Self(Box::new(pipeline)))
    }

    /// Returns the pipeline if it has the type `P`.
    #[inline]
    pub(crate) fn downcast_ref<P: 'static>(&self) -> Option<&P> {
        self.0.downcast_ref()
    }
}

/// Input of the compilation of one entry point.
pub(crate) struct Recipe<'a> {
    pub(crate) module: &'a Module,
    /// The entry point with these `overrides`.
    pub(crate) entry: &'a Entry,
    pub(crate) overrides: &'a [(&'a str, f64)],
    /// Sequential host function of the kernel, if it has one.
    pub(crate) reference: Option<Arc<dyn HostKernel>>,
    /// Proven properties of all launches of the kernel, for which a device may leave out runtime checks.
    pub(crate) trust: Option<Trust>,
}

impl Recipe<'_> {
    /// Returns the interface of the entry point.
    pub(crate) fn interface(&self) -> &Interface {
        self.entry.interface()
    }

    /// Compiles a recorder's own kernel from `text`, the contents of the file named after the entry point.
    pub(crate) fn own<T>(
        entry: &str,
        text: &'static str,
        compile: impl FnOnce(&Recipe<'_>) -> Result<T>,
    ) -> Result<T> {
        let module = Module::parse(&ShaderSource::text(format!("{entry}.wgsl"), text))?;
        let (entry, overrides) = (module.entry(entry, &[])?, &[]);
        compile(&Recipe { module: &module, entry: &entry, overrides, reference: None, trust: None })
    }
}

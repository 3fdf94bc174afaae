//! Kernel launches as plain commands, and compiled kernels.

use crate::error::{Error, ErrorDetail, KernelId, Result, subject};
use crate::memory::block::{Block, overlap};
#[cfg(cpu)]
use crate::work::step::HostCode;
use crate::work::step::{BlockAccess, Span};
use fencepost_kernels::{Access, Entry, HostKernel, Interface, Module, ParamsBlock, ShaderSource, Trust};
use fencepost_sync::loader::holds_loader_lock;
use fencepost_sync::prim::{Condvar, Mutex, lock, sleep};
use std::any::Any;
use std::ops::Range;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

/// Maximum number of boxes kept for later launches: those of four full batches.
const MOST_KEPT_LAUNCHES: usize = 16384;

/// A checked kernel launch, which can no longer fail because of its arguments.
#[derive(Default)]
pub(crate) struct Launch {
    /// `Some` until the launch is complete.
    kernel: Option<Arc<KernelInner>>,
    pub(crate) groups: [u32; 3],
    /// For an indirect launch, the three `u32` group counts in device memory.
    pub(crate) indirect: Option<Span>,
    /// One argument for each binding of the kernel's interface, in order.
    pub(crate) bindings: Vec<BoundArray>,
    /// Packed parameters; empty if the kernel has none.
    pub(crate) params: ParamsBlock,
    /// Source line of the launch, or of the load of its graph.
    #[cfg_attr(not(cpu), allow(dead_code, reason = "only the checks of kernels name the line"))]
    pub(crate) at: Option<&'static Location<'static>>,
}

/// An array argument of a launch.
#[derive(Clone)]
pub(crate) struct BoundArray {
    /// Index of the binding in the interface.
    pub(crate) at: u32,
    pub(crate) block: Arc<Block>,
    pub(crate) offset: u64,
    /// Number of bytes bound, rounded up to a multiple of 4.
    pub(crate) size: u64,
    /// Access of the entry point, or `None` if it does not use the binding.
    pub(crate) used: Option<Access>,
}

/// Boxes of completed launches, kept for reuse. This is not a [`FreeList`](crate::memory::pool::FreeList), because a
/// whole batch of boxes is returned under one lock.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "the pool keeps the boxes themselves")]
pub(crate) struct LaunchPool(Mutex<Vec<Box<Launch>>>);

impl LaunchPool {
    /// Returns a launch without arguments.
    #[inline]
    pub(crate) fn launch(&self, kernel: &Arc<KernelInner>, params_size: u32) -> Box<Launch> {
        let used = lock(&self.0).pop();
        let mut launch = used.unwrap_or_default();
        launch.kernel = Some(kernel.clone());
        launch.params.reset(params_size);
        launch
    }

    /// Takes the launches of a completed batch.
    pub(crate) fn take_back(&self, launches: impl ExactSizeIterator<Item = Option<Box<Launch>>>) {
        let mut over = Vec::with_capacity(launches.len());
        for mut launch in launches.flatten() {
            launch.clear();
            over.push(launch);
        }
        let mut boxes = lock(&self.0);
        over.truncate(MOST_KEPT_LAUNCHES.saturating_sub(boxes.len()));
        boxes.append(&mut over);
    }
}

impl Launch {
    /// Returns the kernel of the launch.
    ///
    /// # Panics
    /// Panics if the launch is complete, which is a bug.
    #[inline]
    pub(crate) fn kernel(&self) -> &Arc<KernelInner> {
        self.kernel.as_ref().expect("bug: the launch is complete")
    }

    /// Returns the message buffer of the launch, if the kernel prints or asserts.
    #[cfg(cpu)]
    pub(crate) fn message_buffer(&self) -> Option<&Arc<Block>> {
        self.kernel().interface.messages.as_ref()?;
        self.bindings.last().map(|bound| &bound.block)
    }

    /// Replaces the kernel by another variant of the same kernel.
    pub(crate) fn set_kernel(&mut self, kernel: Arc<KernelInner>) {
        debug_assert!(self.kernel().name == kernel.name, "bug: a launch changes its kernel");
        self.kernel = Some(kernel);
    }

    /// Returns the compiled pipeline for the recorder's type `P`.
    ///
    /// # Panics
    /// Panics if the kernel was compiled for another recorder, or the launch is complete, which is a bug.
    #[inline]
    pub(crate) fn pipeline<P: 'static>(&self) -> &P {
        let found = match self.kernel().pipeline.compiled() {
            Pipeline::Device(pipeline) => pipeline.downcast_ref(),
            _ => None,
        };
        found.expect("bug: a kernel of another recorder")
    }

    /// Returns `true` if the launches differ only in their values and their arrays, and the arrays have equal sizes.
    #[inline]
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let kernel = |launch: &Self| launch.kernel.as_ref().map(Arc::as_ptr);
        kernel(self) == kernel(other)
            && self.groups == other.groups
            && self.indirect.is_some() == other.indirect.is_some()
            && self.bindings.len() == other.bindings.len()
            && self.bindings.iter().zip(&other.bindings).all(|(own, other)| own.size == other.size)
    }

    /// Returns the number of the kernel in its context.
    #[inline]
    pub(crate) fn kernel_number(&self) -> u32 {
        self.kernel.as_ref().map_or(u32::MAX, |kernel| kernel.id.0)
    }

    /// Returns the accesses of the bindings and of the group counts.
    #[inline]
    pub(crate) fn touches(&self) -> impl Iterator<Item = BlockAccess<'_>> {
        touches(&self.bindings, [self.indirect.as_ref(), None])
    }

    /// Returns a copy of the launch.
    pub(crate) fn duplicate(&self) -> Self {
        Self {
            kernel: self.kernel.clone(),
            groups: self.groups,
            indirect: self.indirect.clone(),
            bindings: self.bindings.clone(),
            params: self.params.clone(),
            at: self.at,
        }
    }

    /// Drops the references to the kernel and the blocks.
    fn clear(&mut self) {
        self.kernel = None;
        self.indirect = None;
        self.bindings.clear();
    }

    /// Returns `true` if the launch has no workgroups.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.indirect.is_none() && self.groups == [0; 3]
    }
}

/// Returns the accesses of bindings, followed by those of `spans`: the first is read and the second is written. A
/// single iterator yields both, so that the compiler inlines the caller's code into the loop.
#[inline]
pub(crate) fn touches<'a>(
    bound: &'a [BoundArray],
    spans: [Option<&'a Span>; 2],
) -> impl Iterator<Item = BlockAccess<'a>> {
    let others = if spans.iter().any(Option::is_some) { spans.len() } else { 0 };
    (0..bound.len() + others).filter_map(move |at| match bound.get(at) {
        Some(bound) => bound.touch(),
        None => spans[at - bound.len()].map(|span| of_span(span, at > bound.len())),
    })
}

/// Checks that two arguments share bytes only if the shader declares both as read-only.
#[inline]
pub(crate) fn check_aliases(kernel: &KernelInner, bindings: &[BoundArray]) -> Result<()> {
    for (j, b) in bindings.iter().enumerate() {
        for (i, a) in bindings[..j].iter().enumerate() {
            if Arc::ptr_eq(&a.block, &b.block) && overlap(&a.range(), &b.range()) {
                check_alias(kernel, &a.block, i, j)?;
            }
        }
    }
    Ok(())
}

#[cold]
fn check_alias(kernel: &KernelInner, block: &Block, i: usize, j: usize) -> Result<()> {
    let bindings = &kernel.interface.bindings;
    if !bindings[i].declared.writes() && !bindings[j].declared.writes() {
        return Ok(());
    }
    let first = bindings[i].name.clone();
    let second = bindings[j].name.clone();
    let array = block.order().label.to_string();
    let subject = kernel.subject();
    let node = String::new();
    Err(ErrorDetail::Aliased { subject, node, first, second, array }.into())
}

fn of_span(span: &Span, write: bool) -> BlockAccess<'_> {
    BlockAccess { block: &span.block, range: span.range(), write }
}

impl BoundArray {
    /// Returns `true` for an empty array that has no memory yet, and so shares no bytes with another binding.
    #[inline]
    pub(crate) fn is_nothing(&self) -> bool {
        self.size == 0
    }

    #[inline]
    pub(crate) fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.size
    }

    #[inline]
    pub(crate) fn touch(&self) -> Option<BlockAccess<'_>> {
        let write = self.used?.writes();
        Some(BlockAccess { block: &self.block, range: self.range(), write })
    }
}

/// A compiled and checked kernel, shared by all its launches.
pub(crate) struct KernelInner {
    pub(crate) id: KernelId,
    /// Name in messages: that of the entry point, or of the verb that launches the kernel.
    pub(crate) name: Arc<str>,
    /// Name in profiles, where each kernel of a verb has a separate row.
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
    /// Returns how messages refer to a launch of the kernel.
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
    /// Pipeline of the wgpu recorder, or of the native recorder for its graphics interface.
    Device(Arc<DevicePipeline>),
    /// Code that the CPU runs.
    #[cfg(cpu)]
    Host(HostCode),
    /// Pipeline that another thread is compiling, or has compiled.
    Late(Arc<LatePipeline>),
}

impl Pipeline {
    /// Returns the compiled pipeline.
    ///
    /// # Panics
    /// Panics if a late pipeline is not compiled, which is a bug, because its launches wait for it.
    #[inline]
    pub(crate) fn compiled(&self) -> &Self {
        match self {
            Self::Late(late) => late.compiled(),
            pipeline => pipeline,
        }
    }

    /// Returns a late pipeline that is not yet compiled, or whose compilation has failed.
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

/// A pipeline that another thread compiles. Meanwhile its launches can be enqueued, and their queues wait.
pub(crate) struct LatePipeline {
    /// Result of the compilation.
    made: OnceLock<Result<Pipeline>>,
    progress: Mutex<LateProgress>,
    ended: Condvar,
}

/// A function that compiles a pipeline.
type CompileFn = Box<dyn FnOnce() -> Result<Pipeline> + Send>;

/// A function that receives the result of a compilation.
type AfterCompile = Box<dyn FnOnce(Result<()>) + Send>;

struct LateProgress {
    /// Function that compiles; `None` once a thread has begun.
    compile: Option<CompileFn>,
    /// Functions to call when the compilation ends.
    after: Vec<AfterCompile>,
}

impl LatePipeline {
    /// Returns a late pipeline that `compile` will compile. `compile` must not panic.
    pub(crate) fn new(compile: CompileFn) -> Arc<Self> {
        let progress = LateProgress { compile: Some(compile), after: Vec::new() };
        Arc::new(Self { made: OnceLock::new(), progress: Mutex::new(progress), ended: Condvar::new() })
    }

    /// Compiles the pipeline on this thread, unless a thread has already begun.
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

    /// Calls a function with the result: on the compiling thread, or here if the compilation has ended.
    pub(crate) fn after(&self, call: AfterCompile) {
        let mut progress = lock(&self.progress);
        let Some(result) = self.result() else { return progress.after.push(call) };
        drop(progress);
        call(result);
    }

    /// Returns the result of the compilation, or `None` while there is none.
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

/// Pipeline of a device recorder. Every launch reads it. Unlike a value in an `Arc<dyn Any>`, the box is at a fixed
/// offset.
///
/// The type is erased, as it is for a native buffer: the adapter chooses the graphics interface at run time, and only
/// the recorder, in a room above this one, is generic over it. An enum would have a variant for each interface, and a
/// function of each interface to get its own variant.
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
pub(crate) struct PipelineDescriptor<'a> {
    pub(crate) module: &'a Module,
    /// The entry point with these `overrides`.
    pub(crate) entry: &'a Entry,
    pub(crate) overrides: &'a [(&'a str, f64)],
    /// Sequential host function of the kernel, if it has one.
    pub(crate) reference: Option<Arc<dyn HostKernel>>,
    /// Proven properties of all launches of the kernel, which allow a device to omit runtime checks.
    pub(crate) trust: Option<Trust>,
}

impl PipelineDescriptor<'_> {
    /// Returns the interface of the entry point.
    pub(crate) fn interface(&self) -> &Interface {
        self.entry.interface()
    }

    /// Compiles one of a recorder's own kernels. `text` is the contents of the file with the name of the entry point.
    pub(crate) fn compile_own<T>(
        entry: &str,
        text: &'static str,
        compile: impl FnOnce(&PipelineDescriptor<'_>) -> Result<T>,
    ) -> Result<T> {
        if holds_loader_lock() {
            return Err(Error::no_thread_starts(format!("kernel `{entry}`")));
        }
        let module = Module::parse(&ShaderSource::text(format!("{entry}.wgsl"), text))?;
        let entry = module.entry(entry, &[])?;
        let overrides = &[];
        compile(&PipelineDescriptor {
            module: &module,
            entry: &entry,
            overrides,
            reference: None,
            trust: None,
        })
    }
}

//! Compilation of kernels: during the call, or on a thread while the program continues.

use crate::api::context::{Context, diagnostics};
use crate::api::kernel::{DynKernel, EntryPoint, Kernel};
use crate::device::kernel_folder;
use crate::driver::caps::Caps;
#[cfg(target_arch = "wasm32")]
use crate::driver::error_scopes::{earlier_answers, forget_note};
use crate::error::{Error, ErrorDetail, Result, label_of_verb, panic_text};
use crate::runtime::kernel_cache::{KernelCache, KernelKey};
use crate::runtime::owner::Owner;
use crate::runtime::pending::{LateSteps, Pending, WaitMode, late};
use crate::scheduler::engine::Engine;
use crate::scheduler::threads::replace_lane_thread;
use crate::work::kernel_launch::{KernelInner, KernelText, LatePipeline, Pipeline, PipelineDescriptor};
#[cfg(cpu)]
use fencepost_kernels::HostKernel;
use fencepost_kernels::{
    ArgField, Entry, Interface, KernelArgs, Module, ShaderSource, Trust, on_compiler_stack, report,
};
use fencepost_sync::loader::holds_loader_lock;
use fencepost_sync::prim::{Condvar, Mutex, lock, sleep_for};
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;

/// Returns a typed handle of the kernel, or an error if the argument fields do not fit the kernel.
fn typed<F: KernelArgs>(owner: &Owner, inner: Arc<KernelInner>, fields: &[ArgField]) -> Result<Kernel<F>> {
    let plan = Arc::new(fencepost_kernels::check(&inner.interface, fields)?);
    Ok(Kernel { inner, plan, next: None, owner: owner.clone(), args: PhantomData })
}

/// Returns a typed handle of a kernel with several entry points; see [`typed`].
fn typed_each<F: KernelArgs>(
    owner: &Owner,
    inners: Vec<Arc<KernelInner>>,
    fields: &[ArgField],
) -> Result<Kernel<F>> {
    let interfaces: Vec<_> = inners.iter().map(|inner| &inner.interface).collect();
    let plans = fencepost_kernels::check_each(&interfaces, fields)?;
    let mut entries = inners.into_iter().zip(plans).map(|(inner, plan)| EntryPoint { inner, plan });
    let EntryPoint { inner, plan } = entries.next().expect("bug: a kernel without an entry point");
    Ok(Kernel {
        inner,
        plan: Arc::new(plan),
        next: Some(entries.collect()),
        owner: owner.clone(),
        args: PhantomData,
    })
}

/// Returns the job that compiles the kernel of an argument struct.
pub(crate) fn job<A: KernelArgs>(overrides: &[(&str, f64)]) -> Result<Job> {
    Ok(Job::new(A::source()?, A::entry(), overrides).with_next(A::NEXT))
}

/// Compiles the kernel of an argument struct.
pub(crate) fn compiled<A: KernelArgs>(owner: &Owner, job: &Job) -> Result<Kernel<A::Family>> {
    if A::NEXT.is_empty() {
        return typed(owner, job.run(owner)?, &A::fields());
    }
    typed_each(owner, job.run_each(owner.engine(), owner.kernels())?, &A::fields())
}

/// Compiles an entry point of a WGSL text into a kernel whose arguments each launch checks.
pub(crate) fn dynamic(owner: &Owner, job: &Job) -> Result<DynKernel> {
    Ok(DynKernel { inner: job.run(owner)?, owner: owner.clone() })
}

impl Context {
    /// Compiles the kernel of an argument struct, and checks that the shader and the struct agree.
    ///
    /// The call takes as long as the driver needs to compile a shader. A context compiles a kernel once: calls with the
    /// same source, entry point and overrides return the same kernel. The context caches every kernel that the program
    /// holds, and the most recently requested others, up to 256 in all.
    /// [`ContextOptions::kernel_folder`](crate::ContextOptions::kernel_folder) keeps the driver's results for the next
    /// run of the program.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Kernel`] if shader and arguments do not fit, [`ErrorDetail::Unsupported`] if the adapter lacks a
    /// feature that the shader needs, and [`ErrorDetail::Compile`] if the driver refuses the shader.
    pub fn kernel<A: KernelArgs>(&self) -> Result<Kernel<A::Family>> {
        self.kernel_with::<A>(&[])
    }

    /// Compiles a kernel as [`kernel`](Self::kernel) does, with values for `override` constants, by name.
    ///
    /// # Errors
    /// Returns the errors of [`kernel`](Self::kernel), and [`ErrorDetail::Kernel`] if the shader has no such constant.
    pub fn kernel_with<A: KernelArgs>(&self, overrides: &[(&str, f64)]) -> Result<Kernel<A::Family>> {
        compiled::<A>(&self.owner, &job::<A>(overrides)?)
    }

    /// Compiles an entry point of a WGSL text, or of a [`ShaderSource`]. Each launch checks its arguments.
    ///
    /// Besides the statements of WGSL, the text may have `print("x = {}", x);` and `assert(x > 0.0, "x = {}", x);`:
    /// [`set_print`](Self::set_print) says where the lines go, and a failed assertion makes the queue fail with
    /// [`ErrorDetail::AssertionFailed`](crate::ErrorDetail::AssertionFailed).
    ///
    /// # Errors
    /// Returns the errors of [`kernel_with`](Self::kernel_with), and [`ErrorDetail::Kernel`] with line and column for a text
    /// that is not WGSL.
    pub fn kernel_from(&self, source: impl Into<ShaderSource>, entry: &str) -> Result<DynKernel> {
        self.kernel_from_with(source, entry, &[])
    }

    /// Compiles a kernel as [`kernel_from`](Self::kernel_from) does, with values for `override` constants, by name.
    ///
    /// # Errors
    /// Returns the errors of [`kernel_from`](Self::kernel_from).
    ///
    /// # Example
    /// ```
    /// use fencepost::{Grid, ShaderSource, args};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let text = "//#use \"tools.wgsl\"
    ///     @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    ///     @compute @workgroup_size(1) fn k() { x[0] = twice(21u); }";
    /// let tools = "fn twice(x: u32) -> u32 { return 2u * x; }";
    /// let source = ShaderSource::text("k.wgsl", text).with_file("tools.wgsl", tools);
    /// let kernel = ctx.kernel_from(source, "k")?;
    /// let mut x = ctx.zeros::<u32, 1>([1])?;
    /// queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x])?;
    /// assert_eq!(queue.read(&x).wait()?, [42]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn kernel_from_with(
        &self,
        source: impl Into<ShaderSource>,
        entry: &str,
        overrides: &[(&str, f64)],
    ) -> Result<DynKernel> {
        let source = source.into().with_default_label(entry);
        dynamic(&self.owner, &Job::new(source, entry, overrides))
    }

    /// Compiles a kernel as [`kernel_with`](Self::kernel_with) does, on a thread of the context. The call returns at
    /// once, so an executor or a user interface keeps running during the compilation.
    ///
    /// A context without threads compiles at the first wait or poll. If the kernel is already compiled, the result is
    /// ready at once; on WebGPU it is ready when the browser's compiler has accepted or refused the kernel.
    ///
    /// # Errors
    /// The [`Pending`] returns the errors of [`kernel`](Self::kernel).
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// #[derive(KernelArgs)]
    /// #[kernel(source = "saxpy.wgsl")]
    /// struct Saxpy<'a> {
    ///     a: f32,
    ///     x: &'a DeviceArray<f32>,
    ///     y: &'a mut DeviceArray<f32>,
    /// }
    /// # let (ctx, queue) = fencepost::doctest();
    /// let later = ctx.kernel_later::<Saxpy>(&[]);
    /// let (x, mut y) = (ctx.array(&[1.0, 2.0])?, ctx.full([2], 1.0)?); // during the compilation
    /// let saxpy = later.wait()?;
    /// queue.launch(&saxpy, Grid::threads([2]), Saxpy { a: 10.0, x: &x, y: &mut y })?;
    /// assert_eq!(queue.read(&y).wait()?, [11.0, 21.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn kernel_later<A: KernelArgs>(&self, overrides: &[(&str, f64)]) -> Pending<Kernel<A::Family>> {
        // The thread compiles all entry points; after that, the second job finds them in the cache.
        match (job::<A>(overrides), job::<A>(overrides)) {
            (Ok(first), Ok(again)) => self.later(first, move |owner, _| compiled::<A>(owner, &again)),
            (Err(error), _) | (_, Err(error)) => Pending::ready(Err(error)),
        }
    }

    /// Compiles the kernel of [`kernel_from_with`](Self::kernel_from_with) on a thread, as
    /// [`kernel_later`](Self::kernel_later) does.
    ///
    /// # Errors
    /// The [`Pending`] returns the errors of [`kernel_from_with`](Self::kernel_from_with).
    pub fn kernel_from_later(
        &self,
        source: impl Into<ShaderSource>,
        entry: &str,
        overrides: &[(&str, f64)],
    ) -> Pending<DynKernel> {
        let untyped = |owner: &Owner, inner| Ok(DynKernel { inner, owner: owner.clone() });
        self.later(Job::new(source.into().with_default_label(entry), entry, overrides), untyped)
    }

    fn later<K: Unpin + 'static>(
        &self,
        job: Job,
        make: impl FnOnce(&Owner, Arc<KernelInner>) -> Result<K> + Send + 'static,
    ) -> Pending<K> {
        match self.owner.engine().check_device() {
            Ok(()) => late(KernelLate::new(&self.owner, job, Box::new(make))),
            Err(gone) => Pending::ready(Err(gone)),
        }
    }

    /// Registers a host function that the CPU device runs in place of the WGSL entry point `entry`. Existing kernels do
    /// not change.
    ///
    /// If the function panics, the queue of the launch fails with [`ErrorDetail::LaunchFailed`].
    ///
    /// The function must not wait for its own context: such a wait returns
    /// [`ErrorDetail::WaitInKernel`](crate::ErrorDetail::WaitInKernel). It may wait for another context. If host
    /// functions of several contexts block on each other's contexts without a time limit, one of the waits returns
    /// [`ErrorDetail::WaitInKernel`](crate::ErrorDetail::WaitInKernel). A cycle through an awaited future or a host
    /// callback is not detected, and hangs.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Device`] if the context is on a wgpu adapter.
    ///
    /// # Example
    /// ```
    /// use fencepost::{Grid, HostBuffer, args};
    /// use std::sync::Arc;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let seven = |_: [u32; 3], _: [u32; 3], _: &[u8], buffers: &mut [HostBuffer<'_>]| {
    ///     buffers[0].bytes_mut().fill(7);
    /// };
    /// ctx.host_kernel("sevens", Arc::new(seven))?;
    /// let text = "@group(0) @binding(1) var<storage, read_write> out: array<u32>;
    ///     @compute @workgroup_size(1) fn sevens() { out[0] = 0x07070707u; }";
    /// let kernel = ctx.kernel_from(text, "sevens")?;
    /// let mut out = ctx.zeros::<u32, 1>([1])?;
    /// queue.launch_dyn(&kernel, Grid::groups([1]), args![out = &mut out])?;
    /// assert_eq!(queue.read(&out).wait()?, [0x0707_0707]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[cfg(feature = "cpu")] // `cfg(cpu)`, in a form that the documentation shows
    pub fn host_kernel(&self, entry: &str, kernel: Arc<dyn HostKernel>) -> Result<()> {
        let Some(cpu) = self.owner.cpu() else {
            let object = format!("host kernel `{entry}`");
            let message = "only the CPU runs host kernels".into();
            return Err(ErrorDetail::Device { object, message }.into());
        };
        self.owner.engine().check_process()?;
        cpu.host_kernel(entry, kernel);
        self.owner.kernels().clear(); // later compilations use the new function
        Ok(())
    }
}

/// A kernel to compile: its source, its entry points and its overrides.
pub(crate) struct Job {
    source: ShaderSource,
    entry: String,
    /// Entry points that a launch runs after the first one.
    next: &'static [&'static str],
    overrides: Vec<(String, f64)>,
    trust: Option<Trust>,
    verb: Option<&'static str>,
    /// `true` if a thread of the context compiles the pipeline, provided that the context has threads.
    late: bool,
}

impl Job {
    pub(crate) fn new(source: ShaderSource, entry: &str, overrides: &[(&str, f64)]) -> Self {
        let overrides = overrides.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Self { source, entry: entry.into(), next: &[], overrides, trust: None, verb: None, late: false }
    }

    /// Adds the entry points that a launch runs after the first one.
    pub(crate) fn with_next(self, next: &'static [&'static str]) -> Self {
        Self { next, ..self }
    }

    /// Lets the device omit the runtime checks that were proven redundant for this kernel.
    pub(crate) fn with_trust(self, trust: Option<Trust>) -> Self {
        Self { trust, ..self }
    }

    /// Edits the source and the overrides.
    #[cfg(feature = "validation")]
    pub(crate) fn edited(mut self, edit: impl FnOnce(&mut ShaderSource, &mut Vec<(String, f64)>)) -> Self {
        edit(&mut self.source, &mut self.overrides);
        self
    }

    /// Sets the verb that messages name in place of the kernel. Several verbs can share one compiled kernel.
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

    /// Returns the kernel, compiled during the call, because a context in a browser has no threads.
    #[cfg(target_arch = "wasm32")]
    fn run_late(&self, owner: &Owner) -> Result<Arc<KernelInner>> {
        self.run_on(owner.engine(), owner.kernels())
    }

    /// Returns the kernel. If the kernel is not in the cache, a thread of the context compiles its pipeline.
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

    /// Compiles the entry points that are not in the cache, and returns the first one.
    pub(crate) fn run_on(&self, engine: &Engine, kernels: &KernelCache) -> Result<Arc<KernelInner>> {
        let first = self.run_entry(engine, kernels, &self.entry)?;
        self.next.iter().try_for_each(|entry| self.run_entry(engine, kernels, entry).map(drop))?;
        Ok(first)
    }

    /// Compiles the entry points that are not in the cache, and returns all of them.
    pub(crate) fn run_each(&self, engine: &Engine, kernels: &KernelCache) -> Result<Vec<Arc<KernelInner>>> {
        let entries = std::iter::once(&*self.entry).chain(self.next.iter().copied());
        entries.map(|entry| self.run_entry(engine, kernels, entry)).collect()
    }

    /// Returns an entry point with its compiled pipeline.
    fn run_entry(&self, engine: &Engine, kernels: &KernelCache, entry: &str) -> Result<Arc<KernelInner>> {
        engine.check_device()?;
        let kernel = self.run_with(engine, kernels, entry, |overrides| {
            let refuses_warnings = kernels.refuses_warnings();
            compile(engine, &self.source, (entry, overrides), self.trust, false, refuses_warnings)
        })?;
        if let Some(late) = kernel.pipeline.unfinished() {
            if late.result().is_none() && holds_loader_lock() {
                return Err(no_compiler(entry));
            }
            late.finish()?; // a verb asked for the kernel first, and it may still be compiling
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
        #[cfg(not(target_arch = "wasm32"))]
        if holds_loader_lock() && kernels.find(&key).is_none() {
            return Err(no_compiler(entry)); // even if another thread compiles it, which starts a thread too
        }
        let is_new = Cell::new(false);
        let compile = || {
            is_new.set(true);
            compile(&overrides)
        };
        let kernel = match self.verb {
            None => kernels.get_or_compile(key, compile),
            Some(verb) => kernels.get_or_compile(key.clone().of_verb(verb), || {
                let kernel = kernels.get_or_compile(key, compile).map_err(|error| of_verb(error, verb))?;
                Ok(Arc::new(kernel.of_verb(verb, engine.new_kernel(&label_of_verb(verb, entry)))))
            }),
        }?;
        if is_new.get() {
            // The cache is not locked here, because the program's logger may call the context.
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

/// Parses the shader, checks the device's limits, and compiles the pipeline, on a large stack. If `late` is `true`,
/// another thread compiles the pipeline later, unless the kernel prints or asserts.
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
        diagnostics::write(source, entry);
        let caps = engine.device.caps();
        let known = module.entry(entry, overrides).map_err(|error| match error {
            fencepost_kernels::Error::WorkgroupTooLarge { kernel, found, .. } => {
                let limit = caps.max_workgroup;
                let total = caps.max_invocations;
                Error::from(ErrorDetail::WorkgroupTooLarge { kernel, found, limit, total })
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
            kernel_folder::check(caps, &module, &interface)?;
            late_pipeline(engine, module, known, origin.clone())
        } else {
            pipeline(engine, &module, &known, &origin)?
        };
        Ok(Arc::new(KernelInner { id, label: name.clone(), name, interface, pipeline, origin }))
    })
}

/// Returns the error for a kernel that is not compiled, if no thread can start to compile it.
#[cold]
fn no_compiler(kernel: &str) -> Error {
    Error::no_thread_starts(format!("kernel `{kernel}`"))
}

/// Calls a function on a thread with a large stack.
fn on_known_stack<T: Send>(kernel: &str, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    on_compiler_stack(work).map_err(|error| {
        let object = format!("kernel `{kernel}`");
        Error::from(ErrorDetail::Device { object, message: format!("no thread was started for it: {error}") })
    })?
}

/// Returns the pipeline of a kernel, not yet compiled. The first thread that needs it compiles it.
fn late_pipeline(engine: &Engine, module: Module, known: Entry, origin: KernelText) -> Pipeline {
    let me = engine.me.clone();
    Pipeline::Late(LatePipeline::new(Box::new(move || {
        let kernel = known.interface().entry.clone();
        let Some(engine) = me.upgrade() else {
            let message = "the context has ended".into();
            return Err(ErrorDetail::Compile { kernel, message }.into());
        };
        let made =
            AssertUnwindSafe(|| on_known_stack(&kernel, || pipeline(&engine, &module, &known, &origin)));
        catch_unwind(made).unwrap_or_else(|panic| {
            let message = format!("the compiler panicked: {}", panic_text(panic));
            Err(ErrorDetail::Compile { kernel, message }.into())
        })
    })))
}

/// Compiles the pipeline of a kernel.
fn pipeline(engine: &Engine, module: &Module, entry: &Entry, origin: &KernelText) -> Result<Pipeline> {
    let overrides: Vec<_> = origin.overrides.iter().map(|(name, value)| (&**name, *value)).collect();
    let reference = origin.source.reference();
    let trust = origin.trust;
    let recipe = PipelineDescriptor { module, entry, overrides: &overrides, reference, trust };
    engine.checked(engine.device.compile(&recipe))
}

/// Returns a compilation error that names the verb in place of the kernel.
pub(crate) fn of_verb(error: Error, verb: &str) -> Error {
    let kernel = verb.into();
    match error.detail() {
        ErrorDetail::Compile { message, .. } => {
            ErrorDetail::Compile { kernel, message: message.clone() }.into()
        }
        ErrorDetail::Unsupported { what, adapter, .. } => {
            ErrorDetail::Unsupported { kernel, what: what.clone(), adapter: adapter.clone() }.into()
        }
        &ErrorDetail::TooManyBindings { found, limit, .. } => {
            ErrorDetail::TooManyBindings { kernel, found, limit }.into()
        }
        &ErrorDetail::WorkgroupTooLarge { found, limit, total, .. } => {
            ErrorDetail::WorkgroupTooLarge { kernel, found, limit, total }.into()
        }
        &ErrorDetail::WorkgroupMemory { found, limit, .. } => {
            ErrorDetail::WorkgroupMemory { kernel, found, limit }.into()
        }
        _ => error,
    }
}

fn check_limits(caps: &Caps, interface: &Interface) -> Result<()> {
    let kernel = interface.entry.clone();
    let found = interface.bindings.len();
    let limit = caps.max_bindings;
    if found > limit as usize {
        return Err(ErrorDetail::TooManyBindings { kernel, found, limit }.into());
    }
    let found = interface.workgroup;
    let limit = caps.max_workgroup;
    let total: u64 = found.iter().fold(1, |all: u64, &n| all.saturating_mul(u64::from(n)));
    if found.iter().zip(limit).any(|(&n, limit)| n > limit) || total > u64::from(caps.max_invocations) {
        return Err(
            ErrorDetail::WorkgroupTooLarge { kernel, found, limit, total: caps.max_invocations }.into()
        );
    }
    let found = interface.workgroup_memory;
    let limit = caps.max_workgroup_memory;
    if found > limit {
        return Err(ErrorDetail::WorkgroupMemory { kernel, found, limit }.into());
    }
    Ok(())
}

/// A function that makes a typed or untyped kernel handle for the program.
type MakeHandleFn<K> = Box<dyn FnOnce(&Owner, Arc<KernelInner>) -> Result<K> + Send>;

/// Result of a compilation, or the payload of a panic in it.
type CompileOutcome = std::thread::Result<Result<Arc<KernelInner>>>;

/// The pending result of a kernel that a thread of the context compiles.
pub(crate) struct KernelLate<K> {
    owner: Owner,
    job: Arc<Job>,
    /// Slot for the outcome from the compiler thread; `None` if no thread compiles the kernel.
    desk: Option<Arc<CompileSlot>>,
    make: Option<MakeHandleFn<K>>,
    /// In a browser: the compiled entry points, and the browser's answer.
    #[cfg(target_arch = "wasm32")]
    compiled: Option<(Vec<Arc<KernelInner>>, BrowserAnswer)>,
}

/// A future that ends when the browser has answered.
#[cfg(target_arch = "wasm32")]
type BrowserAnswer = std::pin::Pin<Box<dyn Future<Output = ()>>>;

/// The outcome of a compilation, passed from the compiler thread to the pending result.
#[derive(Default)]
struct CompileSlot {
    state: Mutex<CompileSlotState>,
    left: Condvar,
}

/// State of a slot. An outcome implies that `begun` is `true`.
#[derive(Default)]
struct CompileSlotState {
    /// `true` once a thread has begun to compile.
    begun: bool,
    outcome: Option<CompileOutcome>,
    task: Option<Waker>,
}

impl CompileSlot {
    /// Claims the compilation for the caller, and returns `true` if no other thread has claimed it before.
    fn begin(&self) -> bool {
        !std::mem::replace(&mut lock(&self.state).begun, true)
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn leave(&self, outcome: CompileOutcome) {
        let mut state = lock(&self.state);
        debug_assert!(state.begun, "bug: a compilation ends that no thread has begun");
        state.outcome = Some(outcome);
        let task = state.task.take();
        drop(state);
        self.left.notify_all();
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl<K> KernelLate<K> {
    pub(crate) fn new(owner: &Owner, job: Job, make: MakeHandleFn<K>) -> Self {
        let job = Arc::new(job);
        let desk = start(owner, &job);
        Self {
            owner: owner.clone(),
            job,
            desk,
            make: Some(make),
            #[cfg(target_arch = "wasm32")]
            compiled: None,
        }
    }

    fn finish(&mut self, outcome: CompileOutcome) -> Result<K> {
        let inner = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let make = self.make.take().expect("bug: a pending kernel was polled again after it was ready");
        make(&self.owner, inner)
    }

    /// Compiles on the calling thread.
    fn finish_here(&mut self) -> Result<K> {
        let compiled = self.job.run_on(self.owner.engine(), self.owner.kernels());
        self.finish(Ok(compiled))
    }

    /// Compiles on the calling thread, in a context without threads.
    #[cfg(not(target_arch = "wasm32"))]
    fn finish_alone(&mut self, _: &WaitMode<'_>) -> Option<Result<K>> {
        Some(self.finish_here())
    }

    /// Compiles in the first poll. Returns the kernel, or the error of the browser's compiler, once the browser has
    /// answered.
    #[cfg(target_arch = "wasm32")]
    fn finish_alone(&mut self, mode: &WaitMode<'_>) -> Option<Result<K>> {
        let Some(device) = self.owner.wgpu().map(|device| device.raw().clone()) else {
            return Some(self.finish_here());
        };
        if self.compiled.is_none() {
            match self.job.run_each(self.owner.engine(), self.owner.kernels()) {
                Ok(entries) => self.compiled = Some((entries, Box::pin(earlier_answers(device)))),
                Err(error) => return Some(Err(error)),
            }
        }
        let (entries, answer) = self.compiled.as_mut()?;
        if let WaitMode::Poll(task) = mode
            && answer.as_mut().poll(&mut std::task::Context::from_waker(task)).is_pending()
        {
            return None;
        }
        let device = self.owner.device();
        let refusal = entries.iter().find_map(|entry| device.refusal_of(&entry.pipeline).cloned());
        let Some(error) = refusal else { return Some(self.finish_here()) };
        forget_note(&error);
        self.owner.kernels().forget_if(|kernel| device.refusal_of(&kernel.pipeline).is_some());
        Some(Err(error))
    }
}

/// Starts the compilation on a thread of the context. Returns `None` if the kernel is already compiled, or if the
/// context has no threads.
#[cfg(not(target_arch = "wasm32"))]
fn start(owner: &Owner, job: &Arc<Job>) -> Option<Arc<CompileSlot>> {
    let found = owner.kernels().find(&job.key());
    if !owner.engine().threads || found.is_some_and(|kernel| kernel.pipeline.unfinished().is_none()) {
        return None;
    }
    let desk = Arc::<CompileSlot>::default();
    let kernels = owner.kernels().clone();
    let leave = desk.clone();
    let job = job.clone();
    let compile = move |engine: &Engine| {
        if Arc::strong_count(&leave) == 1 || !leave.begin() {
            return; // the program has dropped its `Pending`, or a waiting thread has claimed the compilation
        }
        let compile = std::panic::AssertUnwindSafe(|| job.run_on(engine, &kernels));
        leave.leave(std::panic::catch_unwind(compile));
    };
    owner.compilers().add(owner.threads(), owner.engine(), Box::new(compile));
    Some(desk)
}

#[cfg(target_arch = "wasm32")]
fn start(_: &Owner, _: &Arc<Job>) -> Option<Arc<CompileSlot>> {
    None
}

impl<K> LateSteps<K> for KernelLate<K> {
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<K>> {
        if let Err(gone) = self.owner.engine().check_device() {
            return Some(Err(gone));
        }
        let Some(desk) = self.desk.clone() else { return self.finish_alone(mode) };
        match mode {
            WaitMode::Poll(task) => {
                // The clone and the drop of a waker are user code, so they run without the lock.
                let task = (*task).clone();
                let mut state = lock(&desk.state);
                let outcome = state.outcome.take();
                let before = if outcome.is_none() { state.task.replace(task) } else { Some(task) };
                drop(state);
                drop(before);
                outcome.map(|outcome| self.finish(outcome))
            }
            WaitMode::Block(deadline) if deadline.is_endless() && desk.begin() => {
                // The waiting thread compiles, because every compiler thread may be blocked in a waker that waits for a
                // kernel.
                Some(self.finish_here())
            }
            WaitMode::Block(deadline) => {
                replace_lane_thread();
                let mut state = lock(&desk.state);
                loop {
                    if let Some(outcome) = state.outcome.take() {
                        drop(state);
                        return Some(self.finish(outcome));
                    }
                    if deadline.has_passed() {
                        return None;
                    }
                    if deadline.is_endless() && holds_loader_lock() {
                        return Some(Err(no_compiler(&self.job.entry)));
                    }
                    state = sleep_for(&desk.left, state, deadline.slice());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::context::kernels::compile;
    use crate::record::cpu::cpu_recorder::SimulatorOptions;
    use std::sync::mpsc;
    use std::task::Poll;
    use std::time::Duration;

    const TEXT: &str = "override W = 1u;
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(W) fn k() { x[0] = W; }";

    fn source() -> ShaderSource {
        ShaderSource::text("k.wgsl", TEXT)
    }

    fn context(threads: bool) -> Context {
        let ctx = Context::simulated(SimulatorOptions { threads, ..SimulatorOptions::default() });
        let nothing = |_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [fencepost_kernels::HostBuffer<'_>]| ();
        ctx.host_kernel("k", Arc::new(nothing)).expect("it is the CPU recorder");
        ctx
    }

    fn poll<K: Unpin>(pending: &mut Pending<K>) -> Poll<Result<K>> {
        use std::future::Future;
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        std::pin::Pin::new(pending).poll(&mut cx)
    }

    #[test]
    fn every_call_for_a_compiled_kernel_returns_the_same_kernel() {
        for threads in [false, true] {
            let ctx = context(threads);
            let wide = [("W", 2.0)];
            let [one, two] = [&[][..], &wide].map(|overrides| {
                let later = ctx.kernel_from_later(source(), "k", overrides);
                later.wait().expect("it compiles").inner
            });
            assert!(!Arc::ptr_eq(&one, &two), "the overrides differ");
            for (overrides, first) in [(&[][..], one), (&wide, two)] {
                let again = ctx.kernel_from_with(source(), "k", overrides).expect("it compiles").inner;
                assert!(Arc::ptr_eq(&first, &again));
                let Poll::Ready(again) = poll(&mut ctx.kernel_from_later(source(), "k", overrides)) else {
                    panic!("a kernel that is there is ready")
                };
                assert!(Arc::ptr_eq(&first, &again.expect("it compiles").inner));
            }
        }
    }

    #[test]
    fn a_later_kernel_is_pending_during_its_compilation_and_wakes_its_task() {
        let ctx = context(true);
        let job = || Job::new(source(), "k", &[]);
        let (compiles, begun) = mpsc::channel();
        let (go_on, held) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let owner = &ctx.owner;
            scope.spawn(move || {
                let slow = || {
                    compiles.send(()).expect("the test waits");
                    held.recv().expect("the test goes on");
                    compile(owner.engine(), &source(), ("k", &[]), None, false, false)
                };
                owner.kernels().get_or_compile(job().key(), slow).map(drop).expect("it compiles");
            });
            begun.recv().expect("the compiler runs");
            let mut later = ctx.kernel_from_later(source(), "k", &[]);
            assert!(poll(&mut later).is_pending());
            assert!(later.wait_timeout(Duration::from_millis(1)).expect("nothing failed").is_none());
            let awaited = scope.spawn(move || pollster::block_on(later));
            let mut given_up = ctx.kernel_from_later(source(), "k", &[]);
            assert!(poll(&mut given_up).is_pending());
            drop(given_up);
            go_on.send(()).expect("the compiler waits");
            assert!(awaited.join().expect("no panic").is_ok());
        });
    }

    #[test]
    fn the_pending_returns_the_error_of_a_failed_compilation() {
        for threads in [false, true] {
            let ctx = context(threads);
            let bad = ctx.kernel_from_later(ShaderSource::text("k.wgsl", "fn"), "k", &[]);
            let now = ctx.kernel_from_with(ShaderSource::text("k.wgsl", "fn"), "k", &[]);
            let [later, now] = [bad.wait(), now].map(|result| result.map(drop).unwrap_err().to_string());
            assert_eq!(later, now);
        }
    }

    /// A waker that itself waits for a kernel when it is woken.
    struct Waits {
        ctx: Context,
        number: u32,
        done: mpsc::Sender<u32>,
    }

    fn another(number: u32) -> ShaderSource {
        ShaderSource::text(format!("{number}.wgsl"), format!("{TEXT} // {number}"))
    }

    impl std::task::Wake for Waits {
        fn wake(self: Arc<Self>) {
            let later = self.ctx.kernel_from_later(another(1000 + self.number), "k", &[]);
            later.wait().expect("it compiles");
            self.done.send(self.number).expect("the test waits");
        }
    }

    #[test]
    fn wakers_that_wait_for_kernels_need_no_free_compiler_thread() {
        use std::future::Future;
        let ctx = context(true);
        let (done, all_done) = mpsc::channel();
        let mut asked = Vec::new();
        for number in 0..12 {
            let waker = Arc::new(Waits { ctx: ctx.clone(), number, done: done.clone() }).into();
            let mut later = ctx.kernel_from_later(another(number), "k", &[]);
            if std::pin::Pin::new(&mut later).poll(&mut std::task::Context::from_waker(&waker)).is_pending() {
                asked.push((number, later));
            }
        }
        let mut woken: Vec<_> = asked.iter().map(|_| all_done.recv().expect("a waker is done")).collect();
        woken.sort_unstable();
        assert_eq!(woken, asked.iter().map(|(number, _)| *number).collect::<Vec<_>>());
    }

    #[test]
    fn a_context_ends_while_a_kernel_is_still_being_compiled() {
        let ctx = context(true);
        let watch = ctx.diagnostics().watch();
        let later = ctx.kernel_from_later(source(), "k", &[]);
        drop(ctx);
        drop(later);
        assert!(!watch.lives());
    }
}

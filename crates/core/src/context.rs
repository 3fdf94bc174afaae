//! One device and everything made on it.

use crate::adapter::{self, AdapterChoice, AdapterInfo};
use crate::command::What;
use crate::error::{Error, Kind, Result};
use crate::event::{Event, Recording};
use crate::kernel::cache::Kernels;
use crate::kernel::{DynKernel, Kernel};
use crate::lane::{Device, Lane, Opaque, OpenOptions, Pace, Way, WgpuDevice};
use crate::living;
use crate::memory::{DeviceArray, Direction, HostArray};
use crate::ordering::{Admission, Policy};
use crate::pending::{FutureLate, Pending};
use crate::queue::{CommandQueue, QueueOptions};
use crate::recorder::RecorderChoice;
use crate::recorder::cpu::{self, CpuDevice, CpuOptions};
use crate::scheduler::{Engine, State};
use crate::user_event::UserEvent;
use crate::watch::ContextWatch;
use fencepost_kernels::{Element, HostKernel, KernelArgs};
use fencepost_sync::Slot;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// How a context is opened.
///
/// # Example
/// ```no_run
/// use fencepost_core::{AdapterChoice, Context, ContextOptions, Policy};
/// let options = ContextOptions {
///     adapter: AdapterChoice::Name("llvmpipe".into()),
///     policy: Policy::Checked,
///     ..ContextOptions::default()
/// };
/// let ctx = Context::with_options(options).wait()?;
/// # Ok::<(), fencepost_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ContextOptions {
    /// Which adapter.
    pub adapter: AdapterChoice,
    /// What to do about uses of the same bytes that the program leaves unordered.
    pub policy: Policy,
    /// Whether values of a launch may travel as immediates where the adapter has them; else they go through a
    /// uniform buffer. The results are the same.
    pub immediates: bool,
    /// Whether what lies below wgpu may be used: memory that the host keeps mapped, native recorders with their fences.
    /// Else wgpu's own means serve alone. The results are the same.
    pub native: bool,
    /// Whether arrays may lie in memory that the host reaches where it is, on devices that share theirs with the host;
    /// else uploads and reads are copied, as on a discrete device. The results are the same.
    pub shared_memory: bool,
    /// Who records the work for the device.
    pub recorder: RecorderChoice,
    /// How much device time late a result may be reported, so that later work shares its submission: 1 ms (rule E02). More
    /// time makes fewer submissions; with `Duration::MAX` no batch ends for a result.
    pub lateness: Duration,
}

impl Default for ContextOptions {
    fn default() -> Self {
        let (adapter, policy, recorder) = Default::default();
        let lateness = Pace::LATENESS;
        Self { adapter, policy, immediates: true, native: true, shared_memory: true, recorder, lateness }
    }
}

/// How a context takes over a wgpu device: [`Context::adopt`].
///
/// # Example
/// ```
/// use fencepost_core::AdoptOptions;
/// let options = AdoptOptions::default();
/// assert!(!options.alone && options.threads);
/// ```
#[derive(Clone, Debug)]
pub struct AdoptOptions {
    /// What to do about uses of the same bytes that the program leaves unordered.
    pub policy: Policy,
    /// As [`ContextOptions::immediates`].
    pub immediates: bool,
    /// Who records the work for the device.
    pub recorder: RecorderChoice,
    /// Nobody else submits to the queue as long as the context lives: then submissions may go past wgpu, with a native
    /// fence. What the program hands to [`submit_foreign`](CommandQueue::submit_foreign) the context submits.
    pub alone: bool,
    /// Whether the context has threads. Without, whoever flushes or waits does their work, and the same calls do the
    /// same each time.
    pub threads: bool,
    /// As [`ContextOptions::lateness`].
    pub lateness: Duration,
}

impl Default for AdoptOptions {
    fn default() -> Self {
        let (policy, recorder) = Default::default();
        Self { policy, immediates: true, recorder, alone: false, threads: true, lateness: Pace::LATENESS }
    }
}

/// One device and everything made on it: queues, events, arrays, kernels. A cheap handle.
///
/// When the last handle of it goes (queues, events, arrays and kernels are handles too), what is enqueued is
/// flushed and waited for, and its threads end.
///
/// # Example
/// ```no_run
/// use fencepost_core::Context;
/// let ctx = Context::new().wait()?;
/// let x = ctx.zeros::<f32, 1>([1 << 20])?;
/// assert!(ctx.info().max_array >= 4 << 20);
/// # Ok::<(), fencepost_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Context {
    pub(crate) owner: Owner,
}

/// A handle that keeps a context going.
#[derive(Clone)]
pub(crate) struct Owner(Arc<Shared>);

/// A context that is not kept going for it.
#[derive(Clone)]
pub(crate) struct WeakOwner(Weak<Shared>);

struct Shared {
    kernels: Kernels,
    engine: Arc<Engine>,
    cpu: Option<Arc<CpuDevice>>,
    wgpu: Option<Opaque<Arc<WgpuDevice>>>,
    info: AdapterInfo,
    default_queue: OnceLock<Result<Slot>>,
    #[cfg(not(target_arch = "wasm32"))]
    threads: crate::threads::Threads,
    /// Dropped last: as long as it is there, something of the context is, and be it the device.
    alive: Arc<()>,
}

impl Owner {
    fn new(
        engine: Arc<Engine>,
        cpu: Option<Arc<CpuDevice>>,
        wgpu: Option<Arc<WgpuDevice>>,
        info: AdapterInfo,
    ) -> Self {
        let owner = Self(Arc::new(Shared {
            #[cfg(not(target_arch = "wasm32"))]
            threads: crate::threads::Threads::start(&engine),
            kernels: Kernels::default(),
            engine,
            cpu,
            wgpu: wgpu.map(Opaque::new),
            info,
            default_queue: OnceLock::new(),
            alive: Arc::default(),
        }));
        living::note(owner.downgrade());
        #[cfg(all(not(target_arch = "wasm32"), not(fencepost_loom)))]
        crate::overdue::watch(|| owner.watch());
        owner
    }

    pub(crate) fn watch(&self) -> ContextWatch {
        ContextWatch::new(self.engine(), &self.0.alive, &self.0.info)
    }

    pub(crate) fn downgrade(&self) -> WeakOwner {
        WeakOwner(Arc::downgrade(&self.0))
    }

    /// No other context has it as long as this one lives.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// The slot of the default queue, if that was ever used.
    pub(crate) fn default_slot(&self) -> Option<Slot> {
        self.0.default_queue.get().and_then(|slot| slot.clone().ok())
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.0.engine
    }

    pub(crate) fn kernels(&self) -> &Kernels {
        &self.0.kernels
    }

    pub(crate) fn wgpu(&self) -> Option<&WgpuDevice> {
        self.0.wgpu.as_ref().map(|device| &***device)
    }

    pub(crate) fn device(&self) -> &dyn Device {
        &*self.0.engine.device
    }

    /// Whether both are handles of one context.
    pub(crate) fn is(&self, other: &Owner) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl WeakOwner {
    pub(crate) fn upgrade(&self) -> Option<Owner> {
        self.0.upgrade().map(Owner)
    }

    pub(crate) fn lives(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.kernels.clear();
        #[cfg(not(target_arch = "wasm32"))]
        self.threads.end(&self.engine, &self.alive);
        #[cfg(target_arch = "wasm32")]
        if let Err(lost) = self.engine.flush_all() {
            log::debug!("while a context ended: {lost}");
        }
    }
}

impl Context {
    /// Opens the best adapter: discrete before integrated before software, or what `FENCEPOST_ADAPTER` names, by its
    /// number in [`adapters`](crate::adapters) or by a part of its name and backend.
    ///
    /// A `wait_timeout` on the opening of a context ignores its limit.
    ///
    /// # Errors
    /// [`Kind::NoAdapter`] with a list of what there is; [`Kind::Device`] if it cannot be opened.
    #[allow(clippy::new_ret_no_self, reason = "opening a device takes time: the context comes late")]
    pub fn new() -> Pending<Context> {
        Self::with_options(ContextOptions::default())
    }

    /// Opens an adapter.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_options(options: ContextOptions) -> Pending<Context> {
        Pending::late(FutureLate(Box::pin(async move {
            let adapter = adapter::choose(&options.adapter).await?;
            let ContextOptions { immediates, native, shared_memory, lateness, .. } = options;
            let way = options.recorder.or_variable()?.way(&adapter.get_info());
            let open = OpenOptions { immediates, native, shared_memory, way, alone: true, lateness };
            let (device, lanes) = WgpuDevice::open(&adapter, open).await?;
            let context = Self::on_wgpu(device, lanes, options.policy, AdapterInfo::of(&adapter), true);
            context.owner.engine().lock().lost()?;
            Ok(context)
        })))
    }

    /// A context on a wgpu device and queue of the program's own.
    ///
    /// The program may go on using both; wgpu orders the submissions of one queue as they are made. The context uses
    /// wgpu's own means only: no native fence, no memory that stays mapped. The handlers of the device for errors and
    /// for its loss stay the program's. [`adopt`](Self::adopt) does the same with more to say.
    ///
    /// # Example
    /// ```no_run
    /// use fencepost_core::{Context, Policy};
    /// # let (device, queue): (wgpu::Device, wgpu::Queue) = panic!("not run");
    /// let ctx = Context::from_wgpu(device.clone(), queue.clone(), Policy::Ordered);
    /// ctx.queue("beside the program's own work").finish().wait()?;
    /// # Ok::<(), fencepost_core::Error>(())
    /// ```
    pub fn from_wgpu(device: wgpu::Device, queue: wgpu::Queue, policy: Policy) -> Context {
        let info = AdapterInfo::of_device(&device);
        let open = OpenOptions { native: false, alone: false, ..OpenOptions::default() };
        let adopted = WgpuDevice::adopt(device, queue, open);
        let (device, lanes) = adopted.expect("only what is native can be refused");
        Self::on_wgpu(device, lanes, policy, info, true)
    }

    /// As [`from_wgpu`](Self::from_wgpu), with options.
    ///
    /// # Errors
    /// `Setting` if the recorder is to be chosen by a variable that names none; `Device` if the driver refuses what a
    /// native recorder needs.
    ///
    /// # Example
    /// ```no_run
    /// use fencepost_core::{AdoptOptions, Context, RecorderChoice};
    /// # let (device, queue): (wgpu::Device, wgpu::Queue) = panic!("not run");
    /// let options = AdoptOptions { alone: true, recorder: RecorderChoice::Direct, ..AdoptOptions::default() };
    /// let ctx = Context::adopt(device, queue, options)?;
    /// # Ok::<(), fencepost_core::Error>(())
    /// ```
    pub fn adopt(device: wgpu::Device, queue: wgpu::Queue, options: AdoptOptions) -> Result<Context> {
        let AdoptOptions { policy, immediates, recorder, alone, threads, lateness } = options;
        let chosen = recorder.or_variable()?;
        let way = if chosen == RecorderChoice::Auto { Way::Wgpu } else { chosen.way(&device.adapter_info()) };
        let native = alone || way != Way::Wgpu;
        let open = OpenOptions { immediates, native, way, alone, lateness, ..OpenOptions::default() };
        let info = AdapterInfo::of_device(&device);
        let (device, lanes) = WgpuDevice::adopt(device, queue, open)?;
        Ok(Self::on_wgpu(device, lanes, policy, info, threads))
    }

    fn on_wgpu(
        device: Arc<WgpuDevice>,
        lanes: Vec<Lane>,
        policy: Policy,
        info: AdapterInfo,
        threads: bool,
    ) -> Context {
        let engine = Engine::new(device.clone(), lanes, policy, threads && cfg!(not(target_arch = "wasm32")));
        Self { owner: Owner::new(engine, None, Some(device), info) }
    }

    /// A context on host bytes, for tests: commands run in any order that is allowed, chosen by a seed, with the
    /// reference functions of the kernels.
    ///
    /// # Example
    /// ```
    /// use fencepost_core::{Context, CpuOptions};
    /// for seed in 0..10 {
    ///     let ctx = Context::on_cpu(CpuOptions { seed, ..CpuOptions::default() });
    ///     let (a, b) = (ctx.queue("a"), ctx.queue("b"));
    ///     let x = a.array(&[1_u32, 2])?;
    ///     assert_eq!(b.read(&x).wait()?, [1, 2]);
    /// }
    /// # Ok::<(), fencepost_core::Error>(())
    /// ```
    pub fn on_cpu(options: CpuOptions) -> Context {
        Self::on_cpu_with(options, Policy::default())
    }

    /// As [`on_cpu`](Self::on_cpu), with a policy.
    pub fn on_cpu_with(options: CpuOptions, policy: Policy) -> Context {
        let (device, lanes) = cpu::open(&options);
        let engine = Engine::new(device.clone(), lanes, policy, options.threads);
        Self { owner: Owner::new(engine, Some(device), None, AdapterInfo::cpu_recorder()) }
    }

    /// Gives the CPU recorder the function that stands for the entry point `entry`; kernels made before keep theirs.
    /// If it panics the device counts as lost, and the reason names the kernel.
    ///
    /// # Errors
    /// [`Kind::Device`] if the context is on a real device.
    ///
    /// # Example
    /// ```
    /// use fencepost_core::{Grid, HostBuffer, args};
    /// use std::sync::Arc;
    /// # let (ctx, queue) = fencepost_core::doctest();
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
    /// # Ok::<(), fencepost_core::Error>(())
    /// ```
    pub fn host_kernel(&self, entry: &str, kernel: Arc<dyn HostKernel>) -> Result<()> {
        let Some(cpu) = &self.owner.0.cpu else {
            let (object, message) =
                (format!("host kernel `{entry}`"), "only the CPU recorder runs those".into());
            return Err(Kind::Device { object, message }.into());
        };
        cpu.host_kernel(entry, kernel);
        self.owner.kernels().clear(); // what comes later runs this one
        Ok(())
    }

    /// The adapter.
    pub fn info(&self) -> &AdapterInfo {
        &self.owner.0.info
    }

    /// The wgpu device and queue, if that is what the context is on. Submit to the queue yourself only what touches
    /// nothing of the context, or arrays [on buffers of your own](Self::array_on); what belongs into the order of a queue
    /// goes through [`encode`](CommandQueue::encode) or [`submit_foreign`](CommandQueue::submit_foreign).
    pub fn wgpu(&self) -> Option<(&wgpu::Device, &wgpu::Queue)> {
        self.owner.wgpu().map(|device| (device.raw(), device.queue()))
    }

    /// Bytes on a multiple of which the slices that are bound as arguments must start.
    pub fn binding_alignment(&self) -> u64 {
        self.owner.device().caps().binding_alignment
    }

    /// Makes a command queue, ordered after everything enqueued on the context so far.
    ///
    /// On a lost device the queue is made all the same, and every verb of it says so. It always is a new queue,
    /// whatever the label; the queue ends with its last handle.
    ///
    /// # Example
    /// ```
    /// # let (ctx, _) = fencepost_core::doctest();
    /// let queue = ctx.queue("main");
    /// assert_eq!(queue.label(), "main");
    /// ```
    #[track_caller]
    pub fn queue(&self, label: &str) -> CommandQueue {
        self.queue_with(QueueOptions { label: label.into(), ..QueueOptions::default() })
    }

    /// Makes a command queue with options.
    #[track_caller]
    pub fn queue_with(&self, options: QueueOptions) -> CommandQueue {
        let QueueOptions { label, priority, timing } = &options;
        let slot = self.owner.engine().new_queue(label, *priority, *timing);
        CommandQueue::new(self.owner.clone(), slot, options)
    }

    /// The queue that is there without being made: every call gives the same one.
    pub fn default_queue(&self) -> CommandQueue {
        let options = QueueOptions { label: "default".into(), ..QueueOptions::default() };
        let make = || self.owner.engine().new_queue(&options.label, options.priority, options.timing);
        let slot = self.owner.0.default_queue.get_or_init(make).clone();
        CommandQueue::shared(self.owner.clone(), slot, options)
    }

    /// Compiles the kernel of an argument struct, and checks the two against each other.
    ///
    /// That takes time, as long as the driver takes for a shader. A context does it once: it keeps the 256 kernels that were
    /// asked for last, and gives the same one for the same source, entry point and overrides.
    ///
    /// # Errors
    /// [`Kind::Kernel`] if shader and arguments do not fit, [`Kind::Unsupported`] if the adapter lacks what the
    /// shader needs, [`Kind::Compile`] if the driver refuses it.
    pub fn kernel<A: KernelArgs>(&self) -> Result<Kernel<A::Family>> {
        self.kernel_with::<A>(&[])
    }

    /// As [`kernel`](Self::kernel), with values for `override` constants, by name.
    ///
    /// # Errors
    /// As [`kernel`](Self::kernel); [`Kind::Kernel`] for a name that the shader does not have.
    pub fn kernel_with<A: KernelArgs>(&self, overrides: &[(&str, f64)]) -> Result<Kernel<A::Family>> {
        Kernel::compile::<A>(&self.owner, overrides)
    }

    /// Compiles an entry point of a WGSL text. Its arguments are checked at each launch.
    ///
    /// # Errors
    /// As [`kernel_with`](Self::kernel_with); [`Kind::Kernel`] with line and column for a text that is not WGSL.
    pub fn kernel_from(&self, wgsl: &str, entry: &str) -> Result<DynKernel> {
        self.kernel_from_with(wgsl, entry, &[])
    }

    /// As [`kernel_from`](Self::kernel_from), with values for `override` constants, by name.
    ///
    /// # Errors
    /// As [`kernel_from`](Self::kernel_from).
    pub fn kernel_from_with(&self, wgsl: &str, entry: &str, overrides: &[(&str, f64)]) -> Result<DynKernel> {
        DynKernel::compile(&self.owner, wgsl, entry, overrides)
    }

    /// As [`kernel_from_with`](Self::kernel_from_with), from a text with the files that it uses.
    ///
    /// # Errors
    /// As [`kernel_from`](Self::kernel_from).
    ///
    /// # Example
    /// ```
    /// use fencepost_core::{Grid, ShaderSource, args};
    /// # let (ctx, queue) = fencepost_core::doctest();
    /// # ctx.host_kernel("k", std::sync::Arc::new(|_: [u32; 3], _: [u32; 3], _: &[u8], out: &mut [fencepost_core::HostBuffer<'_>]| out[0].bytes_mut()[0] = 42))?;
    /// let text = "//#use \"tools.wgsl\"
    ///     @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    ///     @compute @workgroup_size(1) fn k() { x[0] = twice(21u); }";
    /// let tools = "fn twice(x: u32) -> u32 { return 2u * x; }";
    /// let source = ShaderSource::text("k.wgsl", text).with_file("tools.wgsl", tools);
    /// let kernel = ctx.kernel_from_source(&source, "k", &[])?;
    /// let mut x = ctx.zeros::<u32, 1>([1])?;
    /// queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x])?;
    /// assert_eq!(queue.read(&x).wait()?, [42]);
    /// # Ok::<(), fencepost_core::Error>(())
    /// ```
    pub fn kernel_from_source(
        &self,
        source: &ShaderSource,
        entry: &str,
        overrides: &[(&str, f64)],
    ) -> Result<DynKernel> {
        DynKernel::compile_source(&self.owner, source, entry, overrides)
    }

    /// An array of zeros, before every later use on any queue.
    ///
    /// # Errors
    /// [`Kind::TooLarge`], [`Kind::OutOfMemory`], [`Kind::DeviceLost`].
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost_core::doctest();
    /// let x = ctx.zeros::<f32, 2>([2, 3])?;
    /// assert_eq!((x.shape(), x.len()), ([2, 3], 6));
    /// assert_eq!(queue.read(&x).wait()?, [0.0; 6]);
    /// # Ok::<(), fencepost_core::Error>(())
    /// ```
    #[track_caller]
    pub fn zeros<T: Element, const D: usize>(&self, shape: [usize; D]) -> Result<DeviceArray<T, D>> {
        self.own(What::Fill).zeros(shape)
    }

    /// An array whose elements are all `value`, before every later use on any queue.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    #[track_caller]
    pub fn full<T: Element, const D: usize>(&self, shape: [usize; D], value: T) -> Result<DeviceArray<T, D>> {
        self.own(What::Fill).full(shape, value)
    }

    /// An array with the elements of a slice, copied at the call, before every later use on any queue.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    #[track_caller]
    pub fn array<T: Element>(&self, elements: &[T]) -> Result<DeviceArray<T>> {
        self.own(What::Upload).array(elements)
    }

    /// An array whose elements are whatever was there.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    #[track_caller]
    pub fn empty<T: Element, const D: usize>(&self, shape: [usize; D]) -> Result<DeviceArray<T, D>> {
        self.own(What::Fill).empty(shape)
    }

    /// An array of zeros of the shape, padding and type of another, before every later use on any queue.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    #[track_caller]
    pub fn zeros_like<T: Element, const D: usize>(
        &self,
        like: &DeviceArray<T, D>,
    ) -> Result<DeviceArray<T, D>> {
        self.zeros_padded(like.shape(), like.padded_shape())
    }

    /// An array of the shape, padding and type of another whose elements are whatever was there.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    #[track_caller]
    pub fn empty_like<T: Element, const D: usize>(
        &self,
        like: &DeviceArray<T, D>,
    ) -> Result<DeviceArray<T, D>> {
        self.empty_padded(like.shape(), like.padded_shape())
    }

    #[track_caller]
    pub(crate) fn own(&self, what: What) -> crate::transfer::Maker<'_> {
        let by = Admission { slot: State::CONTEXT, what, at: Location::caller() };
        crate::transfer::Maker { owner: &self.owner, by }
    }

    /// A pinned host array, zeroed; see [`HostArray`].
    ///
    /// # Errors
    /// [`Kind::TooLarge`], [`Kind::OutOfMemory`], [`Kind::DeviceLost`].
    #[track_caller]
    pub fn pinned<T: Element, Dir: Direction, const D: usize>(
        &self,
        shape: [usize; D],
    ) -> Result<HostArray<T, Dir, D>> {
        HostArray::new(&self.owner, shape, shape)
    }

    /// An event that is not recorded: complete by definition, until a queue records it.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost_core::doctest();
    /// let event = ctx.event();
    /// assert!(event.is_complete()?);
    /// queue.record(&event)?;
    /// event.wait()?;
    /// # Ok::<(), fencepost_core::Error>(())
    /// ```
    pub fn event(&self) -> Event {
        Event::new(self.owner.clone(), Recording::Never)
    }

    /// An event that the program signals; see [`UserEvent`].
    pub fn user_event(&self, label: &str) -> UserEvent {
        UserEvent::new(self.owner.clone(), label)
    }

    /// The state of all queues and lanes as text, for people who look for what a program waits for.
    pub fn state_dump(&self) -> String {
        self.owner.engine().dump(&self.owner.0.info)
    }

    /// Something that shows [`state_dump`](Self::state_dump) later and keeps nothing alive.
    pub fn watch(&self) -> ContextWatch {
        self.owner.watch()
    }

    /// Takes an error that came up where nobody could be told: in a `Drop`, or in the work of the context itself,
    /// such as the fill of an array. After the latter every call says it until it is taken.
    pub fn take_error(&self) -> Option<Error> {
        let mut state = self.owner.engine().lock();
        let dropped = state.drop_error.take();
        dropped.or_else(|| state.queue_mut(State::CONTEXT).error.take())
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.info())
    }
}

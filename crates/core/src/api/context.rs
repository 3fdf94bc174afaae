//! One device and everything made on it.

pub(crate) mod compile_job;
pub(crate) mod current;
pub(crate) mod kernel_later;
pub(crate) mod kernels;
pub(crate) mod pool_control;
pub(crate) mod synchronize;
pub(crate) mod wait_listing;
pub(crate) mod wgpu_arrays;

use crate::api::options::{AdoptOptions, ContextOptions};
use crate::api::queue::{CommandQueue, QueueOptions};
use crate::arrays::device_array::DeviceArray;
use crate::arrays::host_array::{Direction, HostArray};
use crate::device::adapter_info::AdapterInfo;
use crate::device::open::{DeviceSwitches, OpenOptions};
use crate::device::wgpu_device::{SubmitPath, WgpuDevice};
use crate::device::{Lane, adapter};
use crate::error::site::CommandKind;
use crate::error::{Error, Result};
#[cfg(cpu)]
use crate::record::cpu::cpu_recorder as cpu;
use crate::record::cpu::cpu_recorder::CpuFaults;
#[cfg(cpu)]
use crate::record::cpu::cpu_recorder::CpuOptions;
use crate::record::open_lanes::open_lanes;
use crate::record::recorder_choice::RecorderChoice;
use crate::runtime::context_registry;
use crate::runtime::context_watch::ContextWatch;
use crate::runtime::event::{Event, EventOptions, Recording};
use crate::runtime::owner::Owner;
use crate::runtime::pending::{FutureLate, Pending};
use crate::runtime::user_event::UserEvent;
use crate::scheduler::engine::Engine;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::ordering::policy::Policy;
use fencepost_kernels::{Element, Number};
use fencepost_sync::Slot;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// One device and everything made on it: queues, events, arrays, kernels. A cheap handle.
///
/// When the last handle of it goes (queues, events, arrays and kernels are handles too), what is enqueued is
/// flushed and waited for, and its threads end.
///
/// # Example
/// ```no_run
/// use fencepost::Context;
/// let ctx = Context::new().wait()?;
/// let x = ctx.zeros::<f32, 1>([1 << 20])?;
/// assert!(ctx.info().max_array >= 4 << 20);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone)]
pub struct Context {
    pub(crate) owner: Owner,
}

impl Context {
    /// Opens the best adapter: discrete before integrated before software, or what `FENCEPOST_ADAPTER` names, by its
    /// number in [`adapters`](crate::adapters) or by a part of its name and backend.
    ///
    /// A `wait_timeout` on the opening of a context ignores its limit.
    ///
    /// # Errors
    /// [`Kind::NoAdapter`](crate::Kind::NoAdapter) with a list of what there is; [`Kind::Device`](crate::Kind::Device) if it cannot be opened.
    #[allow(clippy::new_ret_no_self, reason = "opening a device takes time: the context comes late")]
    pub fn new() -> Pending<Context> {
        Self::with_options(ContextOptions::default())
    }

    /// Opens an adapter.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_options(options: ContextOptions) -> Pending<Context> {
        Self::open(options, DeviceSwitches::default())
    }

    pub(crate) fn open(options: ContextOptions, switches: DeviceSwitches) -> Pending<Context> {
        Pending::late(FutureLate(Box::pin(async move {
            let adapter = adapter::choose(&options.adapter).await?;
            let way = options.recorder.or_variable()?.way(&adapter.get_info());
            let ContextOptions { lateness, kernel_folder, .. } = options;
            let open = OpenOptions { switches, way, alone: true, lateness, kernel_folder };
            let device = WgpuDevice::open(&adapter, open).await?;
            let lanes = open_lanes(&device)?;
            let context = Self::on_wgpu(device, lanes, options.policy, AdapterInfo::of(&adapter), true);
            context.owner.engine().lock().lost()?;
            Ok(context)
        })))
    }

    /// Makes a context on a wgpu device and queue of the program.
    ///
    /// The program may go on using both: wgpu orders the submissions of one queue as they are made. The handlers of the device
    /// for errors and for its loss stay those of the program. With the default options the context works through wgpu only: no
    /// native fence, no memory that stays mapped.
    ///
    /// # Errors
    /// `Setting` if the recorder is to be chosen by a variable that names none; `Device` if the driver refuses what a
    /// native recorder needs.
    ///
    /// # Example
    /// ```no_run
    /// use fencepost::{AdoptOptions, Context, RecorderChoice};
    /// # let (device, queue): (wgpu::Device, wgpu::Queue) = panic!("not run");
    /// let ctx = Context::adopt(device.clone(), queue.clone(), AdoptOptions::default())?;
    /// ctx.queue("beside the work of the program").finish().wait()?;
    ///
    /// let options = AdoptOptions { alone: true, recorder: RecorderChoice::Direct, ..AdoptOptions::default() };
    /// let ctx = Context::adopt(device, queue, options)?;
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn adopt(device: wgpu::Device, queue: wgpu::Queue, options: AdoptOptions) -> Result<Context> {
        Self::adopt_with(device, queue, options, DeviceSwitches::default())
    }

    pub(crate) fn adopt_with(
        device: wgpu::Device,
        queue: wgpu::Queue,
        options: AdoptOptions,
        switches: DeviceSwitches,
    ) -> Result<Context> {
        let AdoptOptions { policy, recorder, alone, threads, lateness, kernel_folder } = options;
        let chosen = recorder.or_variable()?;
        let way = if chosen == RecorderChoice::Auto {
            SubmitPath::Wgpu
        } else {
            chosen.way(&device.adapter_info())
        };
        let native = switches.native && (alone || way != SubmitPath::Wgpu);
        let switches = DeviceSwitches { native, ..switches };
        let open = OpenOptions { switches, way, alone, lateness, kernel_folder };
        let info = AdapterInfo::of_device(&device);
        let device = WgpuDevice::adopt(device, queue, open);
        let lanes = open_lanes(&device)?;
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
        let owner = Owner::new(
            engine,
            #[cfg(cpu)]
            None,
            Some(device),
            info,
        );
        Self::of(owner)
    }

    fn of(owner: Owner) -> Context {
        context_registry::note(owner.downgrade());
        Self { owner }
    }

    /// A context on host bytes, for tests: commands run in any order that is allowed, chosen by a seed, with the
    /// reference functions of the kernels.
    ///
    /// # Example
    /// ```
    /// use fencepost::{Context, CpuOptions};
    /// for seed in 0..10 {
    ///     let ctx = Context::on_cpu(CpuOptions { seed, ..CpuOptions::default() });
    ///     let (a, b) = (ctx.queue("a"), ctx.queue("b"));
    ///     let x = a.array(&[1_u32, 2])?;
    ///     assert_eq!(b.read(&x).wait()?, [1, 2]);
    /// }
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[cfg(feature = "cpu")] // `cpu`, in words that the documentation shows
    pub fn on_cpu(options: CpuOptions) -> Context {
        Self::on_cpu_with(options, Policy::default())
    }

    /// As [`on_cpu`](Self::on_cpu), with a policy.
    #[cfg(feature = "cpu")] // `cpu`, in words that the documentation shows
    pub fn on_cpu_with(options: CpuOptions, policy: Policy) -> Context {
        Self::on_faulty_cpu(options, CpuFaults::default(), policy)
    }

    #[cfg(cpu)]
    pub(crate) fn on_faulty_cpu(options: CpuOptions, faults: CpuFaults, policy: Policy) -> Context {
        let (device, lanes) = cpu::open_with(&options, &faults);
        let engine = Engine::new(device.clone(), lanes, policy, options.threads);
        Self::of(Owner::new(engine, Some(device), None, AdapterInfo::cpu_recorder()))
    }

    /// The adapter.
    pub fn info(&self) -> &AdapterInfo {
        self.owner.info()
    }

    /// What records and submits its work: the name of a [`RecorderChoice`](crate::RecorderChoice), in small letters.
    ///
    /// # Example
    /// ```
    /// # let (ctx, _) = fencepost::doctest();
    /// assert_eq!(ctx.recorder(), "cpu");
    /// ```
    pub fn recorder(&self) -> &'static str {
        self.owner.device().recorder()
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
    /// # let (ctx, _) = fencepost::doctest();
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
        let slot = self.owner.default_queue(make);
        CommandQueue::shared(self.owner.clone(), slot, options)
    }

    /// An array of zeros, before every later use on any queue.
    ///
    /// # Errors
    /// [`Kind::TooLarge`](crate::Kind::TooLarge), [`Kind::OutOfMemory`](crate::Kind::OutOfMemory), [`Kind::DeviceLost`](crate::Kind::DeviceLost).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.zeros::<f32, 2>([2, 3])?;
    /// assert_eq!((x.shape(), x.len()), ([2, 3], 6));
    /// assert_eq!(queue.read(&x).wait()?, [0.0; 6]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn zeros<T: Element, const D: usize>(&self, shape: [usize; D]) -> Result<DeviceArray<T, D>> {
        self.own(CommandKind::Fill).zeros(shape)
    }

    /// An array whose elements are all `value`, before every later use on any queue.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    #[track_caller]
    pub fn full<T: Element, const D: usize>(&self, shape: [usize; D], value: T) -> Result<DeviceArray<T, D>> {
        self.own(CommandKind::Fill).full(shape, value)
    }

    /// An array of ones, before every later use on any queue.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.ones::<f32, 2>([2, 2])?;
    /// let y = ctx.ones_like(&x)?;
    /// assert_eq!(queue.read(&y).wait()?, [1.0; 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn ones<T: Number, const D: usize>(&self, shape: [usize; D]) -> Result<DeviceArray<T, D>> {
        self.full(shape, T::ONE)
    }

    /// An array with the elements of a slice, copied at the call, before every later use on any queue.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    #[track_caller]
    pub fn array<T: Element>(&self, elements: &[T]) -> Result<DeviceArray<T>> {
        self.own(CommandKind::Upload).array(elements)
    }

    /// An array whose elements are whatever was there.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    #[track_caller]
    pub fn empty<T: Element, const D: usize>(&self, shape: [usize; D]) -> Result<DeviceArray<T, D>> {
        self.own(CommandKind::Fill).empty(shape)
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

    /// As [`ones`](Self::ones), with the shape, padding and type of another array.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    #[track_caller]
    pub fn ones_like<T: Number, const D: usize>(
        &self,
        like: &DeviceArray<T, D>,
    ) -> Result<DeviceArray<T, D>> {
        self.own(CommandKind::Fill).full_padded(like.shape(), like.padded_shape(), T::ONE)
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
    pub(crate) fn own(&self, what: CommandKind) -> crate::api::queue::transfer::ArrayOps<'_> {
        let by = Admission { slot: Slot::CONTEXT, what, at: Location::caller() };
        crate::api::queue::transfer::ArrayOps { owner: &self.owner, by }
    }

    /// A pinned host array, zeroed; see [`HostArray`].
    ///
    /// # Errors
    /// [`Kind::TooLarge`](crate::Kind::TooLarge), [`Kind::OutOfMemory`](crate::Kind::OutOfMemory), [`Kind::DeviceLost`](crate::Kind::DeviceLost).
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
    /// # let (ctx, queue) = fencepost::doctest();
    /// let event = ctx.event();
    /// assert!(event.is_complete()?);
    /// queue.record(&event)?;
    /// event.wait()?;
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn event(&self) -> Event {
        Event::new(self.owner.clone(), Recording::Never)
    }

    /// As [`event`](Self::event), with options: see [`EventOptions`].
    pub fn event_with(&self, options: EventOptions) -> Event {
        Event::with(self.owner.clone(), Recording::Never, options)
    }

    /// An event that the program signals; see [`UserEvent`].
    pub fn user_event(&self, label: &str) -> UserEvent {
        UserEvent::new(self.owner.clone(), label)
    }

    /// The state of all queues and lanes as text, for people who look for what a program waits for.
    pub fn state_dump(&self) -> String {
        self.owner.engine().dump(self.owner.info())
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
        dropped.or_else(|| state.queue_mut(Slot::CONTEXT).error.take())
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.info())
    }
}

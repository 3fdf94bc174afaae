//! Contexts, and the waits for all queues of one context or of every context.

pub(crate) mod current;
pub(crate) mod diagnostics;
pub(crate) mod kernels;
pub(crate) mod tuning;
pub(crate) mod wgpu_arrays;

use crate::api::options::{AdoptOptions, ContextOptions};
use crate::api::queue::transfer::ArrayOps;
use crate::api::queue::{CommandQueue, QueueOptions};
use crate::arrays::device_array::DeviceArray;
use crate::arrays::host_array::{Direction, HostArray};
use crate::device::adapter::{AdapterInfo, ChosenAdapter};
#[cfg(cpu)]
use crate::device::checks::CheckOptions;
use crate::device::open::{DeviceSwitches, OpenOptions};
use crate::device::wgpu_device::{BacklogLimit, SubmitPath, WgpuDevice};
use crate::device::{Lane, adapter};
#[cfg(all(cpu, target_arch = "wasm32"))]
use crate::driver::page::after_the_event_loop;
use crate::error::{CommandKind, Error, ErrorDetail, Result};
use crate::memory::region::Shape;
use crate::memory::uses::Policy;
#[cfg(cpu)]
use crate::record::cpu::cpu_device::NextTurn;
#[cfg(cpu_threads)]
use crate::record::cpu::cpu_lane;
#[cfg(cpu)]
use crate::record::cpu::cpu_recorder as cpu;
#[cfg(cpu)]
use crate::record::cpu::cpu_recorder::{CpuFaults, SimulatorOptions};
#[cfg(all(cpu, target_arch = "wasm32"))]
use crate::record::cpu::page_lane;
use crate::record::lanes::{RecorderChoice, open_lanes};
use crate::runtime::context_watch;
use crate::runtime::event::{Event, EventOptions, Recording, UserEvent};
use crate::runtime::owner::Owner;
use crate::runtime::pending::{FutureLate, LateSteps, Pending, WaitMode, WakerRegistration, late};
use crate::scheduler::complete::PointHistory;
use crate::scheduler::engine::Engine;
use crate::scheduler::ordering::Admission;
use crate::scheduler::threads::is_inside_callback;
use crate::scheduler::wakers::Deadline;
use fencepost_kernels::Element;
use fencepost_sync::{Point, Slot};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// A device and everything that is made on it: queues, events, arrays and kernels. A clone is a cheap handle.
///
/// Queues, events, arrays and kernels are handles of their context too. Dropping the last handle flushes the enqueued
/// work, waits for its completion and ends the threads of the context.
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
    /// Opens the best adapter: a discrete GPU if there is one, else an integrated one. Without a GPU it opens the CPU
    /// device, which needs no driver, even if a software driver is installed. If `FENCEPOST_ADAPTER` is set, the call
    /// opens the adapter that the variable selects: by its index in [`adapters`](crate::adapters), or by a part of its
    /// name and backend. In a browser, the call opens the adapter that the browser chooses, or the CPU device if the
    /// browser has none.
    ///
    /// Algorithms compile their kernels without the runtime checks that were proven redundant, unless the environment
    /// has `FENCEPOST_CHECKED=1` (rule A18).
    ///
    /// On the returned result, `wait_timeout` ignores its time limit.
    ///
    /// # Errors
    /// The result is [`ErrorDetail::NoAdapter`](crate::ErrorDetail::NoAdapter), which lists the adapters, if none fits,
    /// [`ErrorDetail::Device`](crate::ErrorDetail::Device) if the adapter cannot be opened, and
    /// [`ErrorDetail::Setting`](crate::ErrorDetail::Setting) if an environment variable has an unknown value.
    #[allow(clippy::new_ret_no_self, reason = "opening a device takes time: the context comes late")]
    pub fn new() -> Pending<Context> {
        Self::with_options(ContextOptions::default())
    }

    /// Opens an adapter, with options.
    ///
    /// # Errors
    /// The result has the errors of [`new`](Self::new).
    pub fn with_options(options: ContextOptions) -> Pending<Context> {
        Self::open(options, DeviceSwitches::default())
    }

    pub(crate) fn open(options: ContextOptions, switches: DeviceSwitches) -> Pending<Context> {
        Pending::late(FutureLate(Box::pin(async move {
            // An invalid variable is an error on every adapter.
            let recorder = options.recorder.or_variable()?;
            let switches = switches.or_variable()?;
            #[cfg(cpu)]
            CheckOptions::or_variable(options.check)?;
            #[allow(
                clippy::infallible_destructuring_match,
                reason = "without the feature `cpu` there is one kind of adapter"
            )]
            let adapter = match adapter::choose(&options.adapter, recorder != RecorderChoice::Auto).await? {
                ChosenAdapter::Wgpu(adapter) => adapter,
                #[cfg(cpu)]
                ChosenAdapter::Cpu => return Self::on_threads(&options, true),
            };
            let submit_path = recorder.submit_path(&adapter.get_info());
            let ContextOptions {
                lateness, kernel_folder, launch_limit, portable_wgsl, backlog, tuning, ..
            } = options;
            let folder = kernel_folder.clone();
            let open = OpenOptions { switches, submit_path, exclusive: true, lateness, kernel_folder };
            let device = WgpuDevice::open(&adapter, open).await?;
            let lanes = open_lanes(&device)?;
            let context = Self::on_wgpu(device, lanes, options.policy, AdapterInfo::of(&adapter), true);
            context.owner.kernels().set_refuses_warnings(portable_wgsl);
            context.owner.engine().lock().check_not_lost()?;
            context.owner.tuning().open(tuning, folder, context.info());
            Ok(context.limited(launch_limit, backlog))
        })))
    }

    /// Opens the CPU device. The context has threads of its own, apart from those that run the kernels. In a browser there
    /// are none, and turns of the page's event loop run the kernels.
    #[cfg(cpu)]
    pub(crate) fn on_threads(options: &ContextOptions, has_threads: bool) -> Result<Context> {
        let checks = CheckOptions::or_variable(options.check)?;
        let ContextOptions { lateness, launch_limit, .. } = *options;
        #[cfg(cpu_threads)]
        let (device, lanes) = cpu_lane::open(lateness, launch_limit, checks)?;
        #[cfg(target_arch = "wasm32")]
        let (device, lanes) = page_lane::open(lateness, launch_limit, checks, after_the_event_loop);
        let has_threads = has_threads && cfg!(cpu_threads);
        let engine = Engine::new(device.clone(), lanes, options.policy, has_threads);
        let context = Self::of(Owner::new(engine, Some(device), None, AdapterInfo::cpu()));
        context.owner.kernels().set_refuses_warnings(options.portable_wgsl);
        context.owner.tuning().open(options.tuning.clone(), options.kernel_folder.clone(), context.info());
        Ok(context.limited(launch_limit, options.backlog))
    }

    /// Makes a context on a wgpu device and queue of the program.
    ///
    /// The program may still use both: wgpu executes the submissions of one queue in the order in which they were made.
    /// The device keeps the program's error handlers and loss handler. With the default options the context uses only
    /// wgpu's own API: no native fences and no persistently mapped memory.
    ///
    /// # Errors
    /// Returns `Setting` if the environment variable for the recorder or for the runtime checks has an unknown value.
    /// Returns `Device` if the driver refuses an object that a native recorder needs.
    ///
    /// # Example
    /// ```no_run
    /// use fencepost::{AdoptOptions, Context, RecorderChoice};
    /// # let (device, queue): (wgpu::Device, wgpu::Queue) = panic!("not run");
    /// let ctx = Context::adopt(device.clone(), queue.clone(), AdoptOptions::default())?;
    /// ctx.queue("beside the work of the program").finish().wait()?;
    ///
    /// let options = AdoptOptions::default().exclusive(true).recorder(RecorderChoice::Direct);
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
        let AdoptOptions {
            policy,
            recorder,
            exclusive,
            threads,
            lateness,
            kernel_folder,
            launch_limit,
            portable_wgsl,
            backlog,
            tuning,
        } = options;
        let chosen = recorder.or_variable()?;
        let switches = switches.or_variable()?;
        let submit_path = if chosen == RecorderChoice::Auto {
            SubmitPath::Wgpu
        } else {
            chosen.submit_path(&device.adapter_info())
        };
        let native = switches.native && (exclusive || submit_path != SubmitPath::Wgpu);
        let switches = DeviceSwitches { native, ..switches };
        let folder = kernel_folder.clone();
        let open = OpenOptions { switches, submit_path, exclusive, lateness, kernel_folder };
        let info = AdapterInfo::of_device(&device);
        let device = WgpuDevice::adopt(device, queue, open);
        let lanes = open_lanes(&device)?;
        let context = Self::on_wgpu(device, lanes, policy, info, threads);
        context.owner.kernels().set_refuses_warnings(portable_wgsl);
        context.owner.tuning().open(tuning, folder, context.info());
        Ok(context.limited(launch_limit, backlog))
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

    /// Sets the limits of the scheduler.
    fn limited(self, launch_limit: Duration, backlog: BacklogLimit) -> Self {
        let mut state = self.owner.engine().lock();
        state.loops.limit = Some(launch_limit);
        state.room.limit = Some(backlog);
        drop(state);
        self
    }

    pub(crate) fn of(owner: Owner) -> Context {
        context_watch::note(owner.downgrade());
        Self { owner }
    }

    /// Makes a context on host memory, for tests. A seed chooses the order of the commands among all allowed orders. A
    /// launch calls the kernel's reference function if there is one. Otherwise it runs the kernel's text, and the seed
    /// also chooses the order of the invocations.
    ///
    /// # Errors
    /// If the environment variable `FENCEPOST_CHECK` has an unknown value, the later calls of the context return
    /// `Setting`.
    ///
    /// # Example
    /// ```
    /// use fencepost::{Context, SimulatorOptions};
    /// for seed in 0..10 {
    ///     let ctx = Context::simulated(SimulatorOptions::default().seed(seed));
    ///     let (a, b) = (ctx.queue("a"), ctx.queue("b"));
    ///     let x = a.array(&[1_u32, 2])?;
    ///     assert_eq!(b.read(&x).wait()?, [1, 2]);
    /// }
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[cfg(feature = "cpu")] // `cfg(cpu)`, in a form that the documentation shows
    pub fn simulated(options: SimulatorOptions) -> Context {
        Self::on_faulty_cpu(options, CpuFaults::default())
    }

    #[cfg(cpu)]
    pub(crate) fn on_faulty_cpu(options: SimulatorOptions, faults: CpuFaults) -> Context {
        let (options, wrong) = match CheckOptions::or_variable(options.check) {
            Ok(check) => (SimulatorOptions { check, ..options }, None),
            Err(error) => (options, Some(error)),
        };
        let (device, lanes) = cpu::open_with(&options, &faults, next_turn());
        let has_threads = options.threads && cfg!(cpu_threads);
        let engine = Engine::new(device.clone(), lanes, options.policy, has_threads);
        if let Some(error) = wrong {
            engine.lock().queue_mut(Slot::CONTEXT).error = Some(error);
        }
        let context = Self::of(Owner::new(engine, Some(device), None, AdapterInfo::cpu_recorder()));
        context.owner.kernels().set_refuses_warnings(options.portable_wgsl);
        context.limited(options.launch_limit, options.backlog)
    }

    /// Returns the properties of the adapter.
    pub fn info(&self) -> &AdapterInfo {
        self.owner.info()
    }

    /// Returns the name, in lower case, of the [`RecorderChoice`](crate::RecorderChoice) in use.
    ///
    /// # Example
    /// ```
    /// # let (ctx, _) = fencepost::doctest();
    /// assert_eq!(ctx.recorder(), "cpu");
    /// ```
    pub fn recorder(&self) -> &'static str {
        self.owner.device().recorder()
    }

    /// Returns the wgpu device and queue, or `None` if the context is not on a wgpu device.
    ///
    /// The program may submit its own work to this queue if the work uses no memory of the context, or only arrays [on
    /// buffers of the program](Self::array_on). To order such work within a command queue, use
    /// [`encode`](CommandQueue::encode) or [`submit_foreign`](CommandQueue::submit_foreign).
    ///
    /// A Vulkan queue takes one call at a time. So on Vulkan, after the first call of this method, the context submits
    /// under wgpu's lock, and long commands of several queues no longer overlap.
    pub fn wgpu(&self) -> Option<(&wgpu::Device, &wgpu::Queue)> {
        self.owner.wgpu().map(|device| device.expose())
    }

    /// Returns the alignment of bindings in bytes. A slice that is bound as an argument must start at a multiple of
    /// this number.
    pub fn binding_alignment(&self) -> u64 {
        self.owner.device().caps().binding_alignment
    }

    /// Makes a command queue, whose work comes after everything enqueued on the context so far.
    ///
    /// On a lost device the call still makes the queue, and every verb of the queue returns the loss. Every call makes
    /// a new queue, even if another one has the same label. The queue ends with its last handle.
    ///
    /// # Example
    /// ```
    /// # let (ctx, _) = fencepost::doctest();
    /// let queue = ctx.queue("main");
    /// assert_eq!(queue.options().label, "main");
    /// ```
    #[track_caller]
    pub fn queue(&self, label: &str) -> CommandQueue {
        self.queue_with(QueueOptions { label: label.into(), ..QueueOptions::default() })
    }

    /// Makes a command queue with options.
    #[track_caller]
    pub fn queue_with(&self, options: QueueOptions) -> CommandQueue {
        CommandQueue::new(self.owner.clone(), options)
    }

    /// Returns the default queue of the context. Every call returns the same queue.
    pub fn default_queue(&self) -> CommandQueue {
        CommandQueue::shared(self.owner.clone())
    }

    /// Returns an array of zeros. Every later use on any queue comes after the fill.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::TooLarge`](crate::ErrorDetail::TooLarge), [`ErrorDetail::OutOfMemory`](crate::ErrorDetail::OutOfMemory),
    /// [`ErrorDetail::Padding`](crate::ErrorDetail::Padding) or [`ErrorDetail::DeviceLost`](crate::ErrorDetail::DeviceLost).
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
    pub fn zeros<T: Element, const D: usize>(&self, shape: impl Into<Shape<D>>) -> Result<DeviceArray<T, D>> {
        self.array_ops(CommandKind::Fill).zeros(shape.into())
    }

    /// Returns an array whose elements are all `value`. Every later use on any queue comes after the fill.
    ///
    /// # Errors
    /// Returns the errors of [`zeros`](Self::zeros).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.full([2, 2], 1.0_f32)?;
    /// let y = ctx.full(&x, 1.0)?;            // an array stands for its shape
    /// assert_eq!(queue.read(&y).wait()?, [1.0_f32; 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn full<T: Element, const D: usize>(
        &self,
        shape: impl Into<Shape<D>>,
        value: T,
    ) -> Result<DeviceArray<T, D>> {
        self.array_ops(CommandKind::Fill).full(shape.into(), value)
    }

    /// Returns an array with the elements of a slice, which is copied at the call. Every later use on any queue comes
    /// after the upload.
    ///
    /// # Errors
    /// Returns the errors of [`zeros`](Self::zeros).
    #[track_caller]
    pub fn array<T: Element>(&self, elements: &[T]) -> Result<DeviceArray<T>> {
        self.array_ops(CommandKind::Upload).array(elements)
    }

    /// Returns an array with unspecified elements: nothing clears its memory.
    ///
    /// # Errors
    /// Returns the errors of [`zeros`](Self::zeros).
    #[track_caller]
    pub fn empty<T: Element, const D: usize>(&self, shape: impl Into<Shape<D>>) -> Result<DeviceArray<T, D>> {
        self.array_ops(CommandKind::Fill).empty(shape.into())
    }

    #[track_caller]
    pub(crate) fn array_ops(&self, what: CommandKind) -> ArrayOps<'_> {
        let by = Admission { slot: Slot::CONTEXT, what, at: Location::caller() };
        ArrayOps { owner: &self.owner, by, captured: None }
    }

    /// Returns a zeroed pinned host array; see [`HostArray`]. In a padded array, the guards include the padding. A
    /// transfer to or from a device array with the same shape and the same padded shape is one copy, padding included.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::TooLarge`](crate::ErrorDetail::TooLarge), [`ErrorDetail::OutOfMemory`](crate::ErrorDetail::OutOfMemory),
    /// [`ErrorDetail::Padding`](crate::ErrorDetail::Padding) or [`ErrorDetail::DeviceLost`](crate::ErrorDetail::DeviceLost).
    ///
    /// # Example
    /// ```
    /// use fencepost::{HostArray, Shape, Upload};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let shape = Shape::padded([2, 1], [2, 3]);
    /// let mut host: HostArray<u32, Upload, 2> = ctx.pinned(shape)?;
    /// host.host_mut()?.copy_from_slice(&[1, 0, 0, 2, 0, 0]);
    /// let mut x = ctx.zeros(shape)?;
    /// queue.upload(&host, &mut x)?;
    /// assert_eq!(queue.read(&x).wait()?, [1, 2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn pinned<T: Element, Dir: Direction, const D: usize>(
        &self,
        shape: impl Into<Shape<D>>,
    ) -> Result<HostArray<T, Dir, D>> {
        HostArray::new(&self.owner, shape.into())
    }

    /// Returns an event that no queue has recorded yet. Until then it counts as complete.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let event = ctx.event();
    /// assert!(event.is_complete()?);
    /// event.record(&queue)?;
    /// event.wait()?;
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn event(&self) -> Event {
        Event::new(self.owner.clone(), Recording::Never)
    }

    /// Returns an event as [`event`](Self::event) does, with options: see [`EventOptions`].
    pub fn event_with(&self, options: EventOptions) -> Event {
        Event::with(self.owner.clone(), Recording::Never, options)
    }

    /// Returns an event that the program signals; see [`UserEvent`].
    pub fn user_event(&self, label: &str) -> UserEvent {
        UserEvent::new(self.owner.clone(), label)
    }

    /// Takes an error that no call has returned, because it arose in a `Drop` or in the context's own work, such as the
    /// fill of an array. Until it is taken, every later call returns an error of the context's own work. Once there is
    /// none, each call of `take_error` takes the error of one dropped queue. Until then, maps of the arrays that the
    /// queue wrote return that error.
    pub fn take_error(&self) -> Option<Error> {
        self.owner.engine().take_context_error()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.info())
    }
}

impl Context {
    /// Starts the work of all queues, and returns at once.
    ///
    /// All queues start together, so their work can overlap even on a device with one hardware queue. Separate calls of
    /// [`flush`](crate::CommandQueue::flush) may start the queues one after the other.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::DeviceLost`]. If the work of a queue has failed, only that queue returns the error.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let other = ctx.queue("other");
    /// let (x, y) = (queue.full([64], 1_u32)?, other.full([64], 2_u32)?);
    /// ctx.flush()?;
    /// # drop((x, y));
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn flush(&self) -> Result<()> {
        self.owner.engine().flush_all()
    }

    /// *Flushes* all queues; the result comes when everything enqueued so far on any of them is complete.
    ///
    /// On an [adopted](Context::adopt) device that other code submits to, the result also waits for everything that the
    /// other code has submitted so far.
    ///
    /// Most programs need less. Prefer an [event](crate::CommandQueue::marker) to wait for one point, and
    /// [`finish`](crate::CommandQueue::finish) to wait for one queue.
    ///
    /// # Errors
    /// The result is the error of the oldest queue whose work has failed. The wait still covers all other queues. The
    /// result is [`ErrorDetail::DeviceLost`] if the device is lost. A call inside a host callback gives
    /// [`ErrorDetail::WouldDeadlock`] and does not wait.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let other = ctx.queue("other");
    /// let (x, y) = (queue.array(&[1_u32; 64])?, other.array(&[2_u32; 64])?);
    /// ctx.synchronize().wait()?;
    /// assert!(queue.marker().is_complete()? && other.marker().is_complete()?);
    /// # drop((x, y));
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn synchronize(&self) -> Pending<()> {
        end_of_contexts([self.owner.clone()])
    }
}

/// *Flushes* all queues of all contexts of this process; the result comes when everything enqueued so far on any of
/// them is complete.
///
/// The call is meant for the end of a program or of a test. Elsewhere, [`Context::synchronize`],
/// [`CommandQueue::finish`](crate::CommandQueue::finish) or an event is better. The result keeps all contexts alive
/// until the wait is over.
///
/// # Errors
/// The result is the error of the oldest context that has one. The wait still covers all other contexts. Each context
/// has the errors of [`Context::synchronize`].
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// queue.zeros::<u32, 1>([64])?;
/// fencepost::synchronize_all().wait()?;
/// assert!(queue.marker().is_complete()?);
/// # drop(ctx);
/// # Ok::<(), fencepost::Error>(())
/// ```
pub fn synchronize_all() -> Pending<()> {
    end_of_contexts(context_watch::live_contexts())
}

/// Returns the function that schedules the work of the CPU in a browser, or `None` where threads do it.
#[cfg(cpu)]
fn next_turn() -> Option<NextTurn> {
    #[cfg(target_arch = "wasm32")]
    return Some(after_the_event_loop);
    #[cfg(not(target_arch = "wasm32"))]
    None
}

fn end_of_contexts(owners: impl IntoIterator<Item = Owner>) -> Pending<()> {
    late(EndOfContexts(owners.into_iter().map(ContextEnds::of).collect()))
}

/// A wait for all queues of some contexts. The host clock covers the work that the program knows to be complete. It
/// advances only once all queues have completed, so a wait that is refused or times out does not advance it.
struct EndOfContexts(Vec<ContextEnds>);

/// The end of each queue of a context at the time of the call.
struct ContextEnds {
    registration: WakerRegistration,
    owner: Owner,
    ends: Vec<QueueEnd>,
}

/// The end of a queue, and the result of waiting for it once that wait is over.
struct QueueEnd {
    point: Point,
    past: Arc<PointHistory>,
    result: Option<Result<()>>,
}

impl ContextEnds {
    fn of(owner: Owner) -> Self {
        let shared = owner.wgpu().is_some_and(|device| device.is_shared());
        let ends = match owner.engine().finish_all(shared) {
            Ok(ends) => {
                ends.into_iter().map(|(point, past)| QueueEnd { point, past, result: None }).collect()
            }
            Err(lost) => {
                vec![QueueEnd { point: Point::START, past: Arc::default(), result: Some(Err(lost)) }]
            }
        };
        Self { registration: WakerRegistration::default(), owner, ends }
    }
}

impl Drop for ContextEnds {
    /// Notifies the threads that the completers must now wait for the ends, because no caller does.
    fn drop(&mut self) {
        self.owner.engine().notify_due_threads();
    }
}

impl EndOfContexts {
    /// Returns `true` if the wait may be refused. Then every end is polled before any wait blocks.
    fn may_be_refused(&self) -> bool {
        is_inside_callback() || self.0.iter().any(|ends| ends.owner.engine().is_in_function())
    }

    /// Waits for each end that has no result yet. Returns `None`, as [`LateSteps::advance`] does, if a result is still
    /// missing.
    fn advance_ends(&mut self, mode: &WaitMode<'_>) -> Option<Result<()>> {
        let mut all = true;
        let asks_all = self.may_be_refused();
        for ContextEnds { registration, owner, ends } in &mut self.0 {
            for end in ends.iter_mut().filter(|end| end.result.is_none()) {
                match mode.for_point(owner.engine(), end.point, registration) {
                    Some(Err(error)) if would_deadlock(&error) => return Some(Err(error)),
                    result => end.result = result,
                }
                all &= end.result.is_some();
                // Waiting for one end after the other means that a wake-up need not check all of them.
                if !all && !asks_all {
                    return None;
                }
            }
        }
        all.then(|| self.result())
    }

    /// Returns the first error of all ends, and advances the host clock.
    fn result(&mut self) -> Result<()> {
        let mut first = Ok(());
        for ContextEnds { owner, ends, .. } in &mut self.0 {
            for end in ends {
                let answer = end.result.take().unwrap_or(Ok(()));
                owner.engine().report_done(end.point, &end.past.clock, &answer);
                first = first.and(answer);
            }
        }
        first
    }
}

impl LateSteps<()> for EndOfContexts {
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<()>> {
        let polled = match mode {
            WaitMode::Poll(_) => None,
            WaitMode::Block(_) if !self.may_be_refused() => None,
            // The first pass only polls, so that a wait that can never end is refused before any wait blocks.
            WaitMode::Block(_) => self.advance_ends(&WaitMode::Block(Deadline::now())),
        };
        polled.or_else(|| self.advance_ends(mode))
    }
}

fn would_deadlock(error: &Error) -> bool {
    matches!(error.detail(), ErrorDetail::WouldDeadlock { .. } | ErrorDetail::WaitInGuard { .. })
}

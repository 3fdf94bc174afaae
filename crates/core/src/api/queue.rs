//! Command queues.

pub(crate) mod arrays;
mod calls;
pub(crate) mod encode;
pub(crate) mod launch;
pub(crate) mod region_transfer;
pub(crate) mod transfer;
pub(crate) mod tuning;
pub(crate) mod wait_for;

use crate::api::context::Context;
use crate::api::context::current::in_callback;
use crate::api::graph::tape::{CapturedQueue, Tape};
use crate::error::{Error, ErrorDetail, Result};
use crate::runtime::event::{Event, EventOptions, PointLate, Recording, same_context};
use crate::runtime::owner::Owner;
use crate::runtime::pending::{Pending, late_or_error};
use crate::scheduler::batch::Callback;
use crate::scheduler::queues::Priority;
use crate::scheduler::wait::Caller;
use fencepost_sync::Slot;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Weak};

/// Remedy for a call that needs captured work to have run.
const NOTHING_RUNS: &str = "a capture executes nothing: make the call on the queue of the replay";

/// Options of a new queue.
///
/// # Example
/// ```
/// # let (ctx, _) = fencepost::doctest();
/// use fencepost::{Priority, QueueOptions};
/// let urgent = QueueOptions::default().label("urgent").priority(Priority::High);
/// assert_eq!(ctx.queue_with(urgent).options().priority, Priority::High);
/// ```
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct QueueOptions {
    /// Name of the queue in messages.
    pub label: String,
    /// Priority of the queue's work, compared with other queues.
    pub priority: Priority,
    /// `true` if the device times the queue's commands. Then [`Event::seconds_since`] works for the queue's events.
    /// Timing makes each command more expensive.
    pub timing: bool,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self { label: "queue".into(), priority: Priority::Normal, timing: false }
    }
}

impl QueueOptions {
    /// Sets the name of the queue in messages.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Sets the priority.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// With `true`, times the commands of the queue.
    #[must_use]
    pub fn timing(mut self, timing: bool) -> Self {
        self.timing = timing;
        self
    }
}

/// A queue that runs commands in the order of enqueueing. A clone is a cheap handle of the same queue. Several threads
/// may use one queue at the same time; each call enqueues its commands as a whole.
///
/// Verbs enqueue and return; only a `wait` blocks. Enqueued work starts by itself within about a millisecond, or at
/// once with [`flush`](Self::flush). Events, waits and the context's [`Policy`](crate::Policy) order the commands of
/// different queues. Dropping the last handle flushes the queue and loses no work.
///
/// If enqueued work fails, the queue has an error: every later verb returns it until [`take_error`](Self::take_error).
#[derive(Clone)]
pub struct CommandQueue {
    inner: Arc<QueueInner>,
}

/// A handle that does not keep the queue alive.
#[derive(Clone)]
pub(crate) struct WeakQueue(Weak<QueueInner>);

struct QueueInner {
    owner: Owner,
    /// Slot of the queue, or the error of a device that was lost before the queue was made.
    slot: Result<Slot>,
    /// The queue's options. `timing` is `true` only if the adapter has timestamps.
    options: QueueOptions,
    /// `true` if times were requested: forks and saved graphs may be for an adapter with timestamps.
    wants_times: bool,
    /// `true` if the queue ends with its last handle.
    closes: bool,
    /// Place of the queue in its capture, if it is a captured queue. Such a queue has no slot.
    captured: Option<CapturedQueue>,
}

impl Drop for QueueInner {
    fn drop(&mut self) {
        if let (true, Ok(slot)) = (self.closes, &self.slot) {
            self.owner.engine().close_queue(*slot);
        }
    }
}

impl WeakQueue {
    pub(crate) fn upgrade(&self) -> Option<CommandQueue> {
        self.0.upgrade().map(|inner| CommandQueue { inner })
    }

    pub(crate) fn lives(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl CommandQueue {
    /// Makes a queue that is closed when its last handle is dropped.
    #[track_caller]
    pub(crate) fn new(owner: Owner, options: QueueOptions) -> Self {
        let QueueOptions { label, priority, timing } = &options;
        let slot = owner.engine().new_queue(label, *priority, *timing);
        Self::handle((owner, slot), options, true, None)
    }

    fn handle(
        (owner, slot): (Owner, Result<Slot>),
        options: QueueOptions,
        closes: bool,
        captured: Option<CapturedQueue>,
    ) -> Self {
        let wants_times = options.timing;
        let timing = wants_times && owner.device().caps().timestamps;
        let options = QueueOptions { timing, ..options };
        Self { inner: Arc::new(QueueInner { owner, slot, options, wants_times, closes, captured }) }
    }

    /// Returns the context of the queue, so that a library's verbs need only a queue.
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
    ///
    /// /// Enqueues y = a x + y.
    /// fn saxpy(queue: &CommandQueue, a: f32, x: &DeviceArray<f32>, y: &mut DeviceArray<f32>) -> fencepost::Result<()> {
    ///     let kernel = queue.context().kernel::<Saxpy>()?;
    ///     queue.launch(&kernel, Grid::threads([y.len()]), Saxpy { a, x, y })
    /// }
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut y) = (ctx.array(&[1.0, 2.0])?, ctx.full([2], 1.0)?);
    /// saxpy(&queue, 10.0, &x, &mut y)?;
    /// assert_eq!(queue.read(&y).wait()?, [11.0, 21.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn context(&self) -> Context {
        Context { owner: self.owner().clone() }
    }

    /// Returns a handle of the context's default queue.
    pub(crate) fn shared(owner: Owner) -> Self {
        let options = QueueOptions { label: "default".into(), ..QueueOptions::default() };
        let make = || owner.engine().new_queue(&options.label, options.priority, options.timing);
        let slot = owner.default_queue(make);
        Self::handle((owner, slot), options, false, None)
    }

    /// Makes the first queue of a capture on `queue`.
    pub(crate) fn captured(queue: &CommandQueue, tape: &Arc<Tape>) -> Self {
        let label = queue.label().into();
        let owner = queue.owner().clone();
        let place = CapturedQueue { tape: tape.clone(), index: 0, label, owner };
        Self::captured_as(queue.options_of_fork(queue.label()), place)
    }

    /// Makes the handle of a captured queue.
    fn captured_as(options: QueueOptions, place: CapturedQueue) -> Self {
        let owner = place.owner.clone();
        let slot = Err(ErrorDetail::CaptureEnded {
            call: "the call",
            queue: options.label.clone(),
            location: Location::caller(),
        }
        .into());
        Self::handle((owner, slot), options, false, Some(place))
    }

    /// Returns the place of the queue in its capture, if the queue is captured.
    pub(crate) fn captured_queue(&self) -> Option<&CapturedQueue> {
        self.inner.captured.as_ref()
    }

    /// Returns `true` for a queue in the body of a condition or a loop.
    pub(crate) fn is_in_body(&self) -> bool {
        self.captured_queue().is_some_and(|captured| captured.tape.is_body)
    }

    /// Returns an error if the queue is captured. The error names `call` and its source line, and the capture fails
    /// with it too.
    #[track_caller]
    pub(crate) fn not_captured(&self, call: &'static str, remedy: &'static str) -> Result<()> {
        match &self.inner.captured {
            None => Ok(()),
            Some(captured) => Err(captured.refuse(call, self.label(), Location::caller(), remedy)),
        }
    }

    pub(crate) fn downgrade(&self) -> WeakQueue {
        WeakQueue(Arc::downgrade(&self.inner))
    }

    pub(crate) fn owner(&self) -> &Owner {
        &self.inner.owner
    }

    /// Returns the slot of the queue: its number in the context.
    ///
    /// # Errors
    /// Returns `DeviceLost` if the queue was made on a lost device.
    pub(crate) fn slot(&self) -> Result<Slot> {
        self.inner.slot.clone()
    }

    /// Returns the options of the queue. The priority is a hint, and interrupts no running work. `timing` is `false` on
    /// an adapter without timestamps, even if times were requested.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let like_it = ctx.queue_with(queue.options().clone().label("another"));
    /// assert_eq!(like_it.options().priority, queue.options().priority);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn options(&self) -> &QueueOptions {
        &self.inner.options
    }

    pub(crate) fn label(&self) -> &str {
        &self.inner.options.label
    }

    /// *Returns* the event of everything enqueued so far. The call submits nothing and cannot fail: if the work has
    /// failed, a wait for the event returns the error.
    ///
    /// For an event made in a capture, [`Replay::event_of`](crate::Replay::event_of) returns the corresponding event of
    /// a replay.
    ///
    /// The call enqueues nothing, with one exception: on a timed queue whose work is complete, it enqueues a read of
    /// the device's clock for [`Event::seconds_since`]. The event does not wait for that read.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// queue.fill(&mut x, 1)?;
    /// let filled = queue.marker();
    /// queue.fill(&mut x, 2)?;            // not covered
    /// filled.wait()?;
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn marker(&self) -> Event {
        self.marker_with(EventOptions::default())
    }

    /// Returns an event as [`marker`](Self::marker) does, with options. With `timing`, the marker has a time even on an
    /// untimed queue.
    ///
    /// # Example
    /// ```
    /// use fencepost::EventOptions;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let timed = EventOptions::default().timing(true);
    /// let mut x = ctx.zeros::<u32, 1>([1024])?;
    /// let start = queue.marker_with(timed);
    /// queue.fill(&mut x, 7)?;
    /// let end = queue.marker_with(timed);
    /// assert!(!queue.options().timing && end.seconds_since(&start).wait()? > 0.0);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn marker_with(&self, options: EventOptions) -> Event {
        let event = Event::with(self.owner().clone(), Recording::Never, options);
        self.record_into(&event);
        event
    }

    #[track_caller]
    fn record_into(&self, event: &Event) {
        if let Some(captured) = &self.inner.captured {
            let at = Location::caller();
            let is_timed = event.wants_time() || self.inner.wants_times;
            let point = if is_timed { captured.timed_point(at) } else { captured.untimed_point(at) };
            return event.set(point.map_or_else(Recording::Failed, Recording::Captured));
        }
        event.set(match self.slot() {
            Err(error) => Recording::Failed(error),
            Ok(slot) => {
                let (point, past, moment) = self.owner().engine().timed_marker(slot, event.wants_time());
                Recording::Point(point, past, moment)
            }
        });
    }

    /// *Returns* a new queue with this one's priority and timing, ordered after everything enqueued so far. Like every
    /// new queue, it comes after the work of all queues of the context, not only of this queue.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = queue.full([4], 1_u32)?;
    /// let side = queue.fork("side");
    /// side.fill(&mut x, 2)?;             // after the first fill
    /// queue.wait_for(&side)?;
    /// assert_eq!(queue.read(&x).wait()?, [2; 4]);
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn fork(&self, label: &str) -> CommandQueue {
        let options = self.options_of_fork(label);
        if let Some(captured) = &self.inner.captured {
            // After the end of the capture, the verbs of both queues return the same error.
            let place = captured.fork(label, Location::caller()).unwrap_or_else(|_| captured.clone());
            return Self::captured_as(options, place);
        }
        CommandQueue::new(self.owner().clone(), options)
    }

    /// Returns the options for a queue with this one's priority and timing.
    fn options_of_fork(&self, label: &str) -> QueueOptions {
        let priority = self.inner.options.priority;
        QueueOptions { label: label.into(), priority, timing: self.inner.wants_times }
    }

    /// Returns a captured queue of the context `owner`, after the commands captured so far on this captured queue.
    pub(crate) fn fork_captured(
        &self,
        place: &CapturedQueue,
        owner: &Owner,
        label: &str,
        at: &'static Location<'static>,
    ) -> Result<CommandQueue> {
        let options = self.options_of_fork(label);
        Ok(Self::captured_as(options, place.fork_on(owner, label, at)?))
    }

    /// *Enqueues* a host callback. It runs on the context's callback thread after everything enqueued before it, and
    /// later commands of the queue wait for it. The thread runs one callback at a time, so a long callback delays those
    /// of other queues. A callback may enqueue commands. If a callback waits for later work of its own queue, the wait
    /// fails with [`ErrorDetail::WouldDeadlock`](crate::ErrorDetail::WouldDeadlock). If a callback panics, the queue
    /// fails.
    ///
    /// A handle of the context in a callback keeps the context alive until the callback has run. If the program ends
    /// before that, the callback does not run, so wait for it before the end.
    ///
    /// # Errors
    /// Returns the queue's own error.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// queue.callback(move || sender.send("done").unwrap())?;
    /// queue.finish().wait()?;
    /// assert_eq!(receiver.recv().unwrap(), "done");
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn callback(&self, f: impl FnOnce() + Send + 'static) -> Result<()> {
        self.not_captured("callback", "a replay calls a function many times: use `Capture::host`")?;
        self.owner().engine().enqueue_callback(
            self.slot()?,
            Callback::new(|| in_callback(f)),
            Location::caller(),
        )
    }

    /// *Starts* the enqueued work, and all other work that it waits for. The call does not block.
    ///
    /// # Errors
    /// Returns the queue's own error.
    #[track_caller]
    pub fn flush(&self) -> Result<()> {
        self.not_captured("flush", NOTHING_RUNS)?;
        self.owner().engine().flush(self.slot()?, Caller::Continues)
    }

    /// *Flushes*; the result comes when everything enqueued so far on this queue is complete. Work of other queues may
    /// still be running then.
    ///
    /// # Errors
    /// The result is the error of the work, or the queue's own error.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = queue.zeros::<f32, 1>([1 << 20])?;
    /// let mut done = queue.finish();
    /// let mut patience = 0;
    /// while done.wait_timeout(std::time::Duration::from_millis(10))?.is_none() {
    ///     patience += 1; // the queue is still busy
    /// }
    /// assert!(queue.marker().is_complete()?);
    /// # drop((ctx, x, patience));
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn finish(&self) -> Pending<()> {
        if let Err(refused) = self.not_captured("finish", NOTHING_RUNS) {
            return Pending::ready(Err(refused));
        }
        let engine = self.owner().engine();
        let late = self.slot().and_then(|slot| {
            let (point, past) = engine.marker(slot);
            engine.flush(slot, Caller::Waits)?;
            Ok(PointLate::new(self.owner().clone(), point, past))
        });
        late_or_error(late)
    }

    /// Takes the queue's error, so that the queue can be used again. The failed work stays undone.
    pub fn take_error(&self) -> Option<Error> {
        let slot = self.slot().ok()?;
        self.owner().engine().take_queue_error(slot)
    }
}

impl Event {
    /// *Records* this event on `queue`: the event now covers everything enqueued so far on the queue. Waits that were
    /// enqueued for the event before this call do not change.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::ForeignContext`](crate::ErrorDetail::ForeignContext) for a queue of another context.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let event = ctx.event();
    /// for value in 0..3_u32 {
    ///     let x = queue.full([16], value)?;
    ///     event.record(&queue)?;         // the same event in each iteration
    ///     ctx.queue("other").wait_for(&event)?;
    ///     # drop(x);
    /// }
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn record(&self, queue: &CommandQueue) -> Result<()> {
        same_context(queue.owner(), &self.owner, || "an event to be recorded".into())?;
        queue.owner().engine().check_device()?;
        queue.record_into(self);
        Ok(())
    }
}

impl fmt::Debug for CommandQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommandQueue `{}`", self.label())
    }
}

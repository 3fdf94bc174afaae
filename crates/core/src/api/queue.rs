//! Command queues.

pub(crate) mod arrays;
mod calls;
pub(crate) mod encode;
pub(crate) mod launch;
pub(crate) mod region_transfer;
pub(crate) mod transfer;
pub(crate) mod tuning;

use crate::api::context::Context;
use crate::api::graph::tape::{CapturedQueue, Tape};
use crate::device::adapter::AdapterInfo;
use crate::error::{Error, ErrorDetail, Result};
use crate::multi::event_wait;
use crate::runtime::event::{Event, EventOptions, Events, PointLate, Recording, same_context};
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
/// assert_eq!(ctx.queue_with(urgent).priority(), Priority::High);
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
    inner: Arc<Inner>,
}

/// A handle that does not keep the queue alive.
#[derive(Clone)]
pub(crate) struct WeakQueue(Weak<Inner>);

struct Inner {
    owner: Owner,
    /// Slot of the queue, or the error of a device that was lost before the queue was made.
    slot: Result<Slot>,
    options: QueueOptions,
    /// `true` if the queue is closed when its last handle is dropped.
    closes: bool,
    /// Place of the queue in its capture, if it is a captured queue. Such a queue has no slot.
    captured: Option<CapturedQueue>,
}

impl Drop for Inner {
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
        Self { inner: Arc::new(Inner { owner, slot, options, closes: true, captured: None }) }
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
        Self { inner: Arc::new(Inner { owner, slot, options, closes: false, captured: None }) }
    }

    /// Makes the first queue of a capture on `queue`.
    pub(crate) fn captured(queue: &CommandQueue, tape: &Arc<Tape>) -> Self {
        let label = queue.label().into();
        let owner = queue.owner().clone();
        let place = CapturedQueue { tape: tape.clone(), index: 0, label, owner };
        Self::captured_as(queue.inner.options.clone(), place)
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
        Self { inner: Arc::new(Inner { owner, slot, options, closes: false, captured: Some(place) }) }
    }

    /// Returns the place of the queue in its capture, if the queue is captured.
    pub(crate) fn captured_queue(&self) -> Option<&CapturedQueue> {
        self.inner.captured.as_ref()
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

    /// Returns the properties of the adapter.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// assert_eq!(queue.info().name, ctx.info().name);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn info(&self) -> &AdapterInfo {
        self.owner().info()
    }

    /// Returns the name of the queue in messages.
    pub fn label(&self) -> &str {
        &self.inner.options.label
    }

    /// Returns the priority of the queue's work, compared with other queues. It is a hint, and does not interrupt
    /// running work.
    pub fn priority(&self) -> Priority {
        self.inner.options.priority
    }

    /// Returns `true` if the queue's commands are timed: the options request it, and the device has timestamps.
    pub fn is_timed(&self) -> bool {
        self.inner.options.timing && self.owner().device().caps().timestamps
    }

    /// *Returns* the event of everything enqueued so far. The call submits nothing and cannot fail; if the work fails,
    /// a wait for the event returns the error.
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
    /// assert!(!queue.is_timed() && end.seconds_since(&start).wait()? > 0.0);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn marker_with(&self, options: EventOptions) -> Event {
        let event = Event::with(self.owner().clone(), Recording::Never, options);
        self.record_into(&event);
        event
    }

    /// *Records* `event`: the event now covers everything enqueued so far. Waits enqueued before this call do not
    /// change.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::ForeignContext`](crate::ErrorDetail::ForeignContext) for an event of another context.
    #[track_caller]
    pub fn record(&self, event: &Event) -> Result<()> {
        same_context(self.owner(), &event.owner, || "an event to be recorded".into())?;
        self.owner().engine().check_device()?;
        self.record_into(event);
        Ok(())
    }

    #[track_caller]
    fn record_into(&self, event: &Event) {
        if let Some(captured) = &self.inner.captured {
            let at = Location::caller();
            let is_timed = event.wants_time() || self.inner.options.timing;
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

    /// *Enqueues* a wait: later work on this queue runs after all of the given events. The call submits nothing. An
    /// empty list enqueues nothing.
    ///
    /// The events may belong to other contexts, on any adapter. The host then holds back this queue until the other
    /// context has reached the event. If both contexts are on one wgpu device, it is enough that the other context has
    /// submitted the work before the event. Other queues are not held up. Waiting for this queue also starts the
    /// awaited work of the other context. If that work fails, this queue fails with
    /// [`ErrorDetail::OtherContext`](crate::ErrorDetail::OtherContext).
    ///
    /// If the last handle of a context is dropped while its work waits for another context, the context ends later, on
    /// a separate thread.
    ///
    /// # Errors
    /// Returns the queue's own error.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (a, b) = (ctx.queue("a"), ctx.queue("b"));
    /// queue.wait_for(&a.marker())?;
    /// queue.wait_for(&[a.marker(), b.marker()])?;
    /// # let (_, elsewhere) = fencepost::doctest();
    /// queue.wait_for(&elsewhere.marker())?;      // a queue of another context
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn wait_for(&self, events: &(impl Events + ?Sized)) -> Result<()> {
        let at = Location::caller();
        if let Some(captured) = &self.inner.captured {
            return events.for_each(&mut |event| captured_wait(captured, self.label(), event, at));
        }
        let slot = self.slot()?;
        let engine = self.owner().engine();
        events.for_each(&mut |event| {
            if !event.owner.is(self.owner()) {
                return event_wait::wait(engine, slot, event, at);
            }
            match event.recording() {
                Recording::Never => Ok(()),
                Recording::Point(point, past, _) => engine.enqueue_wait(slot, point, &past.clock, at),
                Recording::User(event) => engine.enqueue_user_wait(slot, event, at),
                Recording::Captured(point) => Err(point.refuse("wait_for", at)),
                Recording::Failed(error) => Err(error),
            }
        })
    }

    /// *Enqueues* a wait for everything enqueued so far on another queue, of this context or another.
    ///
    /// # Errors
    /// Returns the errors of [`wait_for`](Self::wait_for).
    #[track_caller]
    pub fn wait_for_queue(&self, other: &CommandQueue) -> Result<()> {
        if let Some(captured) = &other.inner.captured {
            // A join needs no time, even on a timed queue.
            let point = captured.point("wait_for_queue", Location::caller());
            let end = point.map_or_else(Recording::Failed, Recording::Captured);
            return self.wait_for(&Event::new(other.owner().clone(), end));
        }
        self.wait_for(&other.marker())
    }

    /// *Returns* a new queue with this queue's priority and timing. Like every new queue, it comes after everything
    /// enqueued so far on all queues of the context, not only on this one.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = queue.full([4], 1_u32)?;
    /// let side = queue.fork("side");
    /// side.fill(&mut x, 2)?;             // after the first fill
    /// queue.wait_for_queue(&side)?;
    /// assert_eq!(queue.read(&x).wait()?, [2; 4]);
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn fork(&self, label: &str) -> CommandQueue {
        let options = QueueOptions { label: label.into(), ..self.inner.options.clone() };
        if let Some(captured) = &self.inner.captured {
            // After the end of the capture, the verbs of both queues return the same error.
            let place = captured.fork(label, Location::caller()).unwrap_or_else(|_| captured.clone());
            return Self::captured_as(options, place);
        }
        CommandQueue::new(self.owner().clone(), options)
    }

    /// Returns a captured queue of the context `owner` that comes after all commands captured so far on this queue.
    pub(crate) fn fork_captured(
        &self,
        place: &CapturedQueue,
        owner: &Owner,
        label: &str,
        at: &'static Location<'static>,
    ) -> Result<CommandQueue> {
        let options = QueueOptions { label: label.into(), ..self.inner.options.clone() };
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
        self.owner().engine().enqueue_callback(self.slot()?, Callback::new(f), Location::caller())
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
    /// assert!(queue.is_complete()?);
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

    /// Returns `true` if everything enqueued so far is complete. The call flushes but never waits, so a program can
    /// poll with it.
    ///
    /// # Errors
    /// Returns the error of the work, or the queue's own error.
    #[track_caller]
    pub fn is_complete(&self) -> Result<bool> {
        self.not_captured("is_complete", NOTHING_RUNS)?;
        let (point, past) = self.owner().engine().marker(self.slot()?);
        self.owner().engine().is_complete(point, &past.clock)
    }

    /// Takes the queue's error, so that the queue can be used again. The failed work is not repeated.
    pub fn take_error(&self) -> Option<Error> {
        let slot = self.slot().ok()?;
        self.owner().engine().take_queue_error(slot)
    }
}

impl fmt::Debug for CommandQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommandQueue `{}`", self.label())
    }
}

/// Orders a captured queue after an event of the same capture.
fn captured_wait(
    captured: &CapturedQueue,
    queue: &str,
    event: &Event,
    at: &'static Location<'static>,
) -> Result<()> {
    match event.recording() {
        Recording::Never => Ok(()),
        Recording::Captured(point) if point.tape == captured.tape.id => captured.wait(&point, at),
        Recording::Failed(error) => Err(error),
        Recording::Captured(_) => {
            let remedy = "the event is a marker of another capture or of another body; the commands after a replay, a \
                          condition or a loop come after all of it without a wait";
            Err(captured.refuse("wait_for", queue, at, remedy))
        }
        Recording::Point(..) | Recording::User(_) => {
            let remedy = "the event is not part of the capture: let the queue wait for it before the replay";
            Err(captured.refuse("wait_for", queue, at, remedy))
        }
    }
}

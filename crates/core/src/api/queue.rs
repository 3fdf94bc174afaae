//! Command queues: what programs enqueue on.

pub(crate) mod encode;
pub(crate) mod launch;
pub(crate) mod one_element;
pub(crate) mod queue_arrays;
pub(crate) mod region_transfer;
pub(crate) mod transfer;
pub(crate) mod tuning;

use crate::error::{Error, Result};
use crate::runtime::event::{Event, EventOptions, Events, Recording, same_context};
use crate::runtime::owner::Owner;
use crate::runtime::pending::{Pending, PointLate};
use crate::scheduler::priority::Priority;
use fencepost_sync::Slot;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Weak};

/// How a queue is made.
///
/// # Example
/// ```
/// # let (ctx, _) = fencepost::doctest();
/// use fencepost::{Priority, QueueOptions};
/// let urgent = QueueOptions { label: "urgent".into(), priority: Priority::High, ..QueueOptions::default() };
/// assert_eq!(ctx.queue_with(urgent).priority(), Priority::High);
/// ```
#[derive(Clone, Debug)]
pub struct QueueOptions {
    /// What messages call it.
    pub label: String,
    /// How soon its work should run, compared with other queues.
    pub priority: Priority,
    /// Whether its commands are timed, so that [`Event::seconds_since`] has an answer for its events. A timed command
    /// costs more; without, times cost nothing.
    pub timing: bool,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self { label: "queue".into(), priority: Priority::Normal, timing: false }
    }
}

/// An in-order command queue. A cheap handle; several threads may use one, each command whole.
///
/// Verbs enqueue and return: nothing but a `wait` blocks. What nobody asks for starts by itself within about a
/// millisecond, [`flush`](Self::flush) starts it now. Commands of one queue run in the order of enqueueing; two
/// queues are ordered by events, waits and the context's [`Policy`](crate::Policy). Dropping the last handle
/// flushes it and loses nothing.
///
/// A failure while work is submitted becomes the queue's error: every later verb returns it until
/// [`take_error`](Self::take_error).
#[derive(Clone)]
pub struct CommandQueue {
    inner: Arc<Inner>,
}

/// A queue that is not kept for it.
#[derive(Clone)]
pub(crate) struct WeakQueue(Weak<Inner>);

struct Inner {
    owner: Owner,
    slot: Result<Slot>,
    options: QueueOptions,
    /// Whether the queue ends with its last handle.
    closes: bool,
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
    pub(crate) fn new(owner: Owner, slot: Result<Slot>, options: QueueOptions) -> Self {
        Self { inner: Arc::new(Inner { owner, slot, options, closes: true }) }
    }

    /// A handle of the context's default queue.
    pub(crate) fn shared(owner: Owner, slot: Result<Slot>, options: QueueOptions) -> Self {
        Self { inner: Arc::new(Inner { owner, slot, options, closes: false }) }
    }

    pub(crate) fn downgrade(&self) -> WeakQueue {
        WeakQueue(Arc::downgrade(&self.inner))
    }

    pub(crate) fn owner(&self) -> &Owner {
        &self.inner.owner
    }

    /// Its slot.
    ///
    /// # Errors
    /// `DeviceLost` if the queue was made on a lost device.
    pub(crate) fn slot(&self) -> Result<Slot> {
        self.inner.slot.clone()
    }

    /// What messages call it.
    pub fn label(&self) -> &str {
        &self.inner.options.label
    }

    /// How soon its work should run, compared with other queues. A hint: it cannot interrupt what runs.
    pub fn priority(&self) -> Priority {
        self.inner.options.priority
    }

    /// Whether its commands are timed: that was asked for, and the device has a clock for it.
    pub fn is_timed(&self) -> bool {
        self.inner.options.timing && self.owner().device().caps().timestamps
    }

    /// Returns the event of everything enqueued so far. Enqueues nothing, submits nothing and cannot fail: if the
    /// work has failed, waiting for the event says so. On a timed queue that has nothing left to do it enqueues a look at
    /// the clock, for [`Event::seconds_since`]; the event itself does not wait for that.
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
    pub fn marker(&self) -> Event {
        self.marker_with(EventOptions::default())
    }

    /// As [`marker`](Self::marker), with options: a marker with `timing` has a time on any queue.
    ///
    /// # Example
    /// ```
    /// use fencepost::EventOptions;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let timed = EventOptions { timing: true };
    /// let mut x = ctx.zeros::<u32, 1>([1024])?;
    /// let start = queue.marker_with(timed);
    /// queue.fill(&mut x, 7)?;
    /// let end = queue.marker_with(timed);
    /// assert!(!queue.is_timed() && end.seconds_since(&start).wait()? > 0.0);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn marker_with(&self, options: EventOptions) -> Event {
        let event = Event::with(self.owner().clone(), Recording::Never, options);
        self.record_into(&event);
        event
    }

    /// Returns nothing, and makes `event` stand for everything enqueued so far. Earlier waits for it stay where
    /// they are.
    ///
    /// # Errors
    /// [`Kind::ForeignContext`](crate::Kind::ForeignContext) for an event of another context.
    pub fn record(&self, event: &Event) -> Result<()> {
        same_context(self.owner(), &event.owner, || "an event to be recorded".into())?;
        self.record_into(event);
        Ok(())
    }

    fn record_into(&self, event: &Event) {
        event.set(match self.slot() {
            Err(error) => Recording::Failed(error),
            Ok(slot) => {
                let (point, past, moment) = self.owner().engine().timed_marker(slot, event.wants_time());
                Recording::Point(point, past, moment)
            }
        });
    }

    /// *Enqueues* a wait: what is enqueued here later runs after the event, or after all of several. Submits
    /// nothing; an empty list is nothing.
    ///
    /// The events may be those of another context, on any adapter. Then the work behind the wait is held on the host
    /// until the other context has come there, or, if both are on one wgpu device, has submitted it; no other queue is
    /// held up, and waiting for this queue starts the work over there. If that fails, this queue fails with
    /// [`Kind::OtherContext`](crate::Kind::OtherContext). A context
    /// whose last handle goes while its work waits for another one ends later, on a thread of its own.
    ///
    /// # Errors
    /// The queue's own error.
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
        let (slot, engine, at) = (self.slot()?, self.owner().engine(), Location::caller());
        events.for_each(&mut |event| {
            if !event.owner.is(self.owner()) {
                return crate::multi::event_wait::wait(engine, slot, event, at);
            }
            match event.recording() {
                Recording::Never => Ok(()),
                Recording::Point(point, past, _) => engine.enqueue_wait(slot, point, &past.clock, at),
                Recording::User(event) => engine.enqueue_user_wait(slot, event, at),
                Recording::Failed(error) => Err(error),
            }
        })
    }

    /// *Enqueues* a wait for everything enqueued so far on another queue, of this context or another.
    ///
    /// # Errors
    /// As [`wait_for`](Self::wait_for).
    #[track_caller]
    pub fn wait_for_queue(&self, other: &CommandQueue) -> Result<()> {
        self.wait_for(&other.marker())
    }

    /// Returns a new queue, ordered after everything enqueued so far, with this one's priority and timing. As every new queue,
    /// it comes after the work of all queues of the context, not only after this one's.
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
        let slot = self.owner().engine().new_queue(label, options.priority, options.timing);
        CommandQueue::new(self.owner().clone(), slot, options)
    }

    /// *Enqueues* a host function: it runs on the context's callback thread after everything before it, and what
    /// comes later waits for it. It may enqueue; a wait in it for something behind it is
    /// [`Kind::WouldDeadlock`](crate::Kind::WouldDeadlock). If it panics, the queue fails.
    ///
    /// A handle of the context in it keeps the context going until it has run: a program that ends meanwhile loses
    /// it, so wait for it.
    ///
    /// # Errors
    /// The queue's own error.
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
        self.owner().engine().enqueue_callback(self.slot()?, Box::new(f), Location::caller())
    }

    /// *Starts* enqueued work, with all that it waits for, and returns.
    ///
    /// # Errors
    /// The queue's own error.
    pub fn flush(&self) -> Result<()> {
        self.owner().engine().flush(self.slot()?)
    }

    /// *Flushes*; the result comes when everything enqueued so far on this queue is done. Other queues may go on.
    ///
    /// # Errors
    /// The error of the work, the queue's own error: both when the result is asked for.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = queue.zeros::<f32, 1>([1 << 20])?;
    /// let mut done = queue.finish();
    /// let mut patience = 0;
    /// while done.wait_timeout(std::time::Duration::from_millis(10))?.is_none() {
    ///     patience += 1; // still at it
    /// }
    /// assert!(queue.is_complete()?);
    /// # drop((ctx, x, patience));
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn finish(&self) -> Pending<()> {
        let engine = self.owner().engine();
        let late = self.slot().and_then(|slot| {
            let (point, past) = engine.marker(slot);
            engine.flush_before_wait(slot)?;
            Ok(PointLate::new(self.owner().clone(), point, past))
        });
        late.map_or_else(|error| Pending::ready(Err(error)), Pending::late)
    }

    /// Whether everything enqueued so far is done. Flushes first, so that asking again and again ends; never waits.
    ///
    /// # Errors
    /// The error of the work; the queue's own error.
    pub fn is_complete(&self) -> Result<bool> {
        let (point, past) = self.owner().engine().marker(self.slot()?);
        self.owner().engine().is_complete(point, &past.clock)
    }

    /// Takes the queue's error away: it can be used again. What failed stays undone.
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

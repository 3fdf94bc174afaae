//! Waits of a queue for events and for other queues.

use crate::api::graph::capture::Capture;
use crate::api::graph::tape::CapturedQueue;
use crate::api::queue::CommandQueue;
use crate::error::Result;
use crate::multi::event_wait;
use crate::runtime::event::{Event, Recording, UserEvent};
use std::panic::Location;

/// The work that [`CommandQueue::wait_for`] waits for: an [`Event`], a [`UserEvent`], a [`CommandQueue`], or a list of
/// one of these.
#[diagnostic::on_unimplemented(
    message = "a queue cannot wait for `{Self}`",
    label = "neither an event nor a queue",
    note = "`wait_for` takes a reference to an `Event`, a `UserEvent`, a `CommandQueue`, or a list of one of these",
    note = "for everything enqueued so far on a queue, pass `&queue` or `&queue.marker()`"
)]
pub trait WaitFor: sealed::Awaited {}

mod sealed {
    use crate::error::Result;
    use crate::runtime::event::Event;
    use std::panic::Location;

    pub trait Awaited {
        /// Calls `each` for every event until a call fails. `at` is the line of the wait.
        fn for_each(
            &self,
            at: &'static Location<'static>,
            each: &mut dyn FnMut(&Event) -> Result<()>,
        ) -> Result<()>;
    }
}

/// Line of a wait.
type WaitCallSite = &'static Location<'static>;

impl WaitFor for Event {}
impl sealed::Awaited for Event {
    fn for_each(&self, _: WaitCallSite, each: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()> {
        each(self)
    }
}

impl WaitFor for UserEvent {}
impl sealed::Awaited for UserEvent {
    fn for_each(&self, _: WaitCallSite, each: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()> {
        each(&self.event())
    }
}

impl WaitFor for CommandQueue {}
impl sealed::Awaited for CommandQueue {
    fn for_each(&self, at: WaitCallSite, each: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()> {
        let Some(captured) = self.captured_queue() else { return each(&self.marker()) };
        // A join needs no time, even on a timed queue.
        let point = captured.point("wait_for", at);
        let end = point.map_or_else(Recording::Failed, Recording::Captured);
        each(&Event::new(self.owner().clone(), end))
    }
}

impl WaitFor for Capture {}
impl sealed::Awaited for Capture {
    fn for_each(&self, at: WaitCallSite, each: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()> {
        CommandQueue::for_each(self, at, each)
    }
}

impl<W: WaitFor> WaitFor for [W] {}
impl<W: WaitFor> sealed::Awaited for [W] {
    fn for_each(&self, at: WaitCallSite, each: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()> {
        self.iter().try_for_each(|one| one.for_each(at, each))
    }
}

impl<W: WaitFor, const N: usize> WaitFor for [W; N] {}
impl<W: WaitFor, const N: usize> sealed::Awaited for [W; N] {
    fn for_each(&self, at: WaitCallSite, each: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()> {
        self.as_slice().for_each(at, each)
    }
}

impl<W: WaitFor> WaitFor for Vec<W> {}
impl<W: WaitFor> sealed::Awaited for Vec<W> {
    fn for_each(&self, at: WaitCallSite, each: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()> {
        self.as_slice().for_each(at, each)
    }
}

impl<W: WaitFor + ?Sized> WaitFor for &W {}
impl<W: WaitFor + ?Sized> sealed::Awaited for &W {
    fn for_each(&self, at: WaitCallSite, each: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()> {
        (**self).for_each(at, each)
    }
}

impl CommandQueue {
    /// *Enqueues* a wait: later work on this queue runs after an event, after everything enqueued so far on another
    /// queue, or after all of several events or queues. The call submits nothing. An empty list enqueues nothing.
    ///
    /// The events and queues may belong to another context, on any adapter. The host then holds the work after the wait
    /// until the other context has reached the event. If both contexts are on one wgpu device, the host holds the work
    /// only until the other context has submitted the work before the event. No other queue is held up, and a wait for
    /// this queue starts the work of the other context. If that work fails, this queue fails with
    /// [`ErrorDetail::OtherContext`](crate::ErrorDetail::OtherContext).
    ///
    /// If the last handle of a context is dropped while its work waits for another context, the context ends later, on
    /// a thread of its own.
    ///
    /// # Errors
    /// Returns the queue's own error.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (a, b) = (ctx.queue("a"), ctx.queue("b"));
    /// queue.wait_for(&a.marker())?;
    /// queue.wait_for(&b)?;                       // a marker and a wait in one call
    /// queue.wait_for(&[a.marker(), b.marker()])?;
    /// # let (_, elsewhere) = fencepost::doctest();
    /// queue.wait_for(&elsewhere)?;               // a queue of another context
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn wait_for(&self, earlier: &(impl WaitFor + ?Sized)) -> Result<()> {
        let at = Location::caller();
        if let Some(captured) = self.captured_queue() {
            return earlier.for_each(at, &mut |event| captured_wait(captured, self.label(), event, at));
        }
        let slot = self.slot()?;
        let engine = self.owner().engine();
        earlier.for_each(at, &mut |event| {
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
}

/// Orders a captured queue after an event of the same capture.
fn captured_wait(captured: &CapturedQueue, queue: &str, event: &Event, at: WaitCallSite) -> Result<()> {
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

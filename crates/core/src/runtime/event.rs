//! Events: points in the work of a queue, and user events, which the program signals.
//!
//! The end of an event is a late result, which a `Pending` returns: a value that exists only after earlier work is
//! complete.

use crate::error::{Error, ErrorDetail, Result};
use crate::runtime::captured::CapturedPoint;
use crate::runtime::owner::Owner;
use crate::runtime::pending::{LateSteps, Pending, WaitMode, WakerRegistration, late};
use crate::scheduler::complete::PointHistory;
use crate::scheduler::relay::{SignalledBy, Signaller, UserSignal};
use crate::scheduler::times::PointTime;
use crate::scheduler::wait::WaitTarget;
use fencepost_sync::Point;
use fencepost_sync::prim::{Mutex, lock};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A point in the work of a queue, or a signal of the program. Queues and the host can wait for an event.
///
/// [`record`](Self::record) puts an event at the end of a queue; this is a recording.
/// [`CommandQueue::marker`](crate::CommandQueue::marker) returns an event with a recording, and
/// [`Context::event`](crate::Context::event) an event without one, which counts as complete. A wait refers to the
/// recording at the time of the call, and is not affected by later recordings. So one event can be reused in each
/// iteration of a loop. Clones share their recording.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// let x = queue.array(&[1.0_f32; 16])?;
/// let uploaded = queue.marker();
/// let other = ctx.queue("other");
/// other.wait_for(&uploaded)?;           // the device waits, this thread does not
/// uploaded.wait()?;                     // now this thread does
/// # drop(x);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone)]
pub struct Event {
    pub(crate) owner: Owner,
    recording: Arc<Mutex<Recording>>,
    options: EventOptions,
}

/// Options of an event, for [`Context::event_with`](crate::Context::event_with) and
/// [`CommandQueue::marker_with`](crate::CommandQueue::marker_with).
///
/// # Example
/// ```
/// use fencepost::EventOptions;
/// # let (ctx, queue) = fencepost::doctest();
/// let timed = EventOptions::default().timing(true);
/// let (start, end) = (ctx.event_with(timed), ctx.event_with(timed));
/// let mut x = ctx.zeros::<u32, 1>([1024])?;
/// start.record(&queue)?;
/// queue.fill(&mut x, 7)?;
/// end.record(&queue)?;
/// assert!(end.seconds_since(&start).wait()? > 0.0);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventOptions {
    /// `true` if the device reads its clock at each recording, so that [`Event::seconds_since`] works even on untimed
    /// queues.
    pub timing: bool,
}

impl EventOptions {
    /// With `true`, makes the device read its clock at each recording.
    #[must_use]
    pub fn timing(mut self, timing: bool) -> Self {
        self.timing = timing;
        self
    }
}

/// Current recording of an event.
#[derive(Clone, Default)]
pub(crate) enum Recording {
    #[default]
    Never,
    /// A point of a queue, its history with the clock and the failures, and its time if the recording is timed.
    Point(Point, Arc<PointHistory>, Option<Arc<PointTime>>),
    /// A signal of the program.
    User(Arc<UserSignal>),
    /// A point of a capture, which the host cannot wait for.
    Captured(CapturedPoint),
    /// A point of a queue that could not be made.
    Failed(Error),
}

impl Event {
    pub(crate) fn new(owner: Owner, recording: Recording) -> Self {
        Self::with(owner, recording, EventOptions::default())
    }

    pub(crate) fn with(owner: Owner, recording: Recording, options: EventOptions) -> Self {
        Self { owner, recording: Arc::new(Mutex::new(recording)), options }
    }

    /// Returns `true` if each recording stores a time, even on an untimed queue.
    pub(crate) fn wants_time(&self) -> bool {
        self.options.timing
    }

    /// Returns the present recording. Refuses in a child of fork(2), because a thread of the parent may have held the
    /// lock.
    pub(crate) fn recording(&self) -> Recording {
        let engine = self.owner.engine();
        if engine.is_in_child() { Recording::Failed(engine.forked()) } else { lock(&self.recording).clone() }
    }

    pub(crate) fn set(&self, recording: Recording) {
        if !self.owner.engine().is_in_child() {
            *lock(&self.recording) = recording;
        }
    }

    /// Blocks until this event is complete: until the work before its point is complete, or the program has signalled
    /// it. Flushes only the work that the event needs.
    ///
    /// # Errors
    /// Returns the error of the work; [`ErrorDetail::DeviceLost`]; [`ErrorDetail::Abandoned`] for a user event whose
    /// last handle was dropped without a signal; [`ErrorDetail::WouldDeadlock`] in a host callback.
    #[track_caller]
    pub fn wait(&self) -> Result<()> {
        self.end(late, "Event::wait", Location::caller()).wait()
    }

    /// Returns the completion of the event, to be awaited on any executor or waited for with a timeout.
    ///
    /// # Errors
    /// Returns the errors of [`wait`](Self::wait).
    #[track_caller]
    pub fn done(&self) -> Pending<()> {
        self.end(late, "Event::done", Location::caller())
    }

    /// Returns `true` if this event is complete. Flushes the work before the event but never blocks, so a program can
    /// poll with it.
    ///
    /// # Errors
    /// Returns the errors of [`wait`](Self::wait).
    #[track_caller]
    pub fn is_complete(&self) -> Result<bool> {
        match self.recording() {
            Recording::Captured(point) => Err(point.refuse("Event::is_complete", Location::caller())),
            Recording::Never => Ok(true),
            Recording::Point(point, past, _) => self.owner.engine().is_complete(point, &past.clock),
            Recording::User(user) => self.owner.engine().is_signalled(&user),
            Recording::Failed(error) => Err(error),
        }
    }

    /// Returns the submission of the event: the result comes when everything before the event's point has been
    /// submitted to the driver, even if the device has not executed it. A program needs this moment to present a frame,
    /// or to submit commands of its own after those of a queue: `queue.marker().submitted()` covers everything enqueued
    /// so far.
    ///
    /// A wait flushes the work that the event needs, as [`wait`](Self::wait) does. Work that a user event, a callback,
    /// another context, a guard of a pinned array or the compilation of a verb's kernels holds back is submitted only
    /// afterwards, and a loop with [`Bound::Chunked`](crate::Bound::Chunked) only with its last chunk. While two batches
    /// are on the device, a third stays on the host, so the wait may last until one of them ends. GL executes work
    /// inside the submission, so there the work is over too. A user event needs no submission: the result comes with its
    /// signal.
    ///
    /// The result does not show that the work is complete, so it orders nothing for
    /// [`Policy::Checked`](crate::Policy::Checked).
    ///
    /// # Errors
    /// Returns the error of the work if it has failed by then, and the other errors of [`wait`](Self::wait).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 1>([1024])?;
    /// queue.fill(&mut x, 7)?;
    /// queue.marker().submitted().wait()?;    // the driver has the fill; the device may still execute it
    /// assert_eq!(queue.read(&x).wait()?, [7; 1024]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn submitted(&self) -> Pending<()> {
        let submission = |point| late(SubmissionLate(point));
        self.end(submission, "Event::submitted", Location::caller())
    }

    /// Returns the end of the event. `of_point` makes the result for a point of a queue. `call` is the name of the
    /// program's call.
    fn end(
        &self,
        of_point: impl FnOnce(PointLate) -> Pending<()>,
        call: &'static str,
        at: &'static Location<'static>,
    ) -> Pending<()> {
        let owner = self.owner.clone();
        match self.recording() {
            Recording::Captured(point) => Pending::ready(Err(point.refuse(call, at))),
            Recording::Never => Pending::ready(Ok(())),
            Recording::Point(point, past, _) => of_point(PointLate::new(owner, point, past)),
            Recording::User(event) => late(UserLate::new(owner, event)),
            Recording::Failed(error) => Pending::ready(Err(error)),
        }
    }
}

impl IntoFuture for Event {
    type Output = Result<()>;
    type IntoFuture = Pending<()>;

    #[track_caller]
    fn into_future(self) -> Pending<()> {
        self.end(late, "await", Location::caller())
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.recording() {
            Recording::Never => f.write_str("Event(never recorded)"),
            Recording::Point(point, ..) => write!(f, "Event(queue {}, stamp {})", point.slot.0, point.stamp),
            Recording::User(user) => write!(f, "Event(user `{}`)", user.label()),
            Recording::Captured(_) => f.write_str("Event(captured)"),
            Recording::Failed(error) => write!(f, "Event(failed: {error})"),
        }
    }
}

/// Returns an error that names `object` if `owner` and `other` are handles of different contexts.
#[inline]
pub(crate) fn same_context(owner: &Owner, other: &Owner, object: impl FnOnce() -> String) -> Result<()> {
    if owner.is(other) { Ok(()) } else { foreign(object) }
}

#[cold]
fn foreign(object: impl FnOnce() -> String) -> Result<()> {
    Err(ErrorDetail::ForeignContext { subject: String::new(), arg: String::new(), object: object() }.into())
}

/// A late result that completes at a point of a queue.
pub(crate) struct PointLate {
    registration: WakerRegistration,
    pub(crate) owner: Owner,
    pub(crate) point: Point,
    past: Arc<PointHistory>,
}

impl PointLate {
    pub(crate) fn new(owner: Owner, point: Point, past: Arc<PointHistory>) -> Self {
        Self { registration: WakerRegistration::default(), owner, point, past }
    }

    /// Waits as [`LateSteps::advance`] does, but without a report to the host clock.
    pub(crate) fn advance_unreported(&mut self, mode: &WaitMode<'_>) -> Option<Result<()>> {
        mode.for_point(self.owner.engine(), self.point, &mut self.registration)
    }

    /// Reports to the host clock that the program receives `answer`. That clock covers the work that the program knows
    /// to be complete.
    pub(crate) fn report_done(&self, answer: &Result<()>) {
        self.owner.engine().report_done(self.point, &self.past.clock, answer);
    }
}

impl LateSteps<()> for PointLate {
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<()>> {
        let answer = self.advance_unreported(mode)?;
        self.report_done(&answer);
        Some(answer)
    }
}

impl Drop for PointLate {
    /// Notifies the threads that have work. The completer leaves the fence of a lane to a waiting caller. This caller
    /// stops waiting, so the completer must wait instead.
    fn drop(&mut self) {
        self.owner.engine().notify_due_threads();
    }
}

/// A late result that completes when everything up to a point of a queue is submitted.
struct SubmissionLate(PointLate);

impl LateSteps<()> for SubmissionLate {
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<()>> {
        let PointLate { registration, owner, point, .. } = &mut self.0;
        mode.for_submission(owner.engine(), *point, registration)
    }
}

/// A late result that completes when a user event is signalled or abandoned.
pub(crate) struct UserLate {
    registration: WakerRegistration,
    owner: Owner,
    event: Arc<UserSignal>,
}

impl UserLate {
    pub(crate) fn new(owner: Owner, event: Arc<UserSignal>) -> Self {
        Self { registration: WakerRegistration::default(), owner, event }
    }
}

impl LateSteps<()> for UserLate {
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<()>> {
        mode.for_target(self.owner.engine(), WaitTarget::User(&self.event), &mut self.registration)
    }
}

/// An event that the program signals by hand. Work that waits for the event is held on the host until the signal, while
/// other queues continue.
///
/// Clones signal the same event. If the last clone is dropped without a signal, the event completes with
/// [`ErrorDetail::Abandoned`](crate::ErrorDetail::Abandoned), and the queues that wait for it fail with that error.
/// Like every handle, a user event keeps its context alive. So if the last clone is owned by a callback that runs only
/// after the event, the event is never signalled and the context never ends.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// let gate = ctx.user_event("gate");
/// queue.wait_for(&gate)?;
/// let x = queue.zeros::<u32, 1>([16])?;
/// queue.flush()?;                        // nothing starts yet
/// gate.signal();
/// assert_eq!(queue.read(&x).wait()?, [0; 16]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone)]
pub struct UserEvent {
    /// Must be dropped before `event`, to abandon an unsignalled event first: dropping `event` may end the context,
    /// which waits for the queues that wait for the event.
    signaller: Arc<Signaller>,
    event: Event,
}

impl UserEvent {
    pub(crate) fn new(owner: Owner, label: &str) -> Self {
        let signaller = Signaller::new(owner.engine(), label, SignalledBy::Program);
        let event = Event::new(owner, Recording::User(signaller.state().clone()));
        Self { signaller: Arc::new(signaller), event }
    }

    /// Returns the event to wait for.
    pub fn event(&self) -> Event {
        self.event.clone()
    }

    /// Completes the event. Further signals have no effect.
    pub fn signal(&self) {
        self.signaller.signal();
    }
}

#[cfg(test)]
mod tests {
    use crate::api::context::Context;
    use crate::error::ErrorDetail;
    use crate::memory::uses::Policy;
    use crate::record::cpu::cpu_recorder::{CpuFaults, SimulatorOptions};
    use std::sync::mpsc;

    #[test]
    fn the_marker_of_a_queue_on_a_lost_device_reports_the_loss() {
        let ctx = crate::api::testing::on_cpu(
            SimulatorOptions::default(),
            CpuFaults { lost_after: Some(0), ..CpuFaults::default() },
            Policy::default(),
        );
        let first = ctx.queue("first");
        let made = first.full::<u32, 1>([4], 7).and_then(|_| first.finish().wait());
        assert!(matches!(made.unwrap_err().detail(), ErrorDetail::DeviceLost { .. }));
        let marker = ctx.queue("late").marker();
        assert!(matches!(marker.is_complete().unwrap_err().detail(), ErrorDetail::DeviceLost { .. }));
        assert!(matches!(marker.wait().unwrap_err().detail(), ErrorDetail::DeviceLost { .. }));
    }

    #[test]
    fn a_user_event_as_last_handle_is_abandoned_before_its_context_ends() {
        let ctx = Context::simulated(SimulatorOptions { threads: false, ..SimulatorOptions::default() });
        let queue = ctx.queue("gated");
        let gate = ctx.user_event("gate");
        let (ran, runs) = mpsc::channel();
        // The wait after the callback is planned only once the callback has run, so no command waits for the gate yet.
        queue.callback(move || ran.send(()).expect("the test receives")).expect("nothing has failed");
        queue.wait_for(&gate).expect("nothing has failed");
        drop((queue, ctx));
        assert!(runs.try_recv().is_err());
        drop(gate);
        assert!(runs.try_recv().is_ok());
    }
}

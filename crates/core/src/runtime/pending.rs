//! The late results of this crate.

use crate::error::{Error, Result};
use crate::runtime::owner::Owner;
use crate::scheduler::deadline::Deadline;
use crate::scheduler::engine::Engine;
use crate::scheduler::handle_points::PointHistory;
use crate::scheduler::user_signal::UserSignal;
use crate::scheduler::wait_target::WaitTarget;
use fencepost_sync::{Late, Point, TaskWaker};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Holds a result that comes later, for `.wait()`, `.wait_timeout(..)` or `.await` on any executor. A drop of it
/// cancels no work.
pub type Pending<T> = fencepost_sync::Pending<T, Error>;

/// Registers the waker of a late result in a context. The result has one waker there, even if several tasks poll it,
/// and the drop removes the waker.
#[derive(Default)]
pub(crate) struct WakerRegistration {
    task_waker: TaskWaker,
    engine: Weak<Engine>,
}

impl WakerRegistration {
    /// Returns the waker to register with `engine`, always the same one. A call of it wakes `task`.
    pub(crate) fn waker(&mut self, engine: &Arc<Engine>, task: &Waker) -> &Waker {
        if self.task_waker.waker().is_none() {
            self.engine = Arc::downgrade(engine);
        }
        self.task_waker.set(task)
    }
}

impl Drop for WakerRegistration {
    fn drop(&mut self) {
        if let (Some(waker), Some(engine)) = (self.task_waker.waker(), self.engine.upgrade()) {
            engine.forget(waker);
        }
    }
}

/// Completes at a point of a queue.
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

    /// Polls as [`Late::poll`] does, but does not advance the host clock.
    pub(crate) fn poll_unreported(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let engine = self.owner.engine();
        engine
            .poll(self.point, self.registration.waker(engine, cx.waker()))
            .map_or(Poll::Pending, Poll::Ready)
    }

    /// Blocks until the point is complete, but does not advance the host clock. Returns `None` if the deadline comes
    /// first.
    pub(crate) fn wait_unreported(&self, deadline: Deadline) -> Result<Option<()>> {
        self.owner.engine().wait(self.point, deadline).map(|done| done.then_some(()))
    }

    /// Reports `answer` to the program, which advances the host clock.
    pub(crate) fn report_done(&self, answer: &Result<()>) {
        self.owner.engine().report_done(self.point, &self.past.clock, answer);
    }
}

impl Late<(), Error> for PointLate {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let answer = self.poll_unreported(cx);
        if let Poll::Ready(answer) = &answer {
            self.report_done(answer);
        }
        answer
    }

    fn wait(&mut self, limit: Option<Duration>) -> Option<Result<()>> {
        let answer = block(limit, |deadline| self.wait_unreported(deadline));
        if let Some(answer) = &answer {
            self.report_done(answer);
        }
        answer
    }
}

impl Drop for PointLate {
    /// Notifies the threads of the lanes: no waiter polls the point any more, so the completer waits for its fence.
    fn drop(&mut self) {
        self.owner.engine().notify_due_threads();
    }
}

/// Completes when a user event is signalled or abandoned.
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

impl Late<(), Error> for UserLate {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let engine = self.owner.engine();
        engine
            .poll_unflushed(WaitTarget::User(&self.event), self.registration.waker(engine, cx.waker()))
            .map_or(Poll::Pending, Poll::Ready)
    }

    fn wait(&mut self, limit: Option<Duration>) -> Option<Result<()>> {
        block(limit, |deadline| {
            let done = self.owner.engine().wait_for(WaitTarget::User(&self.event), deadline)?;
            Ok(done.then_some(()))
        })
    }
}

/// Completes with the output of any future.
pub(crate) struct FutureLate<F: ?Sized>(pub(crate) Pin<Box<F>>);

impl<T, F> Late<T, Error> for FutureLate<F>
where
    F: Future<Output = Result<T>> + fencepost_sync::MaybeSend + ?Sized,
{
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<T>> {
        self.0.as_mut().poll(cx)
    }

    fn wait(&mut self, limit: Option<Duration>) -> Option<Result<T>> {
        block(limit, |_| pollster::block_on(self.0.as_mut()).map(Some))
    }
}

/// Returns a late result that applies `make` to the result of `pending`.
pub(crate) fn then<T, U>(
    pending: Pending<T>,
    make: impl FnOnce(T) -> Result<U> + fencepost_sync::MaybeSend + 'static,
) -> Pending<U>
where
    T: Unpin + fencepost_sync::MaybeSend + 'static,
{
    Pending::late(Then { pending, make: Some(make) })
}

struct Then<T, F> {
    pending: Pending<T>,
    make: Option<F>,
}

impl<T, F> Then<T, F> {
    fn made<U>(&mut self, result: Result<T>) -> Result<U>
    where
        F: FnOnce(T) -> Result<U>,
    {
        let make = self.make.take().expect("bug: a late result was polled again after it was ready");
        result.and_then(make)
    }
}

impl<T, U, F> Late<U, Error> for Then<T, F>
where
    T: Unpin + fencepost_sync::MaybeSend,
    F: FnOnce(T) -> Result<U> + fencepost_sync::MaybeSend,
{
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<U>> {
        Pin::new(&mut self.pending).poll(cx).map(|result| self.made(result))
    }

    fn wait(&mut self, limit: Option<Duration>) -> Option<Result<U>> {
        let result = self.pending.wait_timeout(limit.unwrap_or(Duration::MAX));
        Some(result.transpose()?).map(|result| self.made(result))
    }
}

/// Checks that this thread may block.
///
/// # Errors
/// Returns `WouldBlock` in the browser.
pub(crate) fn may_block() -> Result<()> {
    if cfg!(target_arch = "wasm32") { Err(fencepost_sync::Error::WouldBlock.into()) } else { Ok(()) }
}

/// Runs `wait`, which blocks until a late result is available, or returns `None` after the deadline. Every blocking
/// wait of the crate begins here.
///
/// # Errors
/// Returns the error of `wait`, or `WouldBlock` in the browser.
pub(crate) fn block<T>(
    limit: Option<Duration>,
    wait: impl FnOnce(Deadline) -> Result<Option<T>>,
) -> Option<Result<T>> {
    may_block().and_then(|()| wait(Deadline::after(limit))).transpose()
}

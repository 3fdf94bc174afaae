//! Pending results with the errors of this crate.
//!
//! A late result is a value that exists only after earlier work is complete, such as the bytes of a read. Instead, the
//! program receives a [`Pending`], which it can poll or block on. The same code serves both.

use crate::error::{Error, Result};
use crate::scheduler::engine::Engine;
use crate::scheduler::wait::WaitTarget;
use crate::scheduler::wakers::Deadline;
use fencepost_sync::{Late, MaybeSend, Point, TaskWaker};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A result that may not exist yet. `.wait()`, `.wait_timeout(..)`, or `.await` on any executor, returns it once it
/// exists. Dropping a `Pending` does not cancel the work.
pub type Pending<T> = fencepost_sync::Pending<T, Error>;

/// The registration of a late result's waker in a context. The waker stays the same when another task polls the result.
/// Dropping the registration removes it from the context. A result that was never polled has no waker.
#[derive(Default)]
pub(crate) struct WakerRegistration(Option<RegisteredWaker>);

struct RegisteredWaker {
    task_waker: TaskWaker,
    engine: Weak<Engine>,
}

impl WakerRegistration {
    /// Returns the waker to register with `engine`, the same one in each call. It wakes the `task` of the latest call.
    pub(crate) fn waker(&mut self, engine: &Arc<Engine>, task: &Waker) -> &Waker {
        let registered = self.0.get_or_insert_with(|| RegisteredWaker {
            task_waker: TaskWaker::default(),
            engine: Arc::downgrade(engine),
        });
        registered.task_waker.set(task)
    }
}

impl Drop for RegisteredWaker {
    fn drop(&mut self) {
        if let (Some(waker), Some(engine)) = (self.task_waker.waker(), self.engine.upgrade()) {
            engine.forget(waker);
        }
    }
}

/// A future as a [`Late`], whose result is the future's output. A blocking wait runs the future to its end, and ignores
/// the time limit.
pub(crate) struct FutureLate<F: ?Sized>(pub(crate) Pin<Box<F>>);

impl<T, F> Late<T, Error> for FutureLate<F>
where
    F: Future<Output = Result<T>> + fencepost_sync::MaybeSend + ?Sized,
{
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<T>> {
        self.0.as_mut().poll(cx)
    }

    fn wait(&mut self, _: Option<Duration>) -> Option<Result<T>> {
        Some(pollster::block_on(self.0.as_mut()))
    }
}

/// Returns a [`Pending`] that applies `make` to the result of `pending`.
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
    /// Applies `make` to the result. A [`Late`] is not polled again after it was ready, so `make` is still there.
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

/// The two ways of waiting for a late result: a poll registers the waker of its task and returns; a blocking call
/// returns at its deadline at the latest. In a browser there are only polls.
pub(crate) enum WaitMode<'a> {
    Poll(&'a Waker),
    Block(Deadline),
}

/// Waits for the result of `advance`, which is [`LateSteps::advance`] of a producer. Returns `None` at the deadline. In a
/// page that may not block, returns `None` if the result does not exist yet.
pub(crate) fn block_on<T>(
    deadline: Deadline,
    mut advance: impl FnMut(&WaitMode<'_>) -> Option<Result<T>>,
) -> Result<Option<T>> {
    #[cfg(not(target_arch = "wasm32"))]
    let result = advance(&WaitMode::Block(deadline));
    #[cfg(target_arch = "wasm32")]
    let result = if deadline.has_passed() {
        advance(&WaitMode::Poll(Waker::noop())) // a single check does not suspend the program
    } else {
        let limit = (!deadline.is_endless()).then(|| deadline.left());
        fencepost_sync::page::wait(limit, |waker| advance(&WaitMode::Poll(waker))).unwrap_or_default()
    };
    result.transpose()
}

/// A producer of a late result. A [`Pending`] calls `advance` for each poll and for each blocking wait, until the
/// result exists.
pub(crate) trait LateSteps<T>: MaybeSend {
    /// Continues the work for the result. Returns `None` if the result does not exist yet. Then a poll has registered
    /// its waker, and a blocking call has reached its deadline.
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<T>>;
}

/// A [`LateSteps`] as a [`Late`], from which a [`Pending`] can be made.
struct Steps<S>(S);

/// Returns a [`Pending`] of the result that `steps` produces.
pub(crate) fn late<T>(steps: impl LateSteps<T> + 'static) -> Pending<T> {
    Pending::late(Steps(steps))
}

/// Returns a [`Pending`] as [`late`] does. If `steps` is an error, it is ready at once with that error.
pub(crate) fn late_or_error<T>(steps: Result<impl LateSteps<T> + 'static>) -> Pending<T> {
    steps.map_or_else(|error| Pending::ready(Err(error)), late)
}

impl<T, S: LateSteps<T>> Late<T, Error> for Steps<S> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<T>> {
        self.0.advance(&WaitMode::Poll(cx.waker())).map_or(Poll::Pending, Poll::Ready)
    }

    fn wait(&mut self, limit: Option<Duration>) -> Option<Result<T>> {
        self.0.advance(&WaitMode::Block(Deadline::after(limit)))
    }
}

impl WaitMode<'_> {
    /// Flushes the work up to a point of a queue, and waits for the point. Returns `None` as [`LateSteps::advance`]
    /// does.
    pub(crate) fn for_point(
        &self,
        engine: &Arc<Engine>,
        point: Point,
        registration: &mut WakerRegistration,
    ) -> Option<Result<()>> {
        match self {
            Self::Poll(task) => engine.poll(point, registration.waker(engine, task)),
            Self::Block(deadline) => reached(engine.wait(point, *deadline)),
        }
    }

    /// Flushes as [`for_point`](Self::for_point) does, and waits until everything up to the point is submitted. Returns
    /// `None` as [`LateSteps::advance`] does.
    pub(crate) fn for_submission(
        &self,
        engine: &Arc<Engine>,
        point: Point,
        registration: &mut WakerRegistration,
    ) -> Option<Result<()>> {
        match self {
            Self::Poll(task) => engine.poll_submission(point, registration.waker(engine, task)),
            Self::Block(deadline) => reached(engine.wait_for(WaitTarget::Submitted(point), *deadline)),
        }
    }

    /// Waits for a batch or a user event. Flushes nothing, because a batch is already planned, and the program signals
    /// a user event. Returns `None` as [`LateSteps::advance`] does.
    pub(crate) fn for_target(
        &self,
        engine: &Arc<Engine>,
        target: WaitTarget<'_>,
        registration: &mut WakerRegistration,
    ) -> Option<Result<()>> {
        match self {
            Self::Poll(task) => engine.poll_unflushed(target, registration.waker(engine, task)),
            Self::Block(deadline) => reached(engine.wait_for(target, *deadline)),
        }
    }
}

/// Converts the result of a blocking wait: `Ok(false)`, which means that the deadline has passed, becomes `None`.
fn reached(result: Result<bool>) -> Option<Result<()>> {
    match result {
        Ok(false) => None,
        result => Some(result.map(|_| ())),
    }
}

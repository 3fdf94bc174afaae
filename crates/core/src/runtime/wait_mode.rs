//! The two ways of waiting for a late result.

use crate::error::{Error, Result};
use crate::runtime::pending::{Pending, WakerRegistration, may_block};
use crate::scheduler::deadline::Deadline;
use crate::scheduler::engine::Engine;
use crate::scheduler::wait_target::WaitTarget;
use fencepost_sync::{Late, MaybeSend, Point};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The way of waiting for a late result: a poll registers the waker of its task, and a blocking call ends at its
/// deadline.
pub(crate) enum WaitMode<'a> {
    Poll(&'a Waker),
    Block(Deadline),
}

/// Supplies a late result, with one function for both ways of waiting.
pub(crate) trait LateSteps<T>: MaybeSend {
    /// Continues the work for the result. Returns `None` if the result is not there yet: the waker is registered, or
    /// the deadline has passed.
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<T>>;
}

struct Steps<S>(S);

/// Returns the pending form of a late result.
pub(crate) fn late<T>(steps: impl LateSteps<T> + 'static) -> Pending<T> {
    Pending::late(Steps(steps))
}

/// Returns the pending form of a late result, or of the error that the call has returned in its place.
pub(crate) fn late_or_error<T>(steps: Result<impl LateSteps<T> + 'static>) -> Pending<T> {
    steps.map_or_else(|error| Pending::ready(Err(error)), late)
}

impl<T, S: LateSteps<T>> Late<T, Error> for Steps<S> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<T>> {
        self.0.advance(&WaitMode::Poll(cx.waker())).map_or(Poll::Pending, Poll::Ready)
    }

    fn wait(&mut self, limit: Option<Duration>) -> Option<Result<T>> {
        match may_block() {
            Ok(()) => self.0.advance(&WaitMode::Block(Deadline::after(limit))),
            Err(error) => Some(Err(error)),
        }
    }
}

impl WaitMode<'_> {
    /// Waits for a point of a queue. Returns `None` as [`LateSteps::advance`] does.
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

    /// Waits for a batch or for an event of the host, as [`for_point`](Self::for_point) does for a point.
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

fn reached(result: Result<bool>) -> Option<Result<()>> {
    match result {
        Ok(false) => None,
        result => Some(result.map(|_| ())),
    }
}

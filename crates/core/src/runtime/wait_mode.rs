//! Waiting for a late result: one implementation serves a poll and a blocking call.
//!
//! A late result is a value that exists only after earlier work is complete, such as the bytes of a read. The program
//! receives a [`Pending`] in its place, which it polls or blocks on.

use crate::error::{Error, Result};
use crate::runtime::pending::{Pending, WakerRegistration, may_block};
use crate::scheduler::deadline::Deadline;
use crate::scheduler::engine::Engine;
use crate::scheduler::wait_target::WaitTarget;
use fencepost_sync::{Late, MaybeSend, Point};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The two ways of waiting for a late result: a poll registers the waker of its task and returns, and a blocking call
/// returns at its deadline at the latest.
pub(crate) enum WaitMode<'a> {
    Poll(&'a Waker),
    Block(Deadline),
}

/// A producer of a late result. A [`Pending`] calls `advance` for each poll and for each blocking wait, until the
/// result exists.
pub(crate) trait LateSteps<T>: MaybeSend {
    /// Continues the work for the result. Returns `None` if the result does not exist yet: then the waker of the poll
    /// is registered, or the deadline of the blocking call has passed.
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<T>>;
}

/// A [`LateSteps`] as a [`Late`], which a [`Pending`] takes.
struct Steps<S>(S);

/// Returns a [`Pending`] of the result that `steps` produces.
pub(crate) fn late<T>(steps: impl LateSteps<T> + 'static) -> Pending<T> {
    Pending::late(Steps(steps))
}

/// Returns a [`Pending`] as [`late`] does, or one that is ready with the error if `steps` is an error.
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
    /// Waits for a point of a queue and flushes the work up to that point. Returns `None` as [`LateSteps::advance`]
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

    /// Waits for a batch or a user event, and flushes nothing: a batch is planned already, and the program signals a
    /// user event. Returns `None` as [`LateSteps::advance`] does.
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

/// Converts the answer of a blocking wait: `Ok(false)` means that the deadline has passed, and becomes `None`.
fn reached(result: Result<bool>) -> Option<Result<()>> {
    match result {
        Ok(false) => None,
        result => Some(result.map(|_| ())),
    }
}

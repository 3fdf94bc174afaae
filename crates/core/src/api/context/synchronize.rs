//! Waits for all queues of a context, or of all contexts.

use crate::api::context::Context;
use crate::error::{Error, Kind, Result};
use crate::runtime::context_registry;
use crate::runtime::owner::Owner;
use crate::runtime::pending::{Pending, WakerRegistration};
use crate::runtime::wait_mode::{LateSteps, WaitMode, late};
use crate::scheduler::deadline::Deadline;
use crate::scheduler::failure_history::PointHistory;
use crate::scheduler::thread_state::is_inside_callback;
use fencepost_sync::Point;
use std::sync::Arc;

impl Context {
    /// Starts the work of all queues, and returns.
    ///
    /// The queues start together. On a device with one hardware queue, the work of different queues can then overlap.
    /// Separate calls of [`flush`](crate::CommandQueue::flush) may start the queues one after the other.
    ///
    /// # Errors
    /// Returns [`Kind::DeviceLost`]. An error of a queue's work stays the error of that queue.
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
    /// The call waits for more than most programs need. Prefer an [event](crate::CommandQueue::marker) to wait for one
    /// point, and [`finish`](crate::CommandQueue::finish) to wait for one queue.
    ///
    /// # Errors
    /// The result is the error of the first queue whose work has failed, in the order in which the queues were made.
    /// The wait still covers all other queues. The result is [`Kind::DeviceLost`] if the device is lost. In a host
    /// callback it is [`Kind::WouldDeadlock`], without a wait.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let other = ctx.queue("other");
    /// let (x, y) = (queue.array(&[1_u32; 64])?, other.array(&[2_u32; 64])?);
    /// ctx.synchronize().wait()?;
    /// assert!(queue.is_complete()? && other.is_complete()?);
    /// # drop((x, y));
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn synchronize(&self) -> Pending<()> {
        all([self.owner.clone()])
    }
}

/// *Flushes* all queues of all contexts of this process; the result comes when everything enqueued so far on any of
/// them is complete.
///
/// The call is meant for the end of a program or of a test. Elsewhere, [`Context::synchronize`],
/// [`CommandQueue::finish`](crate::CommandQueue::finish) or an event is better. The process keeps no context alive for
/// this call, but the result of the call keeps all contexts alive.
///
/// # Errors
/// The result is the error of the first context that has one, in the order in which the contexts were made. The wait
/// still covers all other contexts. Each context has the errors of [`Context::synchronize`].
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// queue.zeros::<u32, 1>([64])?;
/// fencepost::synchronize_all().wait()?;
/// assert!(queue.is_complete()?);
/// # drop(ctx);
/// # Ok::<(), fencepost::Error>(())
/// ```
pub fn synchronize_all() -> Pending<()> {
    all(context_registry::all())
}

fn all(owners: impl IntoIterator<Item = Owner>) -> Pending<()> {
    late(All(owners.into_iter().map(ContextEnds::of).collect()))
}

/// A wait for all queues of some contexts. The host clock, which covers the work that the program was told is complete,
/// advances only after all queues have completed. A wait that is refused or times out does not advance the clock.
struct All(Vec<ContextEnds>);

/// The ends of all queues of a context at the time of the call.
struct ContextEnds {
    registration: WakerRegistration,
    owner: Owner,
    ends: Vec<QueueEnd>,
}

/// A point at the end of a queue, with the result of the wait for the point once this wait is over.
struct QueueEnd {
    point: Point,
    past: Arc<PointHistory>,
    over: Option<Result<()>>,
}

impl ContextEnds {
    fn of(owner: Owner) -> Self {
        let shared = owner.wgpu().is_some_and(|device| device.is_shared());
        let ends = match owner.engine().finish_all(shared) {
            Ok(ends) => ends.into_iter().map(|(point, past)| QueueEnd { point, past, over: None }).collect(),
            Err(lost) => vec![QueueEnd { point: Point::START, past: Arc::default(), over: Some(Err(lost)) }],
        };
        Self { registration: WakerRegistration::default(), owner, ends }
    }
}

impl Drop for ContextEnds {
    /// Notifies the threads: no caller waits for the ends any more, so the completers must wait for them.
    fn drop(&mut self) {
        self.owner.engine().notify_due_threads();
    }
}

impl All {
    /// Returns `true` if the wait may be refused. Every end is then polled before any wait blocks.
    fn may_be_refused(&self) -> bool {
        is_inside_callback() || self.0.iter().any(|ends| ends.owner.engine().is_in_function())
    }

    /// Waits for each end that has no result yet. Returns `None`, as [`LateSteps::advance`] does, if one is missing.
    fn pass(&mut self, mode: &WaitMode<'_>) -> Option<Result<()>> {
        let mut all = true;
        let asks_all = self.may_be_refused();
        for ContextEnds { registration, owner, ends } in &mut self.0 {
            for end in ends.iter_mut().filter(|end| end.over.is_none()) {
                match mode.for_point(owner.engine(), end.point, registration) {
                    Some(Err(error)) if would_deadlock(&error) => return Some(Err(error)),
                    over => end.over = over,
                }
                all &= end.over.is_some();
                // The ends are awaited one after the other, so that a wake-up need not check all of them.
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
                let answer = end.over.take().unwrap_or(Ok(()));
                owner.engine().report_done(end.point, &end.past.clock, &answer);
                first = first.and(answer);
            }
        }
        first
    }
}

impl LateSteps<()> for All {
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<()>> {
        let polled = match mode {
            WaitMode::Poll(_) => None,
            WaitMode::Block(_) if !self.may_be_refused() => None,
            // This pass only polls, so a wait that can never end is refused before any wait blocks.
            WaitMode::Block(_) => self.pass(&WaitMode::Block(Deadline::now())),
        };
        polled.or_else(|| self.pass(mode))
    }
}

fn would_deadlock(error: &Error) -> bool {
    matches!(error.kind(), Kind::WouldDeadlock { .. })
}

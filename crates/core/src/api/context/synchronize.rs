//! Waiting for everything.

use crate::api::context::Context;
use crate::error::{Error, Kind, Result};
use crate::runtime::context_registry;
use crate::runtime::owner::Owner;
use crate::runtime::pending::{Pending, WakerRegistration, may_block};
use crate::scheduler::deadline::Deadline;
use crate::scheduler::handle_points::PointHistory;
use fencepost_sync::{Late, Point};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

impl Context {
    /// Starts the work of all queues, and returns.
    ///
    /// They are started together, so that what one of them does may run beside what another does where the device has
    /// one hardware queue only. One [`flush`](crate::CommandQueue::flush) after the other may start them one after the other.
    ///
    /// # Errors
    /// [`Kind::DeviceLost`]. An error of a queue's work is that queue's.
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

    /// *Flushes* all queues; the result comes when everything enqueued so far on any of them is done.
    ///
    /// On an [adopted](Context::adopt) device that others submit to, it also comes after what they have submitted so far.
    ///
    /// It waits for more than most programs need: prefer an [event](crate::CommandQueue::marker) where one point is meant,
    /// and [`finish`](crate::CommandQueue::finish) where one queue is.
    ///
    /// # Errors
    /// The error of the first queue, in the order in which they were made, whose work has failed; all the others are
    /// waited for nevertheless. [`Kind::DeviceLost`]; in a host callback [`Kind::WouldDeadlock`], and at once.
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

/// *Flushes* all queues of all contexts of this process; the result comes when everything enqueued so far on any of them
/// is done.
///
/// For the end of a program, or of a test: everything else is told better by
/// [`Context::synchronize`], [`CommandQueue::finish`](crate::CommandQueue::finish) or an event. Contexts are not kept going
/// for it, but the result that it gives is a handle of all of them.
///
/// # Errors
/// The error of the first context, in the order in which they were made, that has one; all the others are waited for
/// nevertheless. As [`Context::synchronize`].
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
    Pending::late(All(owners.into_iter().map(Everything::of).collect()))
}

/// All queues of some contexts. The program is told of none before it is told of all, and of none if the wait is refused or
/// has timed out.
struct All(Vec<Everything>);

/// All queues of a context, up to where they are.
struct Everything {
    registration: WakerRegistration,
    owner: Owner,
    ends: Vec<QueueEnd>,
}

struct QueueEnd {
    point: Point,
    past: Arc<PointHistory>,
    over: Option<Result<()>>,
}

impl Everything {
    fn of(owner: Owner) -> Self {
        let shared = owner.wgpu().is_some_and(|device| device.is_shared());
        let ends = match owner.engine().start_all(shared) {
            Ok(ends) => ends.into_iter().map(|(point, past)| QueueEnd { point, past, over: None }).collect(),
            Err(lost) => vec![QueueEnd { point: Point::START, past: Arc::default(), over: Some(Err(lost)) }],
        };
        Self { registration: WakerRegistration::default(), owner, ends }
    }
}

impl Drop for Everything {
    /// Nobody looks for the ends any more: the completers have to.
    fn drop(&mut self) {
        self.owner.engine().notify_due_threads();
    }
}

impl All {
    /// Waits for what is not over; `None` if the deadline came first.
    fn wait_until(&mut self, deadline: Deadline) -> Option<Result<()>> {
        let mut all = true;
        for Everything { owner, ends, .. } in &mut self.0 {
            for end in ends.iter_mut().filter(|end| end.over.is_none()) {
                match owner.engine().wait(end.point, deadline) {
                    Ok(false) => all = false,
                    Err(error) if would_deadlock(&error) => return Some(Err(error)),
                    result => end.over = Some(result.map(|_| ())),
                }
            }
        }
        all.then(|| self.result())
    }

    /// What came of it. Tells the host.
    fn result(&mut self) -> Result<()> {
        let mut first = Ok(());
        for Everything { owner, ends, .. } in &mut self.0 {
            for end in ends {
                let answer = end.over.take().unwrap_or(Ok(()));
                owner.engine().report_done(end.point, &end.past.clock, &answer);
                first = first.and(answer);
            }
        }
        first
    }
}

impl Late<(), Error> for All {
    fn poll(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Result<()>> {
        let mut all = true;
        for Everything { registration, owner, ends } in &mut self.0 {
            let waker = registration.waker(owner.engine(), cx.waker());
            for end in ends.iter_mut().filter(|end| end.over.is_none()) {
                match owner.engine().poll(end.point, waker) {
                    Some(Err(error)) if would_deadlock(&error) => return Poll::Ready(Err(error)),
                    over => end.over = over,
                }
                all &= end.over.is_some();
            }
        }
        if all { Poll::Ready(self.result()) } else { Poll::Pending }
    }

    fn wait(&mut self, limit: Option<Duration>) -> Option<Result<()>> {
        if let Err(error) = may_block() {
            return Some(Err(error));
        }
        let deadline = Deadline::after(limit);
        // A look at all of them first: that one of the waits can never end is said before any of them blocks.
        self.wait_until(Deadline::now()).or_else(|| self.wait_until(deadline))
    }
}

fn would_deadlock(error: &Error) -> bool {
    matches!(error.kind(), Kind::WouldDeadlock { .. })
}

//! The current queue and the current context of a thread.

use crate::api::context::Context;
use crate::api::graph::tape::CapturedQueue;
use crate::api::queue::{CommandQueue, WeakQueue};
use crate::error::{ErrorDetail, Result};
use crate::runtime::owner::{Owner, WeakOwner};
use fencepost_sync::prim::thread_local;
use std::cell::RefCell;
use std::panic::Location;
use std::sync::Arc;

/// Remedy for using an ordinary queue's scope inside a captured queue's scope.
const SCOPE_IN_CAPTURE: &str = "the scope of an ordinary queue inside the scope of a captured queue would execute its commands \
                                once, at the capture: open the scope before the capture, or fork the captured queue";

thread_local! {
    /// Current context and current queues of this thread, held by weak handles.
    static CURRENT: RefCell<Current> = RefCell::default();
}

#[derive(Default)]
struct Current {
    context: Option<WeakOwner>,
    /// At most one queue for each context, with the context's address. While the queue lives, so does its context, so
    /// no other context can have the same address.
    queues: Vec<(usize, WeakQueue)>,
}

/// Options of a queue's scope, for [`CommandQueue::scope_with`].
///
/// # Example
/// ```
/// use fencepost::ScopeOptions;
/// assert!(ScopeOptions::default().wait);
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeOptions {
    /// `true` if, on entry, the queue waits for everything enqueued so far on the previously current queue.
    pub wait: bool,
}

impl Default for ScopeOptions {
    fn default() -> Self {
        Self { wait: true }
    }
}

impl ScopeOptions {
    /// With `false`, the queue does not wait on entry.
    #[must_use]
    pub fn wait(mut self, wait: bool) -> Self {
        self.wait = wait;
        self
    }
}

impl CommandQueue {
    /// Runs `f` with this queue as the current queue of this thread and this context: [`Context::current_queue`]
    /// returns it.
    ///
    /// Inside the scope, [`Context::current`] returns the context of the queue.
    ///
    /// On entry, the queue waits for everything enqueued so far on the previously current queue. Only the device waits,
    /// and the call submits nothing. A captured queue waits only for a queue of its own capture. Inside the scope of a
    /// captured queue, the scope of an ordinary queue makes the capture fail, because its commands would execute at
    /// once.
    ///
    /// At the end, even after a panic, the previous queue is current again. The end adds no wait: the policy, or a
    /// [`wait_for`](Self::wait_for), orders the previous queue's uses of the scope's work. Scopes nest.
    /// Other threads and host callbacks have current queues of their own.
    ///
    /// A scope belongs to one thread, so `f` must not be asynchronous: its future would run after the scope has ended.
    /// The bound [`Unpin`] rejects most futures at compile time, but not one in a `Box::pin`. Asynchronous code should
    /// name its queue.
    ///
    /// # Example
    /// ```
    /// # let (ctx, _) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// ctx.current_queue().fill(&mut x, 1)?;          // the default queue
    /// let side = ctx.queue("side");
    /// side.scope(|| ctx.current_queue().fill(&mut x, 2))?;    // `side`, after the first fill
    /// ctx.current_queue().wait_for(&side)?;
    /// assert_eq!(ctx.current_queue().read(&x).wait()?, [2; 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    /// ```compile_fail
    /// # let (ctx, queue) = fencepost::doctest();
    /// let later = queue.scope(async || ctx.current_queue().marker().await);
    /// ```
    #[track_caller]
    pub fn scope<T: Unpin>(&self, f: impl FnOnce() -> T) -> T {
        self.scope_with(ScopeOptions::default(), f)
    }

    /// Runs `f` as [`scope`](Self::scope) does, with options.
    ///
    /// # Example
    /// ```
    /// use fencepost::ScopeOptions;
    /// # let (ctx, _) = fencepost::doctest();
    /// let side = ctx.queue("side");
    /// let x = side.scope_with(ScopeOptions::default().wait(false), || ctx.current_queue().array(&[1_u32, 2]))?;
    /// assert_eq!(side.read(&x).wait()?, [1, 2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn scope_with<T: Unpin>(&self, options: ScopeOptions, f: impl FnOnce() -> T) -> T {
        if options.wait {
            match self.captured_queue() {
                None => self.wait_for_current(Location::caller()),
                Some(captured) => self.wait_for_captured(captured, Location::caller()),
            }
        }
        let context = self.owner().address();
        let before = exchange_queue(context, Some(self.downgrade()));
        let _restore = Restore(Some(|| drop(exchange_queue(context, before))));
        in_context(self.owner(), f)
    }

    /// Makes this queue the current queue of this thread and its context, without a scope and without a wait. Inside a
    /// scope, the change lasts until the end of the scope.
    ///
    /// This does not keep the queue alive. Once its last handle is dropped, the default queue is current.
    ///
    /// On a captured queue, which ends with its capture, the capture fails with [`ErrorDetail::Captured`]. Use
    /// [`scope`](Self::scope) instead.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// queue.make_current();
    /// assert_eq!(ctx.current_queue().options().label, "doctest");
    /// drop(queue);
    /// assert_eq!(ctx.current_queue().options().label, "default");
    /// ```
    #[track_caller]
    pub fn make_current(&self) {
        if self.not_captured("make_current", "a captured queue ends with its capture: use `scope`").is_err() {
            return;
        }
        exchange_queue(self.owner().address(), Some(self.downgrade()));
    }

    /// Orders a captured queue after the current queue, if the current queue belongs to the same capture. A capture
    /// never waits for a queue outside it.
    fn wait_for_captured(&self, captured: &CapturedQueue, at: &'static Location<'static>) {
        let before = current_queue(self.owner());
        let before = before.as_ref().and_then(CommandQueue::captured_queue);
        if let Some(before) = before.filter(|before| Arc::ptr_eq(&before.tape, &captured.tape)) {
            // After the end of the capture, the verbs of the queue return the error.
            drop(before.point("scope", at).and_then(|point| captured.wait(&point, at)));
        }
    }

    /// Orders this queue after the current queue. If the current queue is captured, the capture fails, because the
    /// commands of the scope would execute at once and not in each replay.
    fn wait_for_current(&self, at: &'static Location<'static>) {
        let current = current_queue(self.owner());
        if let Some(captured) = current.as_ref().and_then(CommandQueue::captured_queue) {
            drop(captured.refuse("scope", &captured.label, at, SCOPE_IN_CAPTURE));
            return;
        }
        let before = current.map_or_else(|| self.owner().default_slot(), |queue| queue.slot().ok());
        if let (Some(before), Ok(slot)) = (before, self.slot()) {
            self.owner().engine().order_after(slot, before, at);
        }
    }
}

impl Context {
    /// Returns the context's current queue on this thread: the queue of the innermost [`scope`](CommandQueue::scope),
    /// else the queue [made current](CommandQueue::make_current), else the [default queue](Self::default_queue).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// assert_eq!(ctx.current_queue().options().label, "default");
    /// queue.scope(|| assert_eq!(ctx.current_queue().options().label, "doctest"));
    /// ```
    pub fn current_queue(&self) -> CommandQueue {
        current_queue(&self.owner).unwrap_or_else(|| self.default_queue())
    }

    /// Runs `f` with this context as the current context of this thread, which [`current`](Self::current) returns. At
    /// the end, even after a panic, the previous context is current again. Scopes nest. The call enqueues nothing and
    /// changes no queue. As for a [queue's scope](CommandQueue::scope), `f` must not be asynchronous.
    ///
    /// # Example
    /// ```
    /// use fencepost::Context;
    /// fn ones() -> fencepost::Result<Vec<u32>> {
    ///     let ctx = Context::current()?;
    ///     ctx.current_queue().read(&ctx.full([2], 1)?).wait()
    /// }
    /// # let (ctx, _) = fencepost::doctest();
    /// assert_eq!(ctx.scope(ones)?, [1, 1]);
    /// assert!(ones().is_err());
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn scope<T: Unpin>(&self, f: impl FnOnce() -> T) -> T {
        in_context(&self.owner, f)
    }

    /// Returns the context of the innermost [`scope`](Self::scope) on this thread.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::NoContext`] outside every scope. The call never opens a device.
    pub fn current() -> Result<Context> {
        let current = CURRENT.try_with(|current| current.borrow().context.clone()).ok().flatten();
        let owner = current.and_then(|context| context.upgrade());
        owner.map(|owner| Context { owner }).ok_or_else(|| ErrorDetail::NoContext.into())
    }
}

/// Runs `f` with a context as the current one, and restores the previous context afterwards.
fn in_context<T>(owner: &Owner, f: impl FnOnce() -> T) -> T {
    let before = exchange_context(Some(owner.downgrade()));
    let _restore = Restore(Some(|| drop(exchange_context(before))));
    f()
}

/// Guard that calls a function when it is dropped, and so restores the previous queue or context even after a panic.
struct Restore<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for Restore<F> {
    fn drop(&mut self) {
        if let Some(put_back) = self.0.take() {
            put_back();
        }
    }
}

/// Runs a host callback, which has a current context and current queues of its own: without threads, it runs inside a
/// call of the program.
pub(crate) fn in_callback(callback: impl FnOnce()) {
    let before = CURRENT.try_with(RefCell::take).unwrap_or_default();
    let _restore = Restore(Some(|| drop(CURRENT.try_with(|current| current.replace(before)))));
    callback();
}

/// Returns the current queue of a context if one is set and alive. While a thread is exiting, there is none.
fn current_queue(owner: &Owner) -> Option<CommandQueue> {
    let context = owner.address();
    let known = CURRENT.try_with(|current| {
        let current = current.borrow();
        current.queues.iter().find(|(of, _)| *of == context).map(|(_, queue)| queue.clone())
    });
    // The borrow of `CURRENT` has ended: the new handle may be the last one of the queue, and a queue must not be
    // dropped during the borrow.
    known.ok().flatten()?.upgrade()
}

/// Sets the current queue of a context, and returns the previous one.
fn exchange_queue(context: usize, queue: Option<WeakQueue>) -> Option<WeakQueue> {
    let exchanged = CURRENT.try_with(|current| {
        let queues = &mut current.borrow_mut().queues;
        let at = queues.iter().position(|(of, _)| *of == context);
        let before = at.map(|at| queues.swap_remove(at).1);
        queues.retain(|(_, queue)| queue.lives());
        debug_assert!(
            queues.iter().all(|(of, _)| *of != context),
            "bug: a context has two current queues on a thread"
        );
        queues.extend(queue.map(|queue| (context, queue)));
        before
    });
    exchanged.ok().flatten()
}

/// Sets the current context, and returns the previous one.
fn exchange_context(context: Option<WeakOwner>) -> Option<WeakOwner> {
    let exchanged = CURRENT.try_with(|current| std::mem::replace(&mut current.borrow_mut().context, context));
    exchanged.ok().flatten()
}

#[cfg(test)]
mod tests {
    use crate::api::context::Context;
    use crate::error::ErrorDetail;
    use crate::record::cpu::cpu_recorder::SimulatorOptions;

    #[test]
    fn entering_a_scope_keeps_the_error_of_its_queue() {
        let ctx = Context::simulated(SimulatorOptions { threads: false, ..SimulatorOptions::default() });
        let first = ctx.queue("first");
        let failed = ctx.queue("failed");
        let gate = ctx.user_event("gate");
        failed.wait_for(&ctx.user_event("abandoned").event()).unwrap();
        failed.finish().wait().unwrap_err();
        first.wait_for(&gate.event()).unwrap();
        first.fill(&mut ctx.zeros::<u32, 1>([4]).unwrap(), 1).unwrap();
        let marker = first.scope(|| failed.scope(|| failed.marker()));
        gate.signal();
        assert!(matches!(marker.wait().unwrap_err().detail(), ErrorDetail::Abandoned { .. }));
        assert!(matches!(failed.finish().wait().unwrap_err().detail(), ErrorDetail::Abandoned { .. }));
        failed.take_error().unwrap();
        failed.finish().wait().unwrap();
    }
}

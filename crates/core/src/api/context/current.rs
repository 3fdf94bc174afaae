//! The queue, and the context, that a thread works with where it names none.

use crate::api::context::Context;
use crate::api::queue::{CommandQueue, WeakQueue};
use crate::error::{Kind, Result};
use crate::runtime::owner::{Owner, WeakOwner};
use fencepost_sync::prim::thread_local;
use std::cell::RefCell;
use std::panic::Location;

thread_local! {
    /// What is current on this thread. Nothing here keeps a context going.
    static CURRENT: RefCell<Current> = RefCell::default();
}

#[derive(Default)]
struct Current {
    context: Option<WeakOwner>,
    /// One queue a context at most, under the context's address. As long as the queue lives its context does, so no other
    /// one has that address.
    queues: Vec<(usize, WeakQueue)>,
}

/// How a queue's scope is entered: [`CommandQueue::scope_with`].
///
/// # Example
/// ```
/// use fencepost::ScopeOptions;
/// assert!(ScopeOptions::default().wait);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeOptions {
    /// Whether the queue comes after everything enqueued so far on the queue that was current before.
    pub wait: bool,
}

impl Default for ScopeOptions {
    fn default() -> Self {
        Self { wait: true }
    }
}

impl CommandQueue {
    /// Runs `f` with this queue as the current one of this thread and this context: verbs of the
    /// [`Context`](Context::launch) go to it.
    ///
    /// Its context is the current one meanwhile, too, which [`Context::current`] gives.
    ///
    /// On entry the queue comes after everything enqueued so far on the queue that was current before; that wait is the
    /// device's, and nothing is submitted for it. At the end, a panic included, the queue from before is current again,
    /// and nothing waits: what it uses of this scope's work is ordered by the policy, or by
    /// [`wait_for_queue`](Self::wait_for_queue). Scopes nest. Other threads, and host callbacks, have current queues of
    /// their own. A scope belongs to one thread, and so it takes no asynchronous function, whose future would run outside of it:
    /// such a program does not compile, as results are to be [`Unpin`]. A future in a `Box::pin` is [`Unpin`] and gets past that
    /// check: the scope is over before it runs. Asynchronous code names the queue.
    ///
    /// # Example
    /// ```
    /// # let (ctx, _) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// ctx.current_queue().fill(&mut x, 1)?;          // the default queue
    /// let side = ctx.queue("side");
    /// side.scope(|| ctx.current_queue().fill(&mut x, 2))?;    // `side`, after the first fill
    /// ctx.current_queue().wait_for_queue(&side)?;
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

    /// As [`scope`](Self::scope), with options.
    ///
    /// # Example
    /// ```
    /// use fencepost::ScopeOptions;
    /// # let (ctx, _) = fencepost::doctest();
    /// let side = ctx.queue("side");
    /// let x = side.scope_with(ScopeOptions { wait: false }, || ctx.current_queue().array(&[1_u32, 2]))?;
    /// assert_eq!(side.read(&x).wait()?, [1, 2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn scope_with<T: Unpin>(&self, options: ScopeOptions, f: impl FnOnce() -> T) -> T {
        if options.wait {
            self.come_after_current(Location::caller());
        }
        let context = self.owner().address();
        let before = exchange_queue(context, Some(self.downgrade()));
        let _restore = Restore(Some(|| drop(exchange_queue(context, before))));
        in_context(self.owner(), f)
    }

    /// Makes this queue the current one of this thread and its context, without a scope and without a wait. Inside a
    /// scope that holds until the scope's end.
    ///
    /// The thread does not keep the queue: once its last handle is gone, the default queue is current.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// queue.make_current();
    /// assert_eq!(ctx.current_queue().label(), "doctest");
    /// drop(queue);
    /// assert_eq!(ctx.current_queue().label(), "default");
    /// ```
    pub fn make_current(&self) {
        exchange_queue(self.owner().address(), Some(self.downgrade()));
    }

    fn come_after_current(&self, at: &'static Location<'static>) {
        let before = current_queue(self.owner())
            .map_or_else(|| self.owner().default_slot(), |queue| queue.slot().ok());
        if let (Some(before), Ok(slot)) = (before, self.slot()) {
            self.owner().engine().come_after(slot, before, at);
        }
    }
}

impl Context {
    /// The queue that verbs of the context go to on this thread: that of the innermost [`scope`](CommandQueue::scope), or
    /// what was [made current](CommandQueue::make_current), or the [default queue](Self::default_queue).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// assert_eq!(ctx.current_queue().label(), "default");
    /// queue.scope(|| assert_eq!(ctx.current_queue().label(), "doctest"));
    /// ```
    pub fn current_queue(&self) -> CommandQueue {
        current_queue(&self.owner).unwrap_or_else(|| self.default_queue())
    }

    /// Runs `f` with this context as the current one of this thread, which [`current`](Self::current) gives. At the end, a
    /// panic included, the one from before is current again. Scopes nest. Nothing is enqueued, and no queue changes. As a
    /// [queue's scope](CommandQueue::scope) it takes no asynchronous function.
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

    /// The context of the innermost [`scope`](Self::scope) on this thread.
    ///
    /// # Errors
    /// [`Kind::NoContext`] outside of any: no device is ever opened unasked.
    pub fn current() -> Result<Context> {
        let current = CURRENT.try_with(|current| current.borrow().context.clone()).ok().flatten();
        let owner = current.and_then(|context| context.upgrade());
        owner.map(|owner| Context { owner }).ok_or_else(|| Kind::NoContext.into())
    }
}

/// Runs `f` with a context as the current one.
fn in_context<T>(owner: &Owner, f: impl FnOnce() -> T) -> T {
    let before = exchange_context(Some(owner.downgrade()));
    let _restore = Restore(Some(|| drop(exchange_context(before))));
    f()
}

/// Puts back what was current, a panic included.
struct Restore<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for Restore<F> {
    fn drop(&mut self) {
        if let Some(put_back) = self.0.take() {
            put_back();
        }
    }
}

/// The queue that is set, and lives. A thread that is ending has none.
fn current_queue(owner: &Owner) -> Option<CommandQueue> {
    let context = owner.address();
    let known = CURRENT.try_with(|current| {
        let current = current.borrow();
        current.queues.iter().find(|(of, _)| *of == context).map(|(_, queue)| queue.clone())
    });
    // Outside the borrow: this handle may be the queue's last one by the time it goes.
    known.ok().flatten()?.upgrade()
}

/// Sets the current queue of a context; the one before.
fn exchange_queue(context: usize, queue: Option<WeakQueue>) -> Option<WeakQueue> {
    let exchanged = CURRENT.try_with(|current| {
        let queues = &mut current.borrow_mut().queues;
        let at = queues.iter().position(|(of, _)| *of == context);
        let before = at.map(|at| queues.swap_remove(at).1);
        queues.retain(|(_, queue)| queue.lives());
        queues.extend(queue.map(|queue| (context, queue)));
        before
    });
    exchanged.ok().flatten()
}

/// Sets the current context; the one before.
fn exchange_context(context: Option<WeakOwner>) -> Option<WeakOwner> {
    let exchanged = CURRENT.try_with(|current| std::mem::replace(&mut current.borrow_mut().context, context));
    exchanged.ok().flatten()
}

#[cfg(test)]
mod tests {
    use crate::api::context::Context;
    use crate::error::Kind;
    use crate::record::cpu::cpu_recorder::CpuOptions;

    #[test]
    fn the_entry_of_a_scope_hides_no_error_of_its_queue() {
        let ctx = Context::on_cpu(CpuOptions { threads: false, ..CpuOptions::default() });
        let (first, failed, gate) = (ctx.queue("first"), ctx.queue("failed"), ctx.user_event("gate"));
        failed.wait_for(&ctx.user_event("abandoned").event()).unwrap();
        failed.finish().wait().unwrap_err();
        first.wait_for(&gate.event()).unwrap();
        first.fill(&mut ctx.zeros::<u32, 1>([4]).unwrap(), 1).unwrap();
        let marker = first.scope(|| failed.scope(|| failed.marker()));
        gate.signal();
        assert!(matches!(marker.wait().unwrap_err().kind(), Kind::Abandoned { .. }));
        assert!(matches!(failed.finish().wait().unwrap_err().kind(), Kind::Abandoned { .. }));
        failed.take_error().unwrap();
        failed.finish().wait().unwrap();
    }
}

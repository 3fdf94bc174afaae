//! The compilation of kernels before the first call of a verb.

use fencepost_core::{CommandQueue, Result};

/// Compiles the kernels of verbs before the first call of a verb needs them.
pub trait WarmUp {
    /// Compiles the kernels of `calls`, and executes none of them. The function receives a captured queue and calls the
    /// verbs, with arrays that have the types and the lengths of later calls. Launches of user kernels are
    /// allowed too.
    ///
    /// The call returns when the kernels are compiled. Without it, the first call of a verb returns at once, and its queue waits
    /// until a thread of the context has compiled the kernels. Make the call on a thread of its own if the program
    /// continues meanwhile: a queue has a handle in each thread.
    ///
    /// # Cost
    /// The compilation of each kernel that the context has not compiled yet. The scratch memory of the verbs is taken,
    /// and is free for other arrays after the call. A context keeps 256 kernels that user code has no handle of.
    ///
    /// # Errors
    /// Returns the errors of the verbs and of a [`capture`](CommandQueue::capture). So a verb that returns a value to
    /// the host is refused, and so is the call on a captured queue.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{RadixSort, Reduce, Sort, WarmUp};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (mut x, mut least) = (ctx.array(&[3_u32, 1, 2])?, ctx.zeros([1])?);
    /// std::thread::scope(|threads| {
    ///     let compiled = threads.spawn(|| {
    ///         queue.warm_up(|q| {
    ///             q.min(&x, &mut least)?;
    ///             q.sort_in_place(&mut x, Sort::ascending())
    ///         })
    ///     });
    ///     compiled.join().unwrap()
    /// })?;
    /// assert_eq!(queue.read(&x).wait()?, [3, 1, 2]);      // nothing is sorted yet
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn warm_up(&self, calls: impl FnOnce(&CommandQueue) -> Result<()>) -> Result<()>;
}

impl WarmUp for CommandQueue {
    #[track_caller]
    fn warm_up(&self, calls: impl FnOnce(&CommandQueue) -> Result<()>) -> Result<()> {
        self.capture(|captured| calls(captured)).map(drop)
    }
}

//! The bound of a loop on the device.

/// Maximum number of iterations of a loop on the device. The loop ends after this many iterations even if its condition
/// still holds; [`Replay::reached_bound`](crate::Replay::reached_bound) tells whether this has happened.
///
/// # Example
/// ```
/// use fencepost::Bound;
/// # let (ctx, queue) = fencepost::doctest();
/// let count = queue.array(&[3_u32])?;
/// let mut x = ctx.zeros::<u32, 1>([4])?;
/// for bound in [Bound::AtMost(100), Bound::Chunked(1_000_000)] {
///     let steps = queue.repeat(&count, bound, |body| body.fill(&mut x, 7))?;
///     assert_eq!(steps.replay().unwrap().iterations(&steps)?.wait()?, 3);
/// }
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Bound {
    /// A replay submits all iterations up to the bound at once, and the device skips the iterations after the end of
    /// the loop. A skipped iteration still costs a little: an empty dispatch for each dispatch of the body. A graph has
    /// at most 65,536 gates and dispatches of bodies.
    AtMost(u32),
    /// A replay submits the iterations in chunks of 4, 8, 16 and so on, up to a size that depends on the dispatches of
    /// the body. When a chunk is complete and the loop goes on, the context submits another one. One chunk is always
    /// submitted ahead, so that the device does not wait. The bound can be any number, and at most one chunk is skipped
    /// after the end of the loop.
    ///
    /// A loop whose condition never becomes 0 runs up to its bound, and until then a wait for later work of the queue
    /// waits for the loop. [`Replay::cancel`](crate::Replay::cancel) ends the loop, and so does
    /// [`ContextOptions::launch_limit`](crate::ContextOptions::launch_limit). Dropping the last handle of the context
    /// waits 5 seconds for running loops, then cancels them.
    ///
    /// The context continues the loop by itself; in a context without threads, a wait or a poll continues it. Commands
    /// after the loop wait in their queue until the loop has ended. The body of another condition or loop cannot
    /// contain such a loop.
    Chunked(u32),
}

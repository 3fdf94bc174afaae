//! The limit of the work that a context has accepted and not yet given to the device.

/// Limit of a context's backlog: the work that is enqueued and not yet given to the device.
///
/// While the backlog is full, a call that enqueues blocks until there is room, if its queue has a sixteenth of the
/// limit or more. Queues with less go on. The arrays that the context makes are work of a queue of its own, which is
/// full at the limit.
///
/// A call returns [`Kind::Backlog`](crate::Kind::Backlog) where it must not block: in a host callback, in a host
/// function that replaces a kernel, in the browser, and if the queue waits for user code: for a user event, for the end
/// of a map, or for more than 10 seconds for one host callback or for another context.
///
/// # Example
/// ```
/// use fencepost::{AdapterChoice, BacklogLimit, Context, ContextOptions};
/// let backlog = BacklogLimit { commands: 1000, ..BacklogLimit::default() };
/// let options = ContextOptions { adapter: AdapterChoice::Cpu, backlog, ..ContextOptions::default() };
/// let ctx = Context::with_options(options).wait()?;
/// let (queue, mut x) = (ctx.queue("main"), ctx.zeros::<u32, 1>([4])?);
/// for i in 0..5000 {
///     queue.fill(&mut x, i)?; // at most 1000 of them wait at a time
/// }
/// assert_eq!(queue.read(&x).wait()?, [4999; 4]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BacklogLimit {
    /// Number of commands. The default is 131,072.
    pub commands: usize,
    /// Bytes of uploads. The default is 1 GiB. A single upload may be larger.
    pub bytes: u64,
}

impl Default for BacklogLimit {
    fn default() -> Self {
        Self { commands: 1 << 17, bytes: 1 << 30 }
    }
}

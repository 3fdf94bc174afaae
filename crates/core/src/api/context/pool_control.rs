//! The controls of a context's memory pool.

use crate::api::context::Context;
use crate::arrays::allocation_tracker::AllocationTracker;
use crate::memory::pool::PoolStats;

impl Context {
    /// Returns the statistics of the memory pool and of the staging memory, which is not part of the pool.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.zeros::<f32, 1>([1024])?;
    /// let stats = ctx.pool_stats();
    /// assert!(stats.used >= 4096 && stats.high_water >= stats.used && stats.arrays == 1);
    /// assert!(stats.total() >= stats.used + stats.free + stats.staging);
    /// # drop((x, queue));
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn pool_stats(&self) -> PoolStats {
        let engine = self.owner.engine();
        let (staging, staging_free) = engine.device.staging();
        PoolStats { staging, staging_free, ..engine.lock().pool.stats() }
    }

    /// Resets the high-water mark to the bytes in use now.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// drop(ctx.zeros::<f32, 1>([1024])?);
    /// ctx.reset_high_water();
    /// assert_eq!(ctx.pool_stats().high_water, 0);
    /// # drop(queue);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn reset_high_water(&self) {
        self.owner.engine().lock().pool.reset_high_water();
    }

    /// Limits the bytes that the driver allocates for the pool. Pinned arrays and free memory count, staging memory
    /// does not. `None`, the default, leaves the limit to the driver. The limit is a number of bytes and not a share,
    /// because a driver does not report how much memory it has.
    ///
    /// If a new array would exceed the limit, the pool first returns free memory to the driver. If the array still does
    /// not fit, the call returns [`Kind::OutOfMemory`](crate::Kind::OutOfMemory). Existing arrays remain, even if the
    /// limit is below their size.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// ctx.set_pool_limit(Some(1 << 20));
    /// let error = ctx.zeros::<f32, 1>([1 << 20]).unwrap_err();
    /// assert!(error.to_string().contains("arrays use 0 of the 1048576 bytes that the pool may allocate"));
    /// ctx.set_pool_limit(None);
    /// assert!(ctx.zeros::<f32, 1>([1 << 20]).is_ok());
    /// # drop(queue);
    /// ```
    pub fn set_pool_limit(&self, bytes: Option<u64>) {
        self.owner.engine().lock().pool.limit = bytes;
    }

    /// Limits the free bytes that the pool keeps for later arrays. The pool returns the surplus to the driver as soon
    /// as no enqueued or running work uses it. `u64::MAX` keeps all free bytes until [`trim`](Self::trim).
    ///
    /// `None`, the default, keeps twice the largest number of bytes that arrays and running work used at one time while
    /// the last 1024 arrays, or somewhat more, were dropped, and at least 16 MiB. The pool returns the surplus
    /// when a block is made or a batch completes, and starts with the memory that has been free for the longest time.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// ctx.set_release_threshold(Some(0));
    /// drop(ctx.zeros::<f32, 1>([1024])?);
    /// assert_eq!(ctx.pool_stats().free, 0);
    /// # drop(queue);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn set_release_threshold(&self, bytes: Option<u64>) {
        self.owner.engine().lock().pool.threshold = bytes;
        self.owner.engine().release_surplus();
    }

    /// Returns to the driver all free memory that no enqueued or running work uses, and the staging memory that is kept
    /// for later. The result is the number of bytes that the driver gets back.
    pub fn trim(&self) -> u64 {
        self.owner.engine().trim()
    }

    /// Records every array that is made from now on, until the tracker is dropped; see [`AllocationTracker`]. Without a
    /// tracker, nothing is recorded.
    pub fn track_allocations(&self) -> AllocationTracker {
        AllocationTracker::new(self.owner.clone())
    }
}

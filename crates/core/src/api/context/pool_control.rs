//! What a program asks of a context's memory pool.

use crate::api::context::Context;
use crate::arrays::allocation_tracker::AllocationTracker;
use crate::memory::pool::PoolStats;

impl Context {
    /// What the memory pool holds, and what staging memory there is besides.
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

    /// Has the high-water mark start again from what is used now.
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

    /// Limits the bytes that the pool takes of the driver for arrays, pinned and free ones included, staging memory not;
    /// `None`, the
    /// default, leaves that to the driver. A driver tells nobody how much there is, so it is bytes, and no share.
    ///
    /// An array that would go over it gives free memory back first; if that is not enough, it is
    /// [`Kind::OutOfMemory`](crate::Kind::OutOfMemory). Arrays that are there stay, also if the limit is below them.
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
        self.owner.engine().lock().pool.set_limit(bytes);
    }

    /// Has at most so many free bytes kept for later arrays; what is more goes back to the driver as soon as nothing on
    /// its way uses it. `u64::MAX` keeps all of it until [`trim`](Self::trim).
    ///
    /// `None`, the default, keeps twice as many bytes as arrays and running work used at once while the last 1024 arrays
    /// were dropped, or somewhat more of them, and 16 MiB in any case. What is more goes back when a block is made or a
    /// batch is done, the memory first that has been free for the longest time.
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
        self.owner.engine().lock().pool.set_threshold(bytes);
        self.owner.engine().release_surplus();
    }

    /// Gives all free memory back to the driver that no enqueued or running work uses, and returns how many bytes
    /// that was. Staging memory that is kept for later goes too.
    pub fn trim(&self) -> u64 {
        self.owner.engine().trim()
    }

    /// Notes every array that is made from now on, until the tracker is dropped; see [`AllocationTracker`]. Without a
    /// tracker nothing is noted.
    pub fn track_allocations(&self) -> AllocationTracker {
        AllocationTracker::new(self.owner.clone())
    }
}

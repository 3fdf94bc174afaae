//! The report of the waits of a context.

use crate::api::context::Context;
use crate::scheduler::ordering::wait_report::WaitReport;

impl Context {
    /// Starts (`true`) or stops (`false`) recording the waits that the policy adds, and the redundant waits of the
    /// program. A stop discards the records. Recording is off at first, and then costs nothing.
    pub fn record_waits(&self, on: bool) {
        self.owner.engine().lock().wait_log = on.then(Box::default);
    }

    /// Returns the waits since [`record_waits`](Self::record_waits), and an empty report if recording is off.
    ///
    /// A wait counts as added even if the device had passed it already. The report does not list waits of the host. The
    /// policies `Checked` and `Unchecked` add no waits.
    ///
    /// # Example
    /// ```
    /// # let (ctx, _) = fencepost::doctest();
    /// let (a, b) = (ctx.queue("a"), ctx.queue("b"));
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// ctx.record_waits(true);
    /// a.fill(&mut x, 1)?;
    /// b.fill(&mut x, 2)?;                // the policy makes `b` wait for `a`
    /// b.wait_for_queue(&a)?;             // `b` waits for `a` already
    /// let report = ctx.wait_report();
    /// assert_eq!((&*report.added[0].later.queue, &*report.added[0].earlier.queue), ("b", "a"));
    /// assert_eq!((report.redundant[0].location.file(), report.redundant[0].count), (file!(), 1));
    /// assert!(report.to_string().contains(file!()));         // two tables, with source lines
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn wait_report(&self) -> WaitReport {
        let state = self.owner.engine().lock();
        state.wait_log.as_ref().map(|log| log.report(&state)).unwrap_or_default()
    }
}

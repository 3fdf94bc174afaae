//! The waits of a context, listed.

use crate::api::context::Context;
use crate::scheduler::ordering::wait_report::WaitReport;

impl Context {
    /// Starts to note which waits the policy adds, and which of the program's own are not needed; or stops, and forgets
    /// them. Off, which it is at first, it costs nothing.
    pub fn record_waits(&self, on: bool) {
        self.owner.engine().lock().wait_log = on.then(Box::default);
    }

    /// The waits since [`record_waits`](Self::record_waits); empty without.
    ///
    /// A wait counts as added whether or not the device had passed it by then; waits of the host are not listed. Under
    /// `Checked` and `Unchecked` none are added.
    ///
    /// # Example
    /// ```
    /// # let (ctx, _) = fencepost::doctest();
    /// let (a, b) = (ctx.queue("a"), ctx.queue("b"));
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// ctx.record_waits(true);
    /// a.fill(&mut x, 1)?;
    /// b.fill(&mut x, 2)?;                // the policy has `b` wait for `a`
    /// b.wait_for_queue(&a)?;             // which it does already
    /// let report = ctx.wait_report();
    /// assert_eq!((&*report.added[0].later.queue, &*report.added[0].earlier.queue), ("b", "a"));
    /// assert_eq!((report.redundant[0].location.file(), report.redundant[0].count), (file!(), 1));
    /// assert!(report.to_string().contains(file!()));         // two tables, with the lines
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn wait_report(&self) -> WaitReport {
        let state = self.owner.engine().lock();
        state.wait_log.as_ref().map(|log| log.report(&state)).unwrap_or_default()
    }
}

//! The source of the choices among the variants of the verbs' kernels.

use crate::api::context::Context;
use crate::runtime::context_tuning::TuningChoice;
use crate::runtime::tuning_table::TuningTable;

impl Context {
    /// Sets the source of the choices among the variants of the verbs' kernels, for all later calls of verbs. Commands
    /// that are enqueued, and captured graphs, keep their kernels (rule A26). A measurement that is running changes
    /// nothing any more.
    ///
    /// A table of another adapter or driver is ignored, with a warning in the log; then the verbs take the defaults.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// ctx.set_tuning(TuningChoice::OnFirstUse);
    /// let x = ctx.full([100], 2_u32)?;
    /// let mut total = ctx.zeros([1])?;
    /// queue.sum(&x, &mut total)?;                     // measures the variants of its kernels before it enqueues one
    /// assert_eq!(queue.read(&total).wait()?, [200]);
    /// ctx.set_tuning(TuningChoice::Defaults);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn set_tuning(&self, choice: TuningChoice) {
        self.owner.tuning().set(choice);
    }

    /// Returns the table of the choices that were measured or set. With [`TuningChoice::Defaults`], it has no choices.
    ///
    /// # Example
    /// ```
    /// # let (ctx, _) = fencepost::doctest();
    /// let table = ctx.tuning_table();
    /// assert_eq!((table.adapter(), table.choices().len()), ("Fencepost simulator", 0));
    /// ```
    pub fn tuning_table(&self) -> TuningTable {
        self.owner.tuning().table()
    }
}

//! Reductions that keep the order of the elements.

use crate::axis::View;
use crate::grid::folded;
use crate::operator::Operator;
use crate::shares::Shares;
use crate::tuning::tuned;
use crate::typed_kernel::{count_argument, value};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, DynKernel, Element, Grid, IntoArg, Result};

/// Kernel that combines each share of rows or columns in order.
pub struct Ordered<U> {
    kernel: DynKernel,
    /// `true` if a workgroup combines a share, `false` if a single invocation does.
    rows: bool,
    /// Number of first elements, if not all elements are combined.
    count: Option<DeviceArray<u32>>,
    identity: U,
}

impl<U: Element> Ordered<U> {
    /// Compiles the kernel for rows; for first elements if there is a count.
    pub(crate) fn compiled(
        queue: &VerbQueue<'_>,
        operator: &Operator<'_, U>,
        count: Option<&DeviceArray<u32>>,
    ) -> Result<Self> {
        let kernel = operator.kernel(queue, "fold", &tuned(queue, &[]), count)?;
        Ok(Self { kernel, rows: true, count: count.cloned(), identity: operator.identity })
    }

    /// Compiles the kernel for columns, which has no barriers.
    fn of_columns(queue: &VerbQueue<'_>, operator: &Operator<'_, U>) -> Result<Self> {
        let kernel = operator.kernel(queue, "fold_columns", &[], None)?;
        Ok(Self { kernel, rows: false, count: None, identity: operator.identity })
    }

    /// Enqueues the launch that combines each share into one element of `out`. A launch without shares is only checked.
    #[track_caller]
    pub(crate) fn launch(
        &self,
        queue: &VerbQueue<'_>,
        view: View,
        shares: Shares,
        x: &DeviceArray<U>,
        out: &mut DeviceArray<U>,
    ) -> Result<()> {
        let results = view.outer * shares.count * view.inner;
        let [n, share, in_one, all, inner] =
            [view.n, shares.share, shares.count, results, view.inner].map(|n| n as u32);
        let mut args = vec![
            value("n", n),
            value("share", share),
            value("identity", self.identity),
            (Some("x".into()), x.into_arg()),
            (Some("out".into()), out.into_arg()),
        ];
        let grid = if self.rows {
            args.extend([value("in_row", in_one.max(1)), value("shares", all)]);
            Grid::groups(folded(results))
        } else {
            args.extend([value("in_column", in_one), value("inner", inner), value("count", all)]);
            Grid::threads([results])
        };
        args.extend(count_argument(self.count.as_ref()));
        if results == 0 {
            return queue.check_launch_dyn(&self.kernel, args);
        }
        queue.launch_dyn(&self.kernel, grid, args)
    }
}

/// Enqueues the combination of each row or column: one launch, or two with the results of shares between them. There
/// must be at least one row or column.
#[track_caller]
pub(crate) fn along<U: Element>(
    queue: &VerbQueue<'_>,
    operator: &Operator<'_, U>,
    view: View,
    x: &DeviceArray<U>,
    out: &mut DeviceArray<U>,
) -> Result<()> {
    let (rows, shares) = view.shares();
    let kernel =
        if rows { Ordered::compiled(queue, operator, None) } else { Ordered::of_columns(queue, operator) }?;
    if shares.count == 1 {
        return kernel.launch(queue, view, shares, x, out);
    }
    // A launch without results is only checked, and refuses what the last launch would refuse.
    kernel.launch(queue, View { outer: 0, ..view }, shares, x, out)?;
    let mut partials = queue.scratch(view.outer * shares.count * view.inner)?;
    kernel.launch(queue, view, shares, x, &mut partials)?;
    kernel.launch(queue, View { n: shares.count, ..view }, Shares::one(shares.count), &partials, out)
}

//! The places of the smallest or the largest elements along one axis of an array.

use crate::axis::View;
use crate::grid::folded;
use crate::passes::{NO_EXTREME, no_element};
use crate::reduce::Nan;
use crate::reducible::Reducible;
use crate::refusals::check;
use crate::shares::Shares;
use crate::trusted;
use crate::tuning::tuned_as;
use crate::typed_kernel::type_number;
use crate::variants::{Tunable, chosen};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Grid, Kernel, Result};
use fencepost_derive::KernelArgs;

/// Enqueues the launches: one, or two with the places of shares between them.
#[track_caller]
pub(crate) fn search<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    largest: bool,
    nan: Nan,
    x: &DeviceArray<T, D>,
    axis: usize,
    out: &mut DeviceArray<u32, E>,
) -> Result<()> {
    let view = View::of(queue, x, axis, out)?;
    if x.is_empty() && !out.is_empty() {
        return no_element(queue, x, NO_EXTREME);
    }
    let x = x.reshape([x.len()])?.cast_bits();
    let mut out = out.reshape([out.len()])?;
    if out.is_empty() {
        return check(queue, &[("x", &x)], &[("out", &out)]);
    }
    let (_, shares) = view.shares();
    let kernel = |gather: bool| {
        let overrides = [
            ("TYPE", type_number::<T>()),
            ("LARGEST", f64::from(largest)),
            ("KEEP_NAN", f64::from(nan == Nan::Propagate)),
            ("GATHER", f64::from(gather)),
        ];
        Finder::compiled(queue, view, &overrides)
    };
    let search = Search { x: &x, view };
    let elements = kernel(false)?;
    if shares.count == 1 {
        return search.launch(queue, &elements, view.outer, shares, &x, &mut out);
    }
    let last = kernel(true)?;
    // A launch without results is only checked, and refuses what the last launch would refuse.
    search.launch(queue, &elements, 0, shares, &x, &mut out)?;
    let mut places = queue.scratch(view.outer * shares.count * view.inner)?;
    search.launch(queue, &elements, view.outer, shares, &x, &mut places)?;
    search.launch(queue, &last, view.outer, Shares::one(shares.count), &places, &mut out)
}

#[derive(KernelArgs)]
#[kernel(source = "arg_rows.wgsl", crate = fencepost_kernels)]
struct ArgRowsArgs<'a> {
    n: u32,
    share: u32,
    in_row: u32,
    shares: u32,
    row: u32,
    x: &'a DeviceArray<u32>,
    places: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "arg_columns.wgsl", crate = fencepost_kernels)]
struct ArgColumnsArgs<'a> {
    n: u32,
    share: u32,
    in_column: u32,
    inner: u32,
    count: u32,
    column: u32,
    x: &'a DeviceArray<u32>,
    places: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

/// The kernel for rows, or the one for columns and short rows.
enum Finder {
    Rows(Kernel<ArgRowsArgs<'static>>),
    Columns(Kernel<ArgColumnsArgs<'static>>),
}

impl Finder {
    fn compiled(queue: &VerbQueue<'_>, view: View, overrides: &[(&str, f64)]) -> Result<Self> {
        let (rows, _) = view.shares();
        if rows {
            let overrides = tuned_as(queue, chosen(queue, Tunable::Reduce, view.n), overrides);
            return trusted::kernel_with::<ArgRowsArgs>(queue, &overrides).map(Self::Rows);
        }
        // The kernel for columns has no barriers.
        trusted::kernel_with::<ArgColumnsArgs>(queue, overrides).map(Self::Columns)
    }
}

struct Search<'a> {
    x: &'a DeviceArray<u32>,
    view: View,
}

impl Search<'_> {
    /// Enqueues the launch that finds a place in each share of the first rows or columns. A launch without results is
    /// only checked.
    #[track_caller]
    fn launch(
        &self,
        queue: &VerbQueue<'_>,
        finder: &Finder,
        outer: usize,
        shares: Shares,
        places: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let results = outer * shares.count * self.view.inner;
        let [n, share, in_each, count] =
            [shares.elements, shares.share, shares.count, results].map(|n| n as u32);
        let [along, inner] = [self.view.n, self.view.inner].map(|n| n as u32);
        let x = self.x;
        match finder {
            Finder::Rows(kernel) => {
                let args =
                    ArgRowsArgs { n, share, in_row: in_each, shares: count, row: along, x, places, out };
                if results == 0 {
                    return queue.check_launch(kernel, args);
                }
                queue.launch(kernel, Grid::groups(folded(results)), args)
            }
            Finder::Columns(kernel) => {
                let in_column = in_each;
                let column = along;
                let args = ArgColumnsArgs { n, share, in_column, inner, count, column, x, places, out };
                if results == 0 {
                    return queue.check_launch(kernel, args);
                }
                queue.launch(kernel, Grid::threads([results]), args)
            }
        }
    }
}

//! Sums of `f32` that are the same on each device: each is the exact sum, rounded once.
//!
//! Each `f32`, and each product of two, is an integer times one power of two. A sum of integers depends neither on their
//! order nor on the device.

use crate::axis::View;
use crate::elementwise::bits;
use crate::grid::folded;
use crate::inner_product::one_shape;
use crate::launches;
use crate::passes::{no_element, one_element};
use crate::reducible::{Finish, Reducible};
use crate::refusals::check;
use crate::segments::{Bounds, Lists};
use crate::shares::Shares;
use crate::trusted;
use crate::tuning::{SIZE, WIDE, lanes, tuned};
use crate::typed_kernel::value;
use crate::verb_queue::VerbQueue;
use crate::weighted::check_sums;
use crate::wide::{Group, WIDTH};
use fencepost_core::{
    DeviceArray, DynKernel, Grid, IntoArg, Kernel, Over, Parts, Result, ShaderSource, regrouped,
};
use fencepost_derive::KernelArgs;

/// Number of words of a sum in memory, as `exact_sum.wgsl` has it.
pub(crate) const WORDS_OF_SUM: usize = 20;
// A driver may end an invocation after 65,535 rounds of all its loops together. A term may take 16 rounds for each of its
// parts, because it may change each word of a sum.
/// Maximum number of terms of a workgroup that adds the terms of a row.
const MOST_OF_ROW: usize = 16 * 1024;
/// Maximum number of terms of an invocation that adds the terms of a column.
const MOST_OF_COLUMN: usize = 1024;
/// Maximum number of terms of a workgroup that adds the terms of segments.
const MOST_OF_SEGMENTS: usize = 32 * 1024;
/// The parameter `zero` of the kernels. The value is one that their compiler does not know.
const ZERO: u32 = 0;

/// The terms of a sum, and the last step on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ExactSteps {
    /// `true` if a term is the product of an element of each array.
    products: bool,
    finish: Finish,
}

impl ExactSteps {
    pub(crate) const SUM: Self = Self { products: false, finish: Finish::Nothing };
    pub(crate) const MEAN: Self = Self { products: false, finish: Finish::Divide };
    pub(crate) const DOT: Self = Self { products: true, finish: Finish::Nothing };
    pub(crate) const NORM: Self = Self { products: true, finish: Finish::Root };

    /// Returns the bits of the result without terms.
    fn of_none(self) -> u32 {
        if self.finish == Finish::Divide { f32::NAN.to_bits() } else { 0 }
    }

    /// Returns the overrides of a kernel that adds terms. Only results of whole sums are finished.
    fn overrides(self, adds_to_sums: bool) -> [(&'static str, f64); 2] {
        let finish = if adds_to_sums { Finish::Nothing } else { self.finish };
        [("STAGE", f64::from(u8::from(adds_to_sums))), ("FINISH", finish.number())]
    }

    /// Compiles the kernel of the results. The number of terms of a mean is that of a segment if `of_segments`.
    pub(crate) fn results(
        self,
        queue: &VerbQueue<'_>,
        of_segments: bool,
    ) -> Result<Kernel<ExactResultsArgs<'static>>> {
        let of_segments = f64::from(u8::from(of_segments));
        let overrides = [(SIZE, 256.0), ("FINISH", self.finish.number()), ("OFFSETS", of_segments)];
        trusted::kernel_with::<ExactResultsArgs>(queue, &overrides)
    }
}

/// Enqueues the exact results. Without `y`, a product is a square.
#[track_caller]
pub(crate) fn enqueue<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    steps: ExactSteps,
    x: Over<'_, T, D>,
    y: Option<&DeviceArray<T, D>>,
    out: &mut DeviceArray<T, E>,
) -> Result<()> {
    let array = x.array();
    let y = y.unwrap_or(array);
    one_shape(queue, array, y)?;
    let view = match x.parts() {
        Parts::Axis(axis) => View::of(queue, array, axis, out)?,
        Parts::Segments(offsets) => {
            return of_segments(queue, steps, [array, y], Bounds::Offsets(offsets), out);
        }
        Parts::First(count) => return of_segments(queue, steps, [array, y], Bounds::First(count), out),
        _ => {
            one_element(queue, "out", out)?;
            View { outer: 1, n: array.len(), inner: 1 }
        }
    };
    if steps.finish == Finish::Divide && array.is_empty() && !out.is_empty() {
        return no_element(queue, array, "pass at least one element, because an empty array has no mean");
    }
    let x = bits(array)?;
    let y = bits(y)?;
    let mut out = bits(out)?;
    check(queue, &[("x", &x), ("y", &y)], &[("out", &out)])?;
    if out.is_empty() {
        return Ok(());
    }
    if x.is_empty() {
        return queue.fill(&mut out, steps.of_none());
    }
    ExactTerms { view, x: &x, y: &y }.enqueue(queue, steps, &mut out)
}

/// The terms of several sums: the elements along the axis of a view, which has at least one sum and one term.
struct ExactTerms<'a> {
    view: View,
    x: &'a DeviceArray<u32>,
    /// Other factors of products. Without products, it is not read.
    y: &'a DeviceArray<u32>,
}

impl ExactTerms<'_> {
    /// Enqueues the launches: one, or two and a fill of scratch memory with a sum for each result.
    #[track_caller]
    fn enqueue(&self, queue: &VerbQueue<'_>, steps: ExactSteps, out: &mut DeviceArray<u32>) -> Result<()> {
        let (rows, shares) = self.view.shares();
        let shares = shares.of_at_most(if rows { MOST_OF_ROW } else { MOST_OF_COLUMN });
        let kernel = ExactKernel::compiled(queue, self, steps, rows, shares)?;
        if shares.count == 1 {
            return self.launch(queue, &kernel, shares, out);
        }
        let results = steps.results(queue, false)?;
        let mut sums = queue.scratch::<u32>(WORDS_OF_SUM * out.len())?;
        queue.fill(&mut sums, 0)?;
        self.launch(queue, &kernel, shares, &mut sums)?;
        let n = self.view.n as u32;
        // Without segments, the kernel reads no offsets.
        let args = ExactResultsArgs { count: out.len() as u32, n, sums: &sums, offsets: &sums, out };
        queue.launch(&results, Grid::threads([args.count as usize]), args)
    }

    #[track_caller]
    fn launch(
        &self,
        queue: &VerbQueue<'_>,
        kernel: &ExactKernel,
        shares: Shares,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let View { outer, n, inner } = self.view;
        let all = outer * shares.count * inner;
        let n = n as u32;
        let share = shares.share as u32;
        let in_row = shares.count as u32;
        let count = all as u32;
        let inner = inner as u32;
        let zero = ZERO;
        let x = self.x;
        let y = self.y;
        let groups = Grid::groups(folded(all));
        match kernel {
            ExactKernel::Rows(kernel) => {
                queue.launch(kernel, groups, ExactRowsArgs { n, share, in_row, shares: count, zero, x, out })
            }
            ExactKernel::RowProducts(kernel) => {
                let args = ExactRowProductsArgs { n, share, in_row, shares: count, zero, x, y, out };
                queue.launch(kernel, groups, args)
            }
            ExactKernel::Vectors { kernel, x } => {
                let args = [
                    value("n", n / WIDTH as u32),
                    value("share", share / WIDTH as u32),
                    value("in_row", in_row),
                    value("shares", count),
                    value("n_elements", n),
                    value("zero", zero),
                    (Some("x".into()), x.as_ref().into_arg()),
                    (Some("out".into()), out.into_arg()),
                ];
                queue.launch_dyn(kernel, groups, args)
            }
            ExactKernel::Columns(kernel) => {
                let args = ExactColumnsArgs { n, share, in_column: in_row, inner, count, zero, x, out };
                queue.launch(kernel, Grid::threads([all]), args)
            }
            ExactKernel::ColumnProducts(kernel) => {
                let args =
                    ExactColumnProductsArgs { n, share, in_column: in_row, inner, count, zero, x, y, out };
                queue.launch(kernel, Grid::threads([all]), args)
            }
        }
    }
}

/// A kernel that adds the terms of each share. With several shares of a sum, it adds them to the sum in memory;
/// otherwise, it writes the result.
enum ExactKernel {
    /// A workgroup adds the elements of a share of a row.
    Rows(Kernel<ExactRowsArgs<'static>>),
    /// The same, with loads of several elements at a time.
    Vectors {
        kernel: DynKernel,
        x: Box<DeviceArray<Group>>,
    },
    RowProducts(Kernel<ExactRowProductsArgs<'static>>),
    /// An invocation adds the elements of a share of a column.
    Columns(Kernel<ExactColumnsArgs<'static>>),
    ColumnProducts(Kernel<ExactColumnProductsArgs<'static>>),
}

impl ExactKernel {
    fn compiled(
        queue: &VerbQueue<'_>,
        terms: &ExactTerms<'_>,
        steps: ExactSteps,
        rows: bool,
        shares: Shares,
    ) -> Result<Self> {
        let overrides = steps.overrides(shares.count > 1);
        // The kernels for columns have no barriers.
        match (rows, steps.products) {
            (false, false) => {
                return trusted::kernel_with::<ExactColumnsArgs>(queue, &overrides).map(Self::Columns);
            }
            (false, true) => {
                let kernel = trusted::kernel_with::<ExactColumnProductsArgs>(queue, &overrides);
                return kernel.map(Self::ColumnProducts);
            }
            (true, true) => {
                let kernel = trusted::kernel_with::<ExactRowProductsArgs>(queue, &tuned(queue, &overrides));
                return kernel.map(Self::RowProducts);
            }
            (true, false) => {}
        }
        let is_whole = shares.elements.is_multiple_of(WIDTH) && shares.share.is_multiple_of(WIDTH);
        if let (Some(workgroup), true, Some(x)) = (lanes(queue), is_whole, regrouped(terms.x)) {
            let source = ShaderSource::builtin("exact_vectors.wgsl")?;
            let [stage, finish] = overrides;
            let overrides = [stage, finish, (SIZE, workgroup)];
            let kernel = trusted::kernel_from_source(queue, &source, "exact_vectors", &overrides, false)?;
            return Ok(Self::Vectors { kernel, x: Box::new(x) });
        }
        trusted::kernel_with::<ExactRowsArgs>(queue, &tuned(queue, &overrides)).map(Self::Rows)
    }
}

/// Enqueues the results of segments: a fill of scratch memory with a sum for each segment, and two launches.
#[track_caller]
fn of_segments<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    steps: ExactSteps,
    [x, y]: [&DeviceArray<T, D>; 2],
    bounds: Bounds<'_>,
    out: &DeviceArray<T, E>,
) -> Result<()> {
    let y = bits(y)?;
    let lists = Lists::of(queue, x, bounds, out, &[("y", &y)])?;
    let x = lists.x.cast_bits::<u32>();
    let mut out = lists.out.cast_bits::<u32>();
    let segments = out.len();
    let what = "argument `offsets`: the number of segments";
    check_sums(queue, what, segments, WORDS_OF_SUM, "a smaller number")?;
    if segments == 0 {
        return Ok(());
    }
    if x.is_empty() {
        return queue.fill(&mut out, steps.of_none());
    }
    let kernel = SegmentsKernel::compiled(queue, steps)?;
    let results = steps.results(queue, true)?;
    let mut sums = queue.scratch::<u32>(WORDS_OF_SUM * segments)?;
    lists.write_offsets(queue)?;
    queue.fill(&mut sums, 0)?;
    let shares = Shares::of(x.len()).of_at_most(MOST_OF_SEGMENTS);
    let offsets = &lists.offsets;
    let n = x.len() as u32;
    let count = segments as u32;
    let share = shares.share as u32;
    let zero = ZERO;
    let x = &x;
    let out_sums = &mut sums;
    match kernel {
        SegmentsKernel::Elements(kernel) => {
            let args = ExactSegmentsArgs { n, share, segments: count, zero, offsets, x, out: out_sums };
            launches::launch(queue, &kernel, shares.count, args)?;
        }
        SegmentsKernel::Products(kernel) => {
            let y = &y;
            let args =
                ExactSegmentProductsArgs { n, share, segments: count, zero, offsets, x, y, out: out_sums };
            launches::launch(queue, &kernel, shares.count, args)?;
        }
    }
    let args = ExactResultsArgs { count, n, sums: &sums, offsets, out: &mut out };
    queue.launch(&results, Grid::threads([segments]), args)
}

/// A kernel that adds the terms of segments to their sums in memory.
enum SegmentsKernel {
    Elements(Kernel<ExactSegmentsArgs<'static>>),
    Products(Kernel<ExactSegmentProductsArgs<'static>>),
}

impl SegmentsKernel {
    fn compiled(queue: &VerbQueue<'_>, steps: ExactSteps) -> Result<Self> {
        // The kernels have no barriers, and each segment of an invocation takes many rounds of loops.
        if steps.products {
            return trusted::kernel_with::<ExactSegmentProductsArgs>(queue, &WIDE).map(Self::Products);
        }
        trusted::kernel_with::<ExactSegmentsArgs>(queue, &WIDE).map(Self::Elements)
    }
}

#[derive(KernelArgs)]
#[kernel(source = "exact_rows.wgsl", crate = fencepost_kernels)]
struct ExactRowsArgs<'a> {
    n: u32,
    share: u32,
    in_row: u32,
    shares: u32,
    zero: u32,
    x: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "exact_row_products.wgsl", crate = fencepost_kernels)]
struct ExactRowProductsArgs<'a> {
    n: u32,
    share: u32,
    in_row: u32,
    shares: u32,
    zero: u32,
    x: &'a DeviceArray<u32>,
    y: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "exact_columns.wgsl", crate = fencepost_kernels)]
struct ExactColumnsArgs<'a> {
    n: u32,
    share: u32,
    in_column: u32,
    inner: u32,
    count: u32,
    zero: u32,
    x: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "exact_column_products.wgsl", crate = fencepost_kernels)]
struct ExactColumnProductsArgs<'a> {
    n: u32,
    share: u32,
    in_column: u32,
    inner: u32,
    count: u32,
    zero: u32,
    x: &'a DeviceArray<u32>,
    y: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "exact_segments.wgsl", crate = fencepost_kernels)]
struct ExactSegmentsArgs<'a> {
    n: u32,
    share: u32,
    segments: u32,
    zero: u32,
    offsets: &'a DeviceArray<u32>,
    x: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "exact_segment_products.wgsl", crate = fencepost_kernels)]
struct ExactSegmentProductsArgs<'a> {
    n: u32,
    share: u32,
    segments: u32,
    zero: u32,
    offsets: &'a DeviceArray<u32>,
    x: &'a DeviceArray<u32>,
    y: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "exact_results.wgsl", crate = fencepost_kernels)]
pub(crate) struct ExactResultsArgs<'a> {
    pub(crate) count: u32,
    pub(crate) n: u32,
    pub(crate) sums: &'a DeviceArray<u32>,
    pub(crate) offsets: &'a DeviceArray<u32>,
    pub(crate) out: &'a mut DeviceArray<u32>,
}

//! Selections: the elements at ranks of rows, of columns, of segments and of first elements, without a sort.

use crate::axis::View;
use crate::counted::SizedKernel;
use crate::grid::folded;
use crate::rows::exchanged;
use crate::shares::Shares;
use crate::trusted;
use crate::tuning::{SIZE, by_adapter, limit, tuned};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Grid, Kernel, Result};
use fencepost_derive::KernelArgs;

/// Longest row that one invocation searches.
const SHORT: usize = 64;
/// Longest column that one invocation searches, on a processor and on a GPU. The columns of a longer axis become rows.
const MOST_IN_COLUMN: [usize; 2] = [512, 64];
/// Longest row that one workgroup searches.
const MOST_IN_ROW: usize = 1 << 16;
/// Longest row for which small workgroups need fewer rounds of a loop than a driver may allow.
const MOST_OF_SMALL: usize = 1 << 21;
/// Number of words in the table of a row: see `rank_rows.wgsl`.
const TABLE: usize = 262;
/// Lowest bit of each digit of a key, the highest digit first.
const SHIFTS: [u32; 4] = [24, 16, 8, 0];

/// Place of a quantile among sorted elements: their number times the factor, less the offset. Both are words with the
/// weights 2^-64, 2^-32 and 1. `quantile.wgsl` has the meaning of `rounding`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct QuantilePlace {
    pub(crate) factor: [u32; 3],
    pub(crate) offset: [u32; 3],
    pub(crate) rounding: u32,
}

/// Elements that are divided into rows, each of which has a result.
pub(crate) struct Division {
    x: DeviceArray<u32>,
    /// The array whose columns are copied to the rows of `x`, unless `x` is the given array.
    columns: Option<(DeviceArray<u32>, View)>,
    rows: DividedRows,
}

enum DividedRows {
    /// Columns or short rows.
    Columns(View),
    /// Rows that one workgroup each searches.
    Rows { rows: usize },
    /// Rows that several workgroups search, or the first elements of a single row.
    Long { rows: usize, n: usize, count: Option<DeviceArray<u32>> },
    Segments {
        offsets: DeviceArray<u32>,
        /// Length of the only segment, which the device writes to the offsets.
        length: Option<DeviceArray<u32>>,
    },
}

impl Division {
    /// Returns the elements along the middle axis of a view. There must be at least one. Allocates rows for the columns
    /// of a long axis.
    #[track_caller]
    pub(crate) fn along(queue: &VerbQueue<'_>, x: &DeviceArray<u32>, view: View) -> Result<Self> {
        let View { outer, n, inner } = view;
        let [on_processor, on_card] = MOST_IN_COLUMN;
        let longest = if inner == 1 { SHORT } else { by_adapter(queue, on_processor, on_card) };
        if n <= limit(longest, 10) {
            return Ok(Self { x: x.clone(), columns: None, rows: DividedRows::Columns(view) });
        }
        let count = outer * inner;
        let rows = if n <= limit(MOST_IN_ROW, 90) {
            DividedRows::Rows { rows: count }
        } else {
            DividedRows::Long { rows: count, n, count: None }
        };
        if inner == 1 {
            return Ok(Self { x: x.clone(), columns: None, rows });
        }
        Ok(Self { x: queue.scratch(x.len())?, columns: Some((x.clone(), view)), rows })
    }

    /// Returns the segments of an array that has elements.
    pub(crate) fn of_segments(x: &DeviceArray<u32>, offsets: &DeviceArray<u32>) -> Self {
        let rows = DividedRows::Segments { offsets: offsets.clone(), length: None };
        Self { x: x.clone(), columns: None, rows }
    }

    /// Returns the first elements of an array that has elements.
    #[track_caller]
    pub(crate) fn of_first(
        queue: &VerbQueue<'_>,
        x: &DeviceArray<u32>,
        count: &DeviceArray<u32>,
    ) -> Result<Self> {
        let n = x.len();
        let count = Some(count.clone());
        let rows = if n <= limit(MOST_IN_ROW, 90) {
            DividedRows::Segments { offsets: queue.scratch(2)?, length: count }
        } else {
            DividedRows::Long { rows: 1, n, count }
        };
        Ok(Self { x: x.clone(), columns: None, rows })
    }

    /// Returns the number of results.
    pub(crate) fn results(&self) -> usize {
        match &self.rows {
            DividedRows::Columns(view) => view.outer * view.inner,
            DividedRows::Rows { rows } | DividedRows::Long { rows, .. } => *rows,
            DividedRows::Segments { offsets, .. } => offsets.len().saturating_sub(1),
        }
    }

    /// Enqueues the copy of columns to rows, or the offsets of first elements. Call it before a selection.
    #[track_caller]
    pub(crate) fn enter(&self, queue: &VerbQueue<'_>) -> Result<()> {
        if let Some((x, View { outer, n, inner })) = &self.columns {
            return exchanged(queue, x, [*outer, *n, *inner], &self.x);
        }
        if let DividedRows::Segments { offsets, length: Some(length) } = &self.rows {
            queue.fill(&mut offsets.slice(0..1)?, 0)?;
            queue.copy(length, &mut offsets.slice(1..2)?)?;
        }
        Ok(())
    }
}

/// Treatment of the elements by a selection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Ranking {
    /// Number of the type of the elements in the kernels.
    pub(crate) type_number: f64,
    pub(crate) skips_nan: bool,
    /// `true` if the elements are deviations from a center of each row.
    pub(crate) deviations: bool,
    /// Bits of the result for no elements.
    pub(crate) none: u32,
}

/// Compiled kernels and scratch memory of a selection.
pub(crate) struct Selection {
    kernels: SelectionKernels,
    none: u32,
}

enum SelectionKernels {
    Columns(Kernel<SelectColumnsArgs<'static>>),
    Rows(Kernel<SelectRowsArgs<'static>>),
    Long(Box<LongSelection>),
}

struct LongSelection {
    /// Kernels that count a digit, and that find the key after the last one.
    count: SizedKernel<RankRowsArgs<'static>>,
    next: SizedKernel<RankRowsArgs<'static>>,
    /// Kernels that decide a digit, and that write the results.
    decide: SizedKernel<RankQuantileArgs<'static>>,
    write: SizedKernel<RankQuantileArgs<'static>>,
    tables: DeviceArray<u32>,
}

impl Selection {
    #[track_caller]
    pub(crate) fn new(queue: &VerbQueue<'_>, division: &Division, ranking: Ranking) -> Result<Self> {
        let of_type = ("TYPE", ranking.type_number);
        let skip = ("SKIP_NAN", f64::from(ranking.skips_nan));
        let deviations = ("DEVIATIONS", f64::from(ranking.deviations));
        let kernels = match &division.rows {
            DividedRows::Columns(_) => {
                let overrides = [of_type, skip, deviations];
                SelectionKernels::Columns(trusted::kernel_with::<SelectColumnsArgs<'_>>(queue, &overrides)?)
            }
            DividedRows::Rows { .. } => {
                let overrides = [of_type, skip, deviations, copies(queue)];
                let kernel = trusted::kernel_with::<SelectRowsArgs<'_>>(queue, &tuned(queue, &overrides))?;
                SelectionKernels::Rows(kernel)
            }
            DividedRows::Segments { .. } => {
                let overrides = [of_type, skip, deviations, ("SEGMENTS", 1.0), copies(queue)];
                let mut overrides = tuned(queue, &overrides);
                // The host does not know the lengths of the segments, and a processor has small workgroups.
                if division.x.len() > limit(MOST_OF_SMALL, 90) && by_adapter(queue, true, false) {
                    overrides.retain(|(name, _)| *name != SIZE);
                    overrides.push((SIZE, 256.0));
                }
                SelectionKernels::Rows(trusted::kernel_with::<SelectRowsArgs<'_>>(queue, &overrides)?)
            }
            DividedRows::Long { rows, count, .. } => {
                let count = count.as_ref();
                let ranks = |step: f64| {
                    let overrides = tuned(queue, &[of_type, deviations, ("STEP", step)]);
                    SizedKernel::<RankRowsArgs<'static>>::compiled(queue, &overrides, count)
                };
                let quantiles = |step: f64| {
                    let overrides = [of_type, skip, ("STEP", step)];
                    SizedKernel::<RankQuantileArgs<'static>>::compiled(queue, &overrides, count)
                };
                SelectionKernels::Long(Box::new(LongSelection {
                    count: ranks(0.0)?,
                    next: ranks(1.0)?,
                    decide: quantiles(0.0)?,
                    write: quantiles(1.0)?,
                    tables: queue.scratch(rows * TABLE)?,
                }))
            }
        };
        Ok(Self { kernels, none: ranking.none })
    }

    /// Enqueues `out[at + r]` = the quantile of row r, for each row. Without centers, the elements are no deviations.
    #[track_caller]
    pub(crate) fn enqueue(
        &mut self,
        queue: &VerbQueue<'_>,
        division: &Division,
        centers: Option<&DeviceArray<u32>>,
        place: QuantilePlace,
        at: usize,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let results = division.results();
        if results == 0 {
            return Ok(());
        }
        let x = &division.x;
        // A kernel without deviations does not read the array that is passed for the centers.
        let centers = centers.unwrap_or(x);
        let QuantilePlace { factor, offset, rounding } = place;
        let none = self.none;
        let at = at as u32;
        let count = results as u32;
        match (&mut self.kernels, &division.rows) {
            (SelectionKernels::Columns(kernel), DividedRows::Columns(view)) => {
                let [n, inner] = [view.n, view.inner].map(|n| n as u32);
                let args =
                    SelectColumnsArgs { factor, rounding, offset, n, inner, count, at, x, centers, out };
                queue.launch(kernel, Grid::threads([results]), args)
            }
            (SelectionKernels::Rows(kernel), rows) => {
                let (row, offsets) = match rows {
                    DividedRows::Segments { offsets, .. } => (0, offsets),
                    _ => (x.len() / results, x),
                };
                let n = x.len() as u32;
                let args = SelectRowsArgs {
                    factor,
                    rounding,
                    offset,
                    n,
                    rows: count,
                    row: row as u32,
                    at,
                    none,
                    x,
                    offsets,
                    centers,
                    out,
                };
                queue.launch(kernel, Grid::groups(folded(results)), args)
            }
            (SelectionKernels::Long(long), &DividedRows::Long { rows, n, .. }) => {
                let rows = LongRows { rows, shares: Shares::several(n), x, centers, place, at, none };
                long.enqueue(queue, rows, out)
            }
            _ => panic!("bug: the selection was prepared for another division"),
        }
    }
}

/// Returns the override with the number of counters of each digit. On a GPU, invocations that count the same digit at
/// once wait for each other.
fn copies(queue: &VerbQueue<'_>) -> (&'static str, f64) {
    ("COPIES", by_adapter(queue, 1.0, 4.0))
}

/// Arguments of the launches for long rows.
#[derive(Clone, Copy)]
struct LongRows<'a> {
    rows: usize,
    /// Division of a row into shares.
    shares: Shares,
    x: &'a DeviceArray<u32>,
    centers: &'a DeviceArray<u32>,
    place: QuantilePlace,
    at: u32,
    none: u32,
}

impl LongSelection {
    /// Enqueues a fill, two launches for each digit, and two for the next key and the results.
    #[track_caller]
    fn enqueue(
        &mut self,
        queue: &VerbQueue<'_>,
        rows: LongRows<'_>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let Self { count, next, decide, write, tables } = self;
        queue.fill(tables, 0)?;
        for shift in SHIFTS {
            rows.rank(queue, count, shift, tables)?;
            rows.quantile(queue, decide, shift, tables, out)?;
        }
        rows.rank(queue, next, 0, tables)?;
        rows.quantile(queue, write, 0, tables, out)
    }
}

impl LongRows<'_> {
    /// Enqueues a launch with a workgroup for each share of each row.
    #[track_caller]
    fn rank(
        self,
        queue: &VerbQueue<'_>,
        kernel: &SizedKernel<RankRowsArgs<'static>>,
        shift: u32,
        tables: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let Self { shares, x, centers, .. } = self;
        let groups = self.rows * shares.count;
        let [n, share, in_row, all] = [shares.elements, shares.share, shares.count, groups].map(|n| n as u32);
        let args = RankRowsArgs { n, share, in_row, shares: all, shift, x, centers, tables };
        kernel.launch_folded(queue, groups, args)
    }

    /// Enqueues a launch with an invocation for each row.
    #[track_caller]
    fn quantile(
        self,
        queue: &VerbQueue<'_>,
        kernel: &SizedKernel<RankQuantileArgs<'static>>,
        shift: u32,
        tables: &mut DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let QuantilePlace { factor, offset, rounding } = self.place;
        let Self { at, none, .. } = self;
        let n = self.shares.elements as u32;
        let rows = self.rows as u32;
        let args = RankQuantileArgs { factor, rounding, offset, n, rows, at, none, shift, tables, out };
        kernel.launch_each(queue, self.rows, args)
    }
}

#[derive(KernelArgs)]
#[kernel(source = "select_columns.wgsl", crate = fencepost_kernels)]
struct SelectColumnsArgs<'a> {
    factor: [u32; 3],
    rounding: u32,
    offset: [u32; 3],
    n: u32,
    inner: u32,
    count: u32,
    at: u32,
    x: &'a DeviceArray<u32>,
    centers: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "select_rows.wgsl", crate = fencepost_kernels)]
struct SelectRowsArgs<'a> {
    factor: [u32; 3],
    rounding: u32,
    offset: [u32; 3],
    n: u32,
    rows: u32,
    row: u32,
    at: u32,
    none: u32,
    x: &'a DeviceArray<u32>,
    offsets: &'a DeviceArray<u32>,
    centers: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "rank_rows.wgsl", crate = fencepost_kernels)]
struct RankRowsArgs<'a> {
    n: u32,
    share: u32,
    in_row: u32,
    shares: u32,
    shift: u32,
    x: &'a DeviceArray<u32>,
    centers: &'a DeviceArray<u32>,
    tables: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "rank_quantile.wgsl", crate = fencepost_kernels)]
struct RankQuantileArgs<'a> {
    factor: [u32; 3],
    rounding: u32,
    offset: [u32; 3],
    n: u32,
    rows: u32,
    at: u32,
    none: u32,
    shift: u32,
    tables: &'a mut DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

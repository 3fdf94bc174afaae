//! Products of sparse matrices.

use crate::elementwise::flat;
use crate::grid::folded;
use crate::reducible::{Operation, Reducible};
use crate::refusals::check;
use crate::tuning::{WIDE, by_adapter, limit, tuned};
use crate::typed_kernel::{compiled, value};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, DynKernel, Element, Grid, IntoArg, NamedArg, Result};

/// A sparse matrix in CSR format: compressed sparse rows.
///
/// Row r has the entries from `offsets[r]` up to, not including, `offsets[r + 1]`. Each entry has a column and a value. A
/// row may be empty, its entries may be in any order, and several of them may be in one column. The arrays stay with the
/// program, on the device, where commands may change them.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// // 10  0 20
/// //  0  0 30
/// let (offsets, columns) = (ctx.array(&[0_u32, 2, 3])?, ctx.array(&[0_u32, 2, 2])?);
/// let values = ctx.array(&[10.0_f32, 20.0, 30.0])?;
/// let matrix = Csr::new([2, 3], &offsets, &columns, &values);
/// assert_eq!(matrix.shape(), [2, 3]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Csr<'a, T: Element> {
    shape: [usize; 2],
    offsets: &'a DeviceArray<u32>,
    columns: &'a DeviceArray<u32>,
    values: &'a DeviceArray<T>,
}

impl<'a, T: Element> Csr<'a, T> {
    /// Returns a matrix of rows and columns.
    ///
    /// # Shape
    /// `offsets` has one element more than there are rows; `columns` and `values` have one element for each entry. The
    /// verb that takes the matrix checks this.
    pub fn new(
        shape: [usize; 2],
        offsets: &'a DeviceArray<u32>,
        columns: &'a DeviceArray<u32>,
        values: &'a DeviceArray<T>,
    ) -> Self {
        Self { shape, offsets, columns, values }
    }

    /// Returns the number of rows and of columns.
    pub fn shape(&self) -> [usize; 2] {
        self.shape
    }
}

/// Options of a [`matmul_sparse`](crate::Algorithms::matmul_sparse): `out` = `alpha` a x + `beta` `out`.
///
/// By default, `alpha` is 1 and `beta` is 0: `out` = a x.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let (offsets, columns) = (ctx.array(&[0_u32, 2, 3])?, ctx.array(&[0_u32, 2, 2])?);
/// let values = ctx.array(&[10, 20, 30])?;
/// let matrix = Csr::new([2, 3], &offsets, &columns, &values);
/// let (x, mut out) = (ctx.array(&[1, 2, 3])?, ctx.array(&[1000, 2000])?);
/// queue.matmul_sparse(matrix, &x, &mut out, MatmulSparse::default().alpha(2).beta(-1))?;
/// assert_eq!(queue.read(&out).wait()?, [-860, -1820]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MatmulSparse<T> {
    /// Factor of the products. With 0, neither the entries nor `x` are read.
    pub alpha: T,
    /// Factor of the elements that `out` has before. With 0, they are not read, and may be anything.
    pub beta: T,
    /// Usual number of entries of a row, or `None` for the mean.
    pub row_len: Option<usize>,
}

impl<T: Reducible> Default for MatmulSparse<T> {
    fn default() -> Self {
        Self { alpha: T::ONE, beta: zero(), row_len: None }
    }
}

impl<T> MatmulSparse<T> {
    /// Sets the factor of the products.
    #[must_use]
    pub fn alpha(mut self, alpha: T) -> Self {
        self.alpha = alpha;
        self
    }

    /// Sets the factor of the elements that `out` has before.
    #[must_use]
    pub fn beta(mut self, beta: T) -> Self {
        self.beta = beta;
        self
    }

    /// Sets the usual number of entries of a row. A graphics card divides the entries of a row among as many invocations;
    /// by default, among as many as a row has entries on average. Set it if a few long rows, or many empty ones, change
    /// the mean. The results are the same within their bound.
    #[must_use]
    pub fn row_len(mut self, row_len: usize) -> Self {
        self.row_len = Some(row_len);
        self
    }
}

/// Maximum number of invocations of a row.
const MOST_LANES: usize = 64;
/// Maximum number of divisions of the entries. A loop over the divisions of a row has no more iterations.
const MOST_DIVISIONS: usize = 1 << 15;

/// Division of the entries of a matrix among invocations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct EntryShares {
    /// Number of invocations of a row: 1, or a power of two from 4 on.
    lanes: usize,
    /// Maximum number of entries of a row that is not divided. A loop over them has no more iterations.
    share: usize,
    /// Number of multiples of a share among the entries, before which a row may be divided.
    divisions: usize,
}

impl EntryShares {
    /// Divides the entries of rows that have `row_len` of them. There are `width` results for each row.
    fn of(queue: &VerbQueue<'_>, entries: usize, row_len: usize, width: usize) -> Self {
        // The results of a row are neighbours in memory, and so are the elements of x that they need.
        let of_result = row_len / width.max(1);
        let several = if of_result < 4 { 1 } else { (1_usize << of_result.ilog2()).min(MOST_LANES) };
        // A processor has few threads, so the rows are enough for them.
        let lanes = by_adapter(queue, 1, several.min(most_lanes()));
        // A division takes a search, so wide rows have longer shares.
        let usual = by_adapter(queue, 16_384, if width == 1 { 4096 } else { 16_384 });
        Self::with_share(entries, lanes, limit(usual, 8))
    }

    fn with_share(entries: usize, lanes: usize, usual: usize) -> Self {
        let share = usual.max(entries.div_ceil(MOST_DIVISIONS));
        Self { lanes, share, divisions: entries.saturating_sub(1) / share }
    }
}

/// The arrays of a call with one axis, and its sizes.
struct SparseCall<'a, T: Element> {
    rows: usize,
    columns: usize,
    width: usize,
    /// Number of entries that are read.
    entries: usize,
    offsets: DeviceArray<u32>,
    of_entries: DeviceArray<u32>,
    values: DeviceArray<T>,
    x: DeviceArray<T>,
    out: DeviceArray<T>,
    options: &'a MatmulSparse<T>,
}

impl<T: Reducible> SparseCall<'_, T> {
    /// Returns the parameters of a launch with a number of results.
    fn parameters(&self, results: usize, share: usize) -> Vec<NamedArg<'static>> {
        let size = |name, n: usize| value(name, n as u32);
        vec![
            size("results", results),
            size("rows", self.rows),
            size("entries", self.entries),
            size("x_rows", self.columns),
            size("width", self.width),
            size("share", share),
            value("alpha", self.options.alpha),
            value("beta", self.options.beta),
        ]
    }

    /// Returns the arguments for the matrix and `x`.
    fn factors(&self) -> [NamedArg<'_>; 4] {
        [
            (Some("offsets".into()), (&self.offsets).into_arg()),
            (Some("columns".into()), (&self.of_entries).into_arg()),
            (Some("values".into()), (&self.values).into_arg()),
            (Some("x".into()), (&self.x).into_arg()),
        ]
    }

    /// Returns the error that the launches would give, but enqueues nothing.
    #[track_caller]
    fn check(&self, queue: &VerbQueue<'_>) -> Result<()> {
        let values = self.values.cast_bits();
        let x = self.x.cast_bits();
        let reads =
            [("offsets", &self.offsets), ("columns", &self.of_entries), ("values", &values), ("x", &x)];
        check(queue, &reads, &[("out", &self.out.cast_bits())])
    }

    /// Returns the kernel of the results, and its grid.
    fn kernel(&self, queue: &VerbQueue<'_>, lanes: usize) -> Result<(DynKernel, Grid<'static>)> {
        let results = self.out.len();
        if lanes == 1 {
            return Ok((compiled::<T>(queue, "sparse_rows", &WIDE)?, Grid::threads([results])));
        }
        let of_group = most_lanes() / lanes;
        let overrides = [("LANES", lanes as f64), ("ROWS", of_group as f64)];
        let grid = Grid::groups(folded(results.div_ceil(of_group)));
        Ok((compiled::<T>(queue, "sparse_lanes", &overrides)?, grid))
    }
}

#[track_caller]
pub(crate) fn matmul_sparse<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    a: Csr<'_, T>,
    x: &DeviceArray<T, D>,
    out: &DeviceArray<T, D>,
    options: MatmulSparse<T>,
) -> Result<()> {
    let width = checked_width(queue, &a, x, out)?;
    let [rows, columns] = a.shape;
    let call = SparseCall {
        rows,
        columns,
        width,
        entries: if options.alpha == zero() { 0 } else { a.values.len() },
        offsets: flat(a.offsets)?,
        of_entries: flat(a.columns)?,
        values: flat(a.values)?,
        x: flat(x)?,
        out: flat(out)?,
        options: &options,
    };
    let row_len = options.row_len.unwrap_or(call.entries / rows.max(1));
    let EntryShares { lanes, share, divisions } = EntryShares::of(queue, call.entries, row_len, width);
    let (kernel, grid) = call.kernel(queue, lanes)?;
    let mut out = call.out.clone();
    let mut args: Vec<NamedArg<'_>> = call.parameters(out.len(), share);
    args.extend(call.factors());
    if divisions == 0 || out.is_empty() {
        args.push((Some("out".into()), (&mut out).into_arg()));
        return queue.launch_dyn(&kernel, grid, args);
    }
    let of_shares = compiled::<T>(queue, "sparse_shares", &tuned(queue, &[]))?;
    let of_sums = compiled::<T>(queue, "sparse_sums", &WIDE)?;
    // All refusals come before the first launch.
    call.check(queue)?;
    let partial = divisions.saturating_mul(width);
    let partials = queue.scratch::<T>(partial)?;
    let mut shares: Vec<NamedArg<'_>> = call.parameters(partial, share);
    shares.extend(call.factors());
    let mut written = partials.clone();
    shares.push((Some("partials".into()), (&mut written).into_arg()));
    let mut sums: Vec<NamedArg<'_>> = call.parameters(partial, share);
    sums.push((Some("offsets".into()), (&call.offsets).into_arg()));
    sums.push((Some("partials".into()), (&partials).into_arg()));
    let mut added = call.out.clone();
    sums.push((Some("out".into()), (&mut added).into_arg()));
    args.push((Some("out".into()), (&mut out).into_arg()));
    queue.launch_dyn(&kernel, grid, args)?;
    queue.launch_dyn(&of_shares, Grid::groups(folded(partial)), shares)?;
    queue.launch_dyn(&of_sums, Grid::threads([partial]), sums)
}

/// Returns the number of results of a row, or an error if an array does not fit the matrix.
fn checked_width<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    a: &Csr<'_, T>,
    x: &DeviceArray<T, D>,
    out: &DeviceArray<T, D>,
) -> Result<usize> {
    let [rows, columns] = a.shape;
    if Some(a.offsets.len()) != rows.checked_add(1) {
        let expected = [rows.saturating_add(1)];
        return Err(queue.wrong_shape("offsets", a.offsets, expected, OFFSETS));
    }
    if a.columns.len() != a.values.len() {
        return Err(queue.wrong_shape("columns", a.columns, [a.values.len()], COLUMNS));
    }
    let mut shape = x.shape();
    let width = match shape[..] {
        [_] => 1,
        [_, width] => width,
        _ => return Err(queue.wrong_shape("x", x, [columns], FACTOR)),
    };
    shape[0] = columns; // there is an axis
    if x.shape() != shape {
        return Err(queue.wrong_shape("x", x, shape, FACTOR));
    }
    shape[0] = rows;
    if out.shape() != shape {
        return Err(queue.wrong_shape("out", out, shape, RESULTS));
    }
    Ok(width)
}

const OFFSETS: &str = "a row lies between two offsets, so there is one offset more than rows";
const COLUMNS: &str = "each entry has a column and a value";
const FACTOR: &str =
    "`x` is a vector with one element for each column of the matrix, or a matrix with one row for each";
const RESULTS: &str = "the results have one row for each row of the matrix, and the columns of `x`";

/// Returns the maximum number of invocations of a row, which is the number of those of a workgroup.
fn most_lanes() -> usize {
    limit(MOST_LANES, 16)
}

fn zero<T: Reducible>() -> T {
    T::identity(Operation::Sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_loop_exceeds_the_iterations_of_a_device() {
        const MOST: usize = 65_535;
        for entries in [0, 1, 8, 9, 4096, 4097, 1 << 26, (1 << 30) - 1, 1 << 30] {
            for usual in [8, 4096, 16_384] {
                let EntryShares { share, divisions, .. } = EntryShares::with_share(entries, 1, usual);
                assert!(share < MOST && divisions < MOST, "{share} and {divisions} of {entries}");
                // Each multiple of a share among the entries counts, and no other.
                assert!(
                    divisions * share < entries.max(1) && (divisions + 1) * share >= entries,
                    "{entries}"
                );
            }
        }
    }
}

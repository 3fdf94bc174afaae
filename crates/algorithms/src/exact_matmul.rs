//! Products of matrices of `f32` that are the same on each device: each result is the exact sum of the exact products,
//! rounded once.

use crate::exact::{ExactResultsArgs, ExactSteps, WORDS_OF_SUM};
use crate::grid::folded;
use crate::products::{MatrixPlaces, Products};
use crate::shares::{InnerLimits, Shares};
use crate::strided::{CopiedAxis, copy_axes};
use crate::trusted;
use crate::tuning::{by_adapter, limit};
use crate::verb_queue::VerbQueue;
use crate::weighted::check_sums;
use fencepost_core::{DeviceArray, Grid, Kernel, Result};
use fencepost_derive::KernelArgs;

/// Number of inner indices that a workgroup takes at a time.
const LINE: usize = 32;
/// Maximum number of inner indices of a share: an invocation adds at most 101 numbers for each line, and carries digits
/// after at most 32,767. Its loops have fewer than 2^16 iterations, and some devices end an invocation there.
const MOST_IN_SHARE: usize = 8192;

/// Enqueues the exact results, of which there must be at least one: one launch, or a fill of scratch memory with a sum
/// for each result, two launches, and a copy if `out` has gaps.
#[track_caller]
pub(crate) fn enqueue(
    queue: &VerbQueue<'_>,
    products: &Products,
    factors: [&DeviceArray<u32>; 2],
    out: &mut DeviceArray<u32>,
) -> Result<()> {
    let tiles = ExactTiles::of(queue, products);
    let kernel = tiles.compiled(queue)?;
    if tiles.shares.count == 1 {
        return tiles.launch(queue, &kernel, factors, (out, products.out));
    }
    let what = "argument `out`: the number of results";
    let needed = "a smaller number, or sums of at most 8192 products,";
    check_sums(queue, what, products.results(), WORDS_OF_SUM, needed)?;
    let rounding = ExactSteps::DOT.results(queue, false)?;
    let compact = products.compact();
    let axes = axes_of(products, compact);
    // The results of one launch are the elements of `out` in order, unless it has gaps.
    let has_gaps = axes.iter().any(|axis| axis.count > 1 && axis.from != axis.to);
    let mut sums = queue.scratch::<u32>(WORDS_OF_SUM * products.results())?;
    let mut in_order = if has_gaps { queue.scratch(products.results())? } else { out.clone() };
    queue.fill(&mut sums, 0)?;
    tiles.launch(queue, &kernel, factors, (&mut sums, compact))?;
    let count = products.results() as u32;
    let n = products.inner as u32;
    // Without segments, the kernel reads no offsets.
    let args = ExactResultsArgs { count, n, sums: &sums, offsets: &sums, out: &mut in_order };
    queue.launch(&rounding, Grid::threads([products.results()]), args)?;
    if has_gaps {
        copy_axes(queue, &axes, (&in_order, 0), (out, products.out.first))?;
    }
    Ok(())
}

/// Returns the axes of all results, with the distances of neighbours in an array without gaps and in `out`.
fn axes_of(products: &Products, compact: MatrixPlaces) -> Vec<CopiedAxis> {
    let out = products.out;
    let of_stack = products.stack.into_iter().zip(compact.stack).zip(out.stack);
    let of_matrix =
        [((products.rows, compact.row), out.row), ((products.columns, compact.column), out.column)];
    of_stack.chain(of_matrix).map(|((count, from), to)| CopiedAxis { count, from, to }).collect()
}

/// A division of products of matrices among workgroups.
struct ExactTiles<'a> {
    products: &'a Products,
    /// Number of rows and of columns of a tile.
    sides: [usize; 2],
    /// Number of tiles.
    tiles: usize,
    /// Division of the inner index. With several shares, the kernel adds to sums in memory.
    shares: Shares,
}

impl<'a> ExactTiles<'a> {
    /// Divides products. A choice changes no bit of a result, so it may depend on the device.
    fn of(queue: &VerbQueue<'_>, products: &'a Products) -> Self {
        let sides = sides_of([products.rows, products.columns]);
        let [down, across] = sides;
        let tiles = products.matrices() * products.rows.div_ceil(down) * products.columns.div_ceil(across);
        let limits = InnerLimits {
            wanted: limit(by_adapter(queue, 16, 256), 7),
            undivided: limit(1024, LINE),
            least: limit(256, LINE),
            most: MOST_IN_SHARE,
            multiple: LINE,
        };
        Self { products, sides, tiles, shares: Shares::of_inner(products.inner, tiles, &limits) }
    }

    fn compiled(&self, queue: &VerbQueue<'_>) -> Result<Kernel<ExactMatmulArgs<'static>>> {
        let [down, across] = self.sides.map(|side| side as f64);
        let adds_to_sums = f64::from(u8::from(self.shares.count > 1));
        let overrides = [("DOWN", down), ("ACROSS", across), ("STAGE", adds_to_sums)];
        trusted::kernel_with::<ExactMatmulArgs>(queue, &overrides)
    }

    /// Enqueues the launch. The results, or their sums, have these places in `out`.
    #[track_caller]
    fn launch(
        &self,
        queue: &VerbQueue<'_>,
        kernel: &Kernel<ExactMatmulArgs<'static>>,
        [a, b]: [&DeviceArray<u32>; 2],
        (out, places): (&mut DeviceArray<u32>, MatrixPlaces),
    ) -> Result<()> {
        let Products { rows, columns, inner, stack, a: of_a, b: of_b, .. } = *self.products;
        let groups = self.tiles * self.shares.count;
        // Products of strides and indices wrap, so the lowest bits of a negative stride suffice.
        let args = ExactMatmulArgs {
            groups: groups as u32,
            rows: rows as u32,
            columns: columns as u32,
            inner: inner as u32,
            share: self.shares.share as u32,
            shares: self.shares.count as u32,
            count_1: stack[1] as u32,
            count_2: stack[2] as u32,
            a_first: of_a.first as u32,
            a_row: of_a.row as u32,
            a_inner: of_a.column as u32,
            a_0: of_a.stack[0] as u32,
            a_1: of_a.stack[1] as u32,
            a_2: of_a.stack[2] as u32,
            b_first: of_b.first as u32,
            b_inner: of_b.row as u32,
            b_column: of_b.column as u32,
            b_0: of_b.stack[0] as u32,
            b_1: of_b.stack[1] as u32,
            b_2: of_b.stack[2] as u32,
            out_row: places.row as u32,
            out_column: places.column as u32,
            out_0: places.stack[0] as u32,
            out_1: places.stack[1] as u32,
            out_2: places.stack[2] as u32,
            a,
            b,
            out,
        };
        queue.launch(kernel, Grid::groups(folded(groups)), args)
    }
}

/// Returns the rows and the columns of a tile of results. Few of the one leave room for more of the other in the memory
/// of a workgroup.
fn sides_of(results: [usize; 2]) -> [usize; 2] {
    let [few, many, most] = [limit(4, 2), limit(16, 4), limit(32, 8)];
    let sides = results.map(|len| [1, few].into_iter().find(|&side| len <= side).unwrap_or(many));
    match sides {
        [down, across] if down == many && across < many => [most, across],
        [down, across] if down < many && across == many => [down, most],
        _ => sides,
    }
}

#[derive(KernelArgs)]
#[kernel(source = "exact_matmul.wgsl", crate = fencepost_kernels)]
struct ExactMatmulArgs<'a> {
    groups: u32,
    rows: u32,
    columns: u32,
    inner: u32,
    share: u32,
    shares: u32,
    count_1: u32,
    count_2: u32,
    a_first: u32,
    a_row: u32,
    a_inner: u32,
    a_0: u32,
    a_1: u32,
    a_2: u32,
    b_first: u32,
    b_inner: u32,
    b_column: u32,
    b_0: u32,
    b_1: u32,
    b_2: u32,
    out_row: u32,
    out_column: u32,
    out_0: u32,
    out_1: u32,
    out_2: u32,
    a: &'a DeviceArray<u32>,
    b: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_fits_into_the_memory_and_the_invocations_of_a_workgroup() {
        for rows in [1, 3, 4, 5, 16, 100] {
            for columns in [1, 2, 4, 5, 17, 1000] {
                let [down, across] = sides_of([rows, columns]);
                assert!(down * across <= 256, "{down} x {across}");
                // Three integers of each element, and two words of each line.
                assert!((down + across) * (3 * LINE + 2) * 4 <= 16_384, "{down} x {across}");
            }
        }
        assert_eq!([sides_of([1, 1]), sides_of([100, 3]), sides_of([1, 9])], [[1, 1], [32, 4], [1, 32]]);
        assert_eq!(sides_of([100, 100]), [16, 16]);
    }
}

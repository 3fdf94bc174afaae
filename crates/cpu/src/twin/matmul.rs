//! The twin of `matmul_tiles`: products of matrices of `f32`.
#![allow(unsafe_code, reason = "the elements of matrices are accessed in place")]

use super::override_value;
use crate::error::Fault;
use crate::program::Program;
use crate::run::{Cells, GridRun};
use bytemuck::{Pod, Zeroable};
use matrixmultiply::sgemm;
use std::sync::atomic::{AtomicU32, Ordering};

/// Maximum number of products that are computed together, so that a run soon stops.
const MOST_PRODUCTS: u64 = 1 << 28;
/// Maximum number of results of several workgroups that are computed together: their sums may need memory.
const MOST_RESULTS: u64 = 1 << 18;

/// Native code of `matmul_tiles`.
///
/// The order of the additions of a sum depends only on the number of its products, so results have the same bits
/// wherever they are in a block.
pub(crate) struct MatmulTwin {
    /// Number of rows of the results of a workgroup.
    height: u32,
    /// Number of columns of the results of a workgroup.
    width: u32,
    is_biased: bool,
}

/// The uniform block of the kernel, as in `matrix_params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct ProductParams {
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
    a_stack: [u32; 3],
    b_first: u32,
    b_inner: u32,
    b_column: u32,
    b_stack: [u32; 3],
    out_row: u32,
    out_column: u32,
    out_share: u32,
    out_stack: [u32; 3],
    bias_row: u32,
    bias_column: u32,
    alpha: f32,
    beta: f32,
}

/// A run with the values of its parameters.
struct ProductRun<'r> {
    twin: &'r MatmulTwin,
    params: ProductParams,
    a: Cells<'r>,
    b: Cells<'r>,
    bias: Cells<'r>,
    out: Cells<'r>,
    /// Number of blocks of results in a line of a matrix.
    across: u64,
    /// Number of lines of blocks in a matrix.
    down: u64,
    /// Copies of the factors of a tile, and its sums before they are results.
    copies: [Vec<f32>; 2],
    sums: Vec<f32>,
}

/// Some neighbouring results of a matrix.
struct ResultTile {
    matrix: u32,
    share: u32,
    row: u32,
    column: u32,
    rows: u32,
    columns: u32,
}

/// Elements of a matrix in a buffer.
#[derive(Clone, Copy)]
struct PlacedMatrix {
    first: *mut f32,
    /// Distance of neighbouring rows.
    row: isize,
    /// Distance of neighbouring columns.
    column: isize,
}

impl MatmulTwin {
    pub(super) fn of(program: &Program) -> Option<Self> {
        let [across, down, _] = program.workgroup();
        let is_biased = override_value(program, "BIASED")? == 1;
        Some(Self { height: 4 * down, width: 4 * across, is_biased })
    }

    pub(super) fn run(&self, run: &GridRun<'_>) -> Result<u64, Fault> {
        let mut next = run.range.start;
        let Some(mut products) = ProductRun::of(self, run) else { return Ok(next) };
        let end = run.range.end.min(u64::from(products.params.groups));
        while next < end {
            if run.stop.load(Ordering::Relaxed) {
                return Err(Fault::Stopped);
            }
            match products.compute_from(next, end) {
                Some(after) => next = after,
                None => return Ok(next),
            }
        }
        Ok(run.range.end) // the workgroups after the last block have no results
    }
}

impl<'r> ProductRun<'r> {
    /// Returns `None` if the kernel would divide by zero, or if there are other buffers than the kernel's.
    fn of(twin: &'r MatmulTwin, run: &GridRun<'r>) -> Option<Self> {
        let params: ProductParams =
            bytemuck::pod_read_unaligned(run.params.get(..size_of::<ProductParams>())?);
        let &[a, b, bias, out] = run.buffers else { return None };
        let across = u64::from(params.columns.div_ceil(twin.width));
        let down = u64::from(params.rows.div_ceil(twin.height));
        let divisors = [across, down, params.shares.into(), params.count_1.into(), params.count_2.into()];
        // A workgroup that computes for long would not see that the run should stop.
        let inner = u64::from(params.inner.min(params.share));
        let is_short = u64::from(twin.height) * u64::from(twin.width) * inner <= MOST_PRODUCTS;
        (is_short && !divisors.contains(&0)).then(|| {
            let copies = <[Vec<f32>; 2]>::default();
            Self { twin, params, a, b, bias, out, across, down, copies, sums: Vec::new() }
        })
    }

    /// Executes the workgroup `first`, and others before `end` whose results are next to its own. Returns the number of
    /// the first workgroup after them, or `None` if an element is outside of its buffer.
    fn compute_from(&mut self, first: u64, end: u64) -> Option<u64> {
        let MatmulTwin { height, width, .. } = *self.twin;
        let shares = u64::from(self.params.shares);
        let block = first / shares;
        let line = block / self.across;
        let place = block % self.across;
        let left = (end - first).min(self.most_together());
        let [lines, blocks] = if shares > 1 {
            [1, 1]
        } else if place == 0 && left >= self.across {
            [(left / self.across).min(self.down - line % self.down), self.across]
        } else {
            [1, left.min(self.across - place)]
        };
        let row = (line % self.down) as u32 * height;
        let column = place as u32 * width;
        let rows = (lines as u32 * height).min(self.params.rows - row);
        let columns = (blocks as u32 * width).min(self.params.columns - column);
        let matrix = (line / self.down) as u32;
        let share = (first % shares) as u32;
        self.compute(&ResultTile { matrix, share, row, column, rows, columns })?;
        Some(first + lines * blocks)
    }

    /// Returns the maximum number of workgroups whose results are computed together.
    fn most_together(&self) -> u64 {
        let results = u64::from(self.twin.height) * u64::from(self.twin.width);
        let products = results * u64::from(self.params.inner.max(1));
        (MOST_PRODUCTS / products).min(MOST_RESULTS / results).max(1)
    }

    /// Computes the results of a tile. If an element is outside of its buffer, returns `None` and computes nothing.
    fn compute(&mut self, tile: &ResultTile) -> Option<()> {
        let params = self.params;
        let &ResultTile { share, row, column, rows, columns, .. } = tile;
        let start = share.wrapping_mul(params.share);
        let inner = params.inner.min(start.wrapping_add(params.share)).saturating_sub(start);
        // Places wrap as in the kernel, where negative distances are large numbers.
        let place = |first: u32, [one, one_step]: [u32; 2], [other, other_step]: [u32; 2]| {
            first.wrapping_add(one.wrapping_mul(one_step)).wrapping_add(other.wrapping_mul(other_step))
        };
        let first = self.first_of(tile.matrix, params.a_first, params.a_stack);
        let first = place(first, [row, params.a_row], [start, params.a_inner]);
        let a = PlacedMatrix::of(&self.a, first, [rows, inner], [params.a_row, params.a_inner])?;
        let first = self.first_of(tile.matrix, params.b_first, params.b_stack);
        let first = place(first, [start, params.b_inner], [column, params.b_column]);
        let b = PlacedMatrix::of(&self.b, first, [inner, columns], [params.b_inner, params.b_column])?;
        let first = self.first_of(tile.matrix, share.wrapping_mul(params.out_share), params.out_stack);
        let first = place(first, [row, params.out_row], [column, params.out_column]);
        let out = PlacedMatrix::of(&self.out, first, [rows, columns], [params.out_row, params.out_column])?;
        let bias = if self.twin.is_biased {
            let first = place(0, [row, params.bias_row], [column, params.bias_column]);
            let steps = [params.bias_row, params.bias_column];
            Some(PlacedMatrix::of(&self.bias, first, [rows, columns], steps)?)
        } else {
            None
        };
        let [rows, inner, columns] = [rows, inner, columns].map(|count| count as usize);
        if !out.is_of_different_elements([rows, columns]) {
            return None;
        }
        let [copy_of_a, copy_of_b] = &mut self.copies;
        let a = a.copied([rows, inner], copy_of_a);
        let b = b.copied([inner, columns], copy_of_b);
        self.sums.resize(self.sums.len().max(rows * columns), 0.0);
        let sums = PlacedMatrix { first: self.sums.as_mut_ptr(), row: columns as isize, column: 1 };
        multiply([rows, inner, columns], a, b, sums);
        self.finish([rows, columns], bias, out);
        Some(())
    }

    /// Returns the place of the first element of a matrix of a stack, as `matrix_index.wgsl` does.
    fn first_of(&self, matrix: u32, first: u32, steps: [u32; 3]) -> u32 {
        let ProductParams { count_1, count_2, .. } = self.params;
        let line = matrix / count_2;
        let index = [line / count_1, line % count_1, matrix % count_2];
        let distances = index.iter().zip(steps).map(|(&index, step)| index.wrapping_mul(step));
        distances.fold(first, u32::wrapping_add)
    }

    /// Writes the results of the sums, as `matrix_result.wgsl` does.
    fn finish(&self, [rows, columns]: [usize; 2], bias: Option<PlacedMatrix>, out: PlacedMatrix) {
        let ProductParams { alpha, beta, .. } = self.params;
        for row in 0..rows {
            let sums = &self.sums[row * columns..][..columns];
            for (column, sum) in sums.iter().enumerate() {
                let result = out.element(row, column);
                let mut x = alpha * sum;
                if beta != 0.0 {
                    x += beta * f32::from_bits(result.load(Ordering::Relaxed));
                }
                if let Some(bias) = bias {
                    x += f32::from_bits(bias.element(row, column).load(Ordering::Relaxed));
                }
                result.store(x.to_bits(), Ordering::Relaxed);
            }
        }
    }
}

impl PlacedMatrix {
    /// Returns the elements from a place on, or `None` if there are none, or if one of them is outside of the buffer.
    fn of(cells: &Cells<'_>, first: u32, counts: [u32; 2], steps: [u32; 2]) -> Option<Self> {
        if counts.contains(&0) {
            return None;
        }
        // A large number is a negative distance. That of the only row or column may be any.
        let steps: [i32; 2] =
            std::array::from_fn(|axis| if counts[axis] > 1 { steps[axis] as i32 } else { 0 });
        let last = |axis: usize| i128::from(counts[axis] - 1) * i128::from(steps[axis]);
        let ends = [last(0), last(1)];
        let low = i128::from(first) + ends.iter().map(|end| end.min(&0)).sum::<i128>();
        let high = i128::from(first) + ends.iter().map(|end| end.max(&0)).sum::<i128>();
        if low < 0 || high >= (cells.len() / size_of::<f32>()) as i128 {
            return None;
        }
        let first = cells.start().cast::<f32>().wrapping_add(first as usize);
        let [row, column] = steps.map(|step| step as isize);
        Some(Self { first, row, column })
    }

    /// Returns an element, whose row and column are among those that [`of`](Self::of) has checked.
    fn element<'r>(self, row: usize, column: usize) -> &'r AtomicU32 {
        let at = self.first.wrapping_offset(row as isize * self.row + column as isize * self.column);
        // SAFETY: `of` has checked that the element is inside of the buffer, which begins at a multiple of 16. The twin
        // accesses its bytes through atomic operations only, and no other reference to them exists during the run.
        unsafe { AtomicU32::from_ptr(at.cast()) }
    }

    /// Copies all elements to a list. In it, neighbours along the axis with the smaller distance are neighbours too.
    fn copied(self, [rows, columns]: [usize; 2], list: &mut Vec<f32>) -> Self {
        list.clear();
        let value =
            |row: usize, column: usize| f32::from_bits(self.element(row, column).load(Ordering::Relaxed));
        let by_columns = self.row.unsigned_abs() < self.column.unsigned_abs();
        if by_columns {
            (0..columns).for_each(|column| list.extend((0..rows).map(|row| value(row, column))));
        } else {
            (0..rows).for_each(|row| list.extend((0..columns).map(|column| value(row, column))));
        }
        let [row, column] = if by_columns { [1, rows as isize] } else { [columns as isize, 1] };
        Self { first: list.as_mut_ptr(), row, column }
    }

    /// Returns `true` if no two of its elements are at one place, because the rows are apart, or the columns.
    fn is_of_different_elements(self, [rows, columns]: [usize; 2]) -> bool {
        let is_apart = |count: usize, step: isize, extent: usize| count == 1 || step.unsigned_abs() >= extent;
        let extent = |count: usize, step: isize| (count - 1) * step.unsigned_abs() + 1;
        let by_rows =
            is_apart(columns, self.column, 1) && is_apart(rows, self.row, extent(columns, self.column));
        let by_columns =
            is_apart(rows, self.row, 1) && is_apart(columns, self.column, extent(rows, self.row));
        by_rows || by_columns
    }
}

/// Computes `out` = a b for matrices with these numbers of rows of `a`, of columns of `a` and of columns of `b`, which
/// are lists of a run.
fn multiply([rows, inner, columns]: [usize; 3], a: PlacedMatrix, b: PlacedMatrix, out: PlacedMatrix) {
    // SAFETY: the lists have all elements of the matrices, the results are at different places, and only this thread
    // accesses the lists.
    unsafe {
        sgemm(
            rows, inner, columns, 1.0, a.first, a.row, a.column, b.first, b.row, b.column, 0.0, out.first,
            out.row, out.column,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{Launch, bits, built_in};
    use super::*;
    use std::sync::Arc;

    /// Half a unit in the last place of numbers from 1 to 2.
    const U: f32 = 1.0 / 16_777_216.0;

    /// Distances of neighbours along two axes with these lengths, and the place of the first element.
    type Layout = ([i32; 2], u32);

    /// A launch whose factors and results have any places.
    struct Case {
        program: Arc<Program>,
        params: ProductParams,
        buffers: Vec<Vec<f32>>,
    }

    impl Case {
        fn launch(&self) -> Launch<'_> {
            let groups = [self.params.groups, 1, 1];
            Launch { groups, params: bytemuck::bytes_of(&self.params), buffers: &self.buffers }
        }

        /// Returns the greatest error that the tolerance of the kernel allows, with elements from -1 to 1.
        fn bound(&self) -> f32 {
            let ProductParams { inner, alpha, beta, .. } = self.params;
            let terms = inner as f32;
            (terms + 5.0) * U * (alpha.abs() * terms + beta.abs() + 1.0)
        }

        /// Asserts that both lists of buffers have the same factors and the same results, each within the bound.
        #[track_caller]
        fn check_results(&self, found: &[Vec<f32>], expected: &[Vec<f32>]) {
            assert!(bits(&found[..3]) == bits(&expected[..3]), "the factors stay");
            for (place, (found, expected)) in found[3].iter().zip(&expected[3]).enumerate() {
                let error = (found - expected).abs();
                let params = &self.params;
                assert!(error <= 2.0 * self.bound(), "place {place}: {found}, not {expected}: {params:?}");
            }
        }
    }

    /// Returns one of the layouts: by rows, by columns with gaps, from the last row on, and with gaps in the rows.
    fn layout(kind: usize, [rows, columns]: [u32; 2]) -> Layout {
        let [r, c] = [rows, columns].map(|count| count as i32);
        match kind {
            0 => ([c, 1], 0),
            1 => ([1, r + 3], 7),
            2 => ([-c - 2, 1], (rows - 1) * (columns + 2)),
            _ => ([3 * c, 3], 5),
        }
    }

    /// Returns the number of elements that a layout with stacked matrices needs, and the distance of two matrices.
    fn extent(([row, column], first): Layout, [rows, columns]: [u32; 2], matrices: u32) -> [u32; 2] {
        let last = |count: u32, step: i32| (count - 1) * step.max(0) as u32;
        let matrix = first + last(rows, row) + last(columns, column) + 1;
        [matrix * matrices, matrix]
    }

    fn numbers(rng: &mut fastrand::Rng, count: u32) -> Vec<f32> {
        (0..count).map(|_| rng.f32() * 2.0 - 1.0).collect()
    }

    fn case(rng: &mut fastrand::Rng, at: usize) -> Case {
        let [rows, inner, columns] = [(); 3].map(|()| rng.u32(1..40));
        let tile = [[2, 2], [4, 2], [2, 4]][at % 3];
        let [across, down] = tile;
        let stack = [rng.u32(1..3), rng.u32(1..3)];
        let matrices: u32 = stack.iter().product();
        // Several shares have results of their own, one after the other.
        let share = if at % 4 == 3 { inner.div_ceil(2) } else { inner };
        let shares = inner.div_ceil(share);
        let a = layout(rng.usize(0..4), [rows, inner]);
        let b = layout(rng.usize(0..4), [inner, columns]);
        let out = layout([0, 1, 3][rng.usize(0..3)], [rows, columns]);
        let [a_len, a_step] = extent(a, [rows, inner], matrices);
        let [b_len, b_step] = extent(b, [inner, columns], matrices);
        let [out_len, out_step] = extent(out, [rows, columns], matrices);
        let is_biased = at % 2 == 1;
        let [alpha, beta] = [[1.0, 0.0], [-2.5, 0.0], [1.0, 3.0], [0.75, -1.0], [1.0, 0.0]][at % 5];
        let blocks = rows.div_ceil(4 * down) * columns.div_ceil(4 * across);
        let of_stack = |step: u32| [0, step * stack[1], step];
        let params = ProductParams {
            groups: blocks * matrices * shares,
            rows,
            columns,
            inner,
            share,
            shares,
            count_1: stack[0],
            count_2: stack[1],
            a_first: a.1,
            a_row: a.0[0] as u32,
            a_inner: a.0[1] as u32,
            a_stack: of_stack(a_step),
            b_first: b.1,
            b_inner: b.0[0] as u32,
            b_column: b.0[1] as u32,
            b_stack: of_stack(b_step),
            out_row: out.0[0] as u32,
            out_column: out.0[1] as u32,
            out_share: out_len,
            out_stack: of_stack(out_step),
            bias_row: 0,
            bias_column: 1,
            alpha,
            beta,
        };
        let overrides = [
            ("ACROSS", f64::from(across)),
            ("DOWN", f64::from(down)),
            ("BIASED", f64::from(u8::from(is_biased))),
        ];
        let program = built_in("matmul_tiles.wgsl", &overrides);
        let buffers = [a_len, b_len, columns, out_len * shares].map(|count| numbers(rng, count)).to_vec();
        Case { program, params, buffers }
    }

    fn cases() -> impl Iterator<Item = Case> {
        let mut rng = fastrand::Rng::with_seed(31);
        (0..60).map(move |at| case(&mut rng, at))
    }

    #[test]
    fn results_are_those_of_the_text_within_its_tolerance() {
        for case in cases() {
            let expected = case.launch().of_text(&case.program);
            let found = case.launch().of_twin(&case.program);
            case.check_results(&found, &expected);
        }
    }

    #[test]
    fn a_result_has_the_same_bits_in_each_division_of_the_grid() {
        for case in cases() {
            let all = u64::from(case.params.groups);
            let whole = case.launch().of_twin(&case.program);
            for step in [1, 2, 5] {
                let ranges: Vec<_> =
                    (0..all).step_by(step as usize).map(|start| start..all.min(start + step)).collect();
                let found = case.launch().of_twin_in(&case.program, &ranges);
                assert!(bits(&found) == bits(&whole), "{step} workgroups together: {:?}", case.params);
            }
        }
    }

    #[test]
    fn elements_outside_of_a_buffer_are_those_of_the_text() {
        let mut is_left = [false; 4];
        for case in cases() {
            for (cut, is_left) in is_left.iter_mut().enumerate() {
                let mut buffers = case.buffers.clone();
                let len = buffers[cut].len();
                buffers[cut].truncate(len.div_ceil(2));
                let short = Case { buffers, program: case.program.clone(), ..case };
                *is_left |= short.launch().left_by_twin(&case.program) < u64::from(case.params.groups);
                if cut == 3 {
                    continue; // several invocations of the text write the last element, in any order
                }
                let expected = short.launch().of_text(&case.program);
                let found = short.launch().of_kernel(&case.program);
                short.check_results(&found, &expected);
            }
        }
        assert_eq!(is_left, [true; 4], "each buffer is too short for some case");
    }

    #[test]
    fn results_at_one_place_are_left_to_the_text() {
        let has_many = |case: &Case| case.params.rows > 1 && case.params.columns > 1;
        let mut case = cases().find(has_many).expect("a case has rows and columns");
        assert!(case.launch().left_by_twin(&case.program) > 0);
        case.params.out_row = 0;
        assert_eq!(case.launch().left_by_twin(&case.program), 0);
        case.params.out_row = 1;
        case.params.out_column = 1;
        assert_eq!(case.launch().left_by_twin(&case.program), 0);
    }

    #[test]
    fn a_stopped_run_computes_nothing() {
        let case = cases().next().expect("there are cases");
        case.launch().check_stop(&case.program);
    }
}

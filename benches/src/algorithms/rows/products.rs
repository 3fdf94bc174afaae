use fencepost::algorithms::{Algorithms as _, Determinism, Matmul};
use ndarray::linalg::{general_mat_mul, general_mat_vec_mul};
use ndarray::{ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2};
use rayon::prelude::*;

use super::everywhere::floats;
use super::{COLUMNS, Size, bytes};
use crate::cpu::case::{Case, Work};
use crate::cpu::cases::whole_floats;
use crate::cpu::values::Check;

/// Maximum number of rows of the results of a task of plain Rust.
const ROWS: usize = 64;
/// Panic of a view with another number of elements.
const WRONG: &str = "bug: the matrix has other elements";

/// Sizes of a stack of products.
#[derive(Clone, Copy)]
struct Stack {
    matrices: usize,
    rows: usize,
    inner: usize,
    columns: usize,
}

impl Stack {
    /// Returns the sizes of one product of square matrices.
    fn square(size: Size) -> Self {
        let side = if size.quick { 64 } else { 1024 };
        Self { matrices: 1, rows: side, inner: side, columns: side }
    }
}

pub(super) fn square(size: Size) -> Case {
    of_matrices(Stack::square(size))
}

/// Computes results that are the same on all devices, with the sizes of `square`.
pub(super) fn everywhere(size: Size) -> Case {
    let stack = Stack::square(size);
    let side = stack.rows;
    let a = floats(side * side, 86);
    let b = floats(side * side, 87);
    let expected = rounded(&a, &b, side);
    let case = Case::verb(
        [a, b],
        expected,
        Work::of(2.0 * (side * side * side) as f64, "flop"),
        move |queue, [a, b], out| {
            let a = a.reshape([side, side])?;
            let b = b.reshape([side, side])?;
            let options = Matmul::default().determinism(Determinism::Everywhere);
            queue.matmul(&a, &b, &mut out.reshape([side, side])?, options)
        },
        move |[a, b], out| plain(a, b, out, stack),
    );
    Case { check: Check::Close(1e-4), ..case }
}

pub(super) fn stack(size: Size) -> Case {
    let (matrices, side) = if size.quick { (4, 32) } else { (64, 128) };
    of_matrices(Stack { matrices, rows: side, inner: side, columns: side })
}

/// Computes few results with long sums, which the verb divides.
pub(super) fn long_sums(size: Size) -> Case {
    let inner = (size.many() / 32).max(2048);
    of_matrices(Stack { matrices: 1, rows: 16, inner, columns: 16 })
}

/// Multiplies a matrix by a vector.
pub(super) fn vector(size: Size) -> Case {
    let rows = size.many() / COLUMNS;
    let stack = Stack { matrices: 1, rows, inner: COLUMNS, columns: 1 };
    let a = whole_floats(rows * COLUMNS, 67);
    let x = whole_floats(COLUMNS, 68);
    let expected = products(&a, &x, stack);
    Case::verb(
        [a, x],
        expected,
        bytes(4 * rows * COLUMNS),
        |queue, [a, x], out| {
            let a = a.reshape([a.len() / COLUMNS, COLUMNS])?;
            queue.matmul(&a, x, out, Matmul::default())
        },
        |[a, x], out| {
            let rows = out.len().div_ceil(4 * rayon::current_num_threads());
            out.par_chunks_mut(rows).zip(a.par_chunks(rows * COLUMNS)).for_each(|(out, a)| {
                let a = view(a, [out.len(), COLUMNS]);
                general_mat_vec_mul(1.0, &a, &ArrayView1::from(x), 0.0, &mut ArrayViewMut1::from(out));
            });
        },
    )
}

fn of_matrices(stack: Stack) -> Case {
    let Stack { matrices, rows, inner, columns } = stack;
    let a = whole_floats(matrices * rows * inner, 65);
    let b = whole_floats(matrices * inner * columns, 66);
    let expected = products(&a, &b, stack);
    let products = matrices * rows * inner * columns;
    Case::verb(
        [a, b],
        expected,
        Work::of(2.0 * products as f64, "flop"),
        move |queue, [a, b], out| {
            let a = a.reshape([matrices, rows, inner])?;
            let b = b.reshape([matrices, inner, columns])?;
            queue.matmul(&a, &b, &mut out.reshape([matrices, rows, columns])?, Matmul::default())
        },
        move |[a, b], out| plain(a, b, out, stack),
    )
}

/// Computes the results in order.
fn products(a: &[f32], b: &[f32], Stack { rows, inner, columns, .. }: Stack) -> Vec<f32> {
    let mut out = vec![0.0; a.len() / inner * columns];
    for (at, (out, factors)) in out.chunks_mut(columns).zip(a.chunks(inner)).enumerate() {
        let b = &b[at / rows * inner * columns..];
        for (factor, row) in factors.iter().zip(b.chunks(columns)) {
            out.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * x);
        }
    }
    out
}

/// Computes the results of square matrices by sums in double precision.
fn rounded(a: &[f32], b: &[f32], side: usize) -> Vec<f32> {
    let sums = |factors: &[f32]| {
        let mut sums = vec![0.0; side];
        for (&factor, row) in factors.iter().zip(b.chunks(side)) {
            let products = row.iter().map(|&x| f64::from(factor) * f64::from(x));
            sums.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
        }
        sums.into_iter().map(|sum| sum as f32)
    };
    a.par_chunks(side).flat_map_iter(sums).collect()
}

/// Computes the results by the crate `matrixmultiply`, which ndarray calls, on all threads.
fn plain(a: &[f32], b: &[f32], out: &mut [f32], Stack { matrices, rows, inner, columns }: Stack) {
    let share = (matrices * rows).div_ceil(rayon::current_num_threads());
    let block = share.min(rows).min(ROWS);
    let of_matrices =
        (a.par_chunks(rows * inner), b.par_chunks(inner * columns), out.par_chunks_mut(rows * columns));
    of_matrices.into_par_iter().for_each(|(a, b, out)| {
        let b = view(b, [inner, columns]);
        out.par_chunks_mut(block * columns).zip(a.par_chunks(block * inner)).for_each(|(out, a)| {
            let rows = out.len() / columns;
            let mut out = ArrayViewMut2::from_shape((rows, columns), out).expect(WRONG);
            general_mat_mul(1.0, &view(a, [rows, inner]), &b, 0.0, &mut out);
        });
    });
}

fn view(list: &[f32], [rows, columns]: [usize; 2]) -> ArrayView2<'_, f32> {
    ArrayView2::from_shape((rows, columns), list).expect(WRONG)
}

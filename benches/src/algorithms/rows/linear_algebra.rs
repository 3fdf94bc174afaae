//! Factors of small matrices and equations, beside loops in plain Rust on all threads.

use std::array;
use std::hint::black_box;
use std::ops::Range;

use fencepost::algorithms::{Algorithms as _, Triangle};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, Verb};
use crate::cpu::case::{Case, Work};
use crate::cpu::values::Check;
use crate::cpu::wide::wide;

/// Number of rows and of columns of a matrix.
const SIDE: usize = 32;
/// Number of elements of a matrix.
const ELEMENTS: usize = SIDE * SIDE;
/// Number of columns that a loop of plain Rust combines at once.
const BLOCK: usize = 8;
/// Largest difference between a result and that of double precision.
const CLOSE: Check = Check::Close(1e-4);
/// Panic of a matrix that no row has.
const SINGULAR: &str = "bug: the matrix is singular";

/// Row of a matrix, or a vector.
type SmallRow = [f32; SIDE];
/// Rows of a matrix.
type SmallMatrix = [SmallRow; SIDE];

pub(super) fn cholesky(size: Size) -> Case {
    of_matrices(
        dominant(size, 91, |row| row),
        ELEMENTS * SIDE / 3,
        |a| host::cholesky(a, SIDE).expect(SINGULAR),
        |queue, a, out| {
            let [count, ..] = a.shape();
            queue.cholesky(a, out, &mut queue.empty([count])?, Triangle::Lower)
        },
        wide_cholesky,
    )
}

pub(super) fn lu(size: Size) -> Case {
    of_matrices(
        dominant(size, 92, exchanged),
        ELEMENTS * SIDE * 2 / 3,
        |a| host::lu(a, SIDE).0,
        |queue, a, out| {
            let [count, ..] = a.shape();
            queue.lu(a, out, &mut queue.empty([count, SIDE])?, &mut queue.empty([count])?)
        },
        |a| {
            black_box(wide_lu(a));
        },
    )
}

pub(super) fn qr(size: Size) -> Case {
    of_matrices(
        dominant(size, 93, |row| row),
        ELEMENTS * SIDE * 8 / 3,
        |a| host::qr(a, [SIDE, SIDE]).1,
        |queue, a, r| queue.qr(a, &mut queue.empty(a.shape())?, r),
        |a| {
            black_box(&wide_qr(a));
        },
    )
}

/// Solves equations with one right side for each matrix.
pub(super) fn solve(size: Size) -> Case {
    let a = dominant(size, 94, exchanged);
    let count = a.len() / ELEMENTS;
    let mut random = fastrand::Rng::with_seed(95);
    let b: Vec<f32> = (0..count * SIDE).map(|_| random.f32()).collect();
    let solutions = a
        .chunks(ELEMENTS)
        .zip(b.chunks(SIDE))
        .flat_map(|(a, b)| host::solve(&doubles(a), &doubles(b), SIDE).expect(SINGULAR));
    let expected: Vec<f32> = solutions.map(|x| x as f32).collect();
    let flops = count * (ELEMENTS * SIDE * 2 / 3 + 2 * ELEMENTS);
    let case = Case::verb(
        [a, b],
        expected,
        Work::of(flops as f64, "flop"),
        move |queue, [a, b], out| {
            let a = a.reshape([count, SIDE, SIDE])?;
            let b = b.reshape([count, SIDE, 1])?;
            queue.solve(&a, &b, &mut out.reshape([count, SIDE, 1])?, &mut queue.empty([count])?)
        },
        |[a, b], out| {
            let a: &[SmallMatrix] = bytemuck::cast_slice(a);
            let b: &[SmallRow] = bytemuck::cast_slice(b);
            let out: &mut [SmallRow] = bytemuck::cast_slice_mut(out);
            let equations = a.par_iter().zip(b.par_iter());
            equations.zip(out.par_iter_mut()).for_each(|((a, b), x)| wide_solve(a, b, x));
        },
    );
    Case { check: CLOSE, ..case }
}

/// Returns a row of a verb that computes a matrix for each matrix, by this number of operations. `plain` replaces a
/// matrix by its result.
fn of_matrices(
    a: Vec<f32>,
    flops: usize,
    of_host: fn(&[f64]) -> Vec<f64>,
    verb: Verb<f32, f32, 3>,
    plain: fn(&mut SmallMatrix),
) -> Case {
    let count = a.len() / ELEMENTS;
    let expected: Vec<f32> =
        a.chunks(ELEMENTS).flat_map(|a| of_host(&doubles(a))).map(|x| x as f32).collect();
    let case = Case::verb(
        [a],
        expected,
        Work::of((count * flops) as f64, "flop"),
        move |queue, [a], out| {
            let shape = [count, SIDE, SIDE];
            verb(queue, &a.reshape(shape)?, &mut out.reshape(shape)?)
        },
        move |[a], out| {
            let a: &[SmallMatrix] = bytemuck::cast_slice(a);
            let out: &mut [SmallMatrix] = bytemuck::cast_slice_mut(out);
            out.par_iter_mut().zip(a.par_iter()).for_each(|(out, a)| {
                *out = *a;
                plain(out);
            });
        },
    );
    Case { check: CLOSE, ..case }
}

/// Returns random matrices: 4,096 of them, or a few in a quick run. In each row, the element in one column is much larger
/// than all others, so that no pivot depends on a rounding.
fn dominant(size: Size, seed: u64, column_of: fn(usize) -> usize) -> Vec<f32> {
    let count = if size.quick { 16 } else { 4096 };
    let mut random = fastrand::Rng::with_seed(seed);
    let element = |at: usize| {
        let is_large = at % SIDE == column_of(at / SIDE % SIDE);
        random.f32() * 2.0 - 1.0 + if is_large { 40.0 } else { 0.0 }
    };
    (0..count * ELEMENTS).map(element).collect()
}

/// Returns the column of the largest element of a row, for matrices whose rows are exchanged.
fn exchanged(row: usize) -> usize {
    (row + 11) % SIDE
}

fn doubles(list: &[f32]) -> Vec<f64> {
    list.iter().map(|&x| f64::from(x)).collect()
}

wide!(fn wide_cholesky(a: &mut SmallMatrix) = cholesky_in_place);
wide!(fn wide_lu(a: &mut SmallMatrix) -> [usize; SIDE] = lu_in_place);
wide!(fn wide_qr(a: &mut SmallMatrix) -> SmallMatrix = qr_in_place);
wide!(fn wide_solve(a: &SmallMatrix, b: &SmallRow, x: &mut SmallRow) = solve_by_lu);

/// Replaces a matrix, of which only the lower triangle is read, by its Cholesky factor.
#[inline(always)]
fn cholesky_in_place(a: &mut SmallMatrix) {
    for k in 0..SIDE {
        assert!(a[k][k] > 0.0, "{SINGULAR}");
        let root = a[k][k].sqrt();
        a[k][k] = root;
        a[k][k + 1..].fill(0.0);
        let inverse = 1.0 / root;
        let mut column = [0.0; SIDE];
        for (row, x) in a.iter_mut().enumerate().skip(k + 1) {
            x[k] *= inverse;
            column[row] = x[k];
        }
        for (row, x) in a.iter_mut().enumerate().skip(k + 1) {
            axpy(-column[row], &column, x, k + 1..row + 1);
        }
    }
}

/// Replaces a matrix by its triangular factors, and returns the order of its rows in their product.
#[inline(always)]
fn lu_in_place(a: &mut SmallMatrix) -> [usize; SIDE] {
    let mut order = array::from_fn(|row| row);
    for k in 0..SIDE {
        let mut pivot = k;
        let mut largest = a[k][k].abs();
        for (row, x) in a.iter().enumerate().skip(k + 1) {
            if x[k].abs() > largest {
                pivot = row;
                largest = x[k].abs();
            }
        }
        assert!(largest > 0.0, "{SINGULAR}");
        order.swap(k, pivot);
        a.swap(k, pivot);
        // Columns up to `k` may be in a block that changes: the zeros keep their elements.
        let mut upper = [0.0; SIDE];
        upper[k + 1..].copy_from_slice(&a[k][k + 1..]);
        let inverse = 1.0 / a[k][k];
        for x in &mut a[k + 1..] {
            let factor = x[k] * inverse;
            x[k] = factor;
            axpy(-factor, &upper, x, k + 1..SIDE);
        }
    }
    order
}

/// Replaces a matrix by the upper triangle of its QR factors, and returns the other factor.
#[inline(always)]
fn qr_in_place(a: &mut SmallMatrix) -> SmallMatrix {
    let mut vectors: SmallMatrix = [[0.0; SIDE]; SIDE];
    for (k, v) in vectors.iter_mut().enumerate() {
        for (row, x) in a.iter().enumerate().skip(k + 1) {
            v[row] = x[k];
        }
        let tail = dot(v, v, k + 1..SIDE);
        if tail == 0.0 {
            continue;
        }
        let head = a[k][k];
        let length = (head * head + tail).sqrt().copysign(head);
        v[k] = head + length;
        let scale = (2.0 / (v[k] * v[k] + tail)).sqrt();
        v.iter_mut().for_each(|x| *x *= scale);
        reflect(a, v, k);
        a[k][k] = -length;
        a[k + 1..].iter_mut().for_each(|x| x[k] = 0.0);
    }
    let mut q: SmallMatrix = [[0.0; SIDE]; SIDE];
    q.iter_mut().enumerate().for_each(|(row, x)| x[row] = 1.0);
    for (k, v) in vectors.iter().enumerate().rev() {
        reflect(&mut q, v, k);
    }
    q
}

/// Multiplies the rows from `k` on by I - v v', where v' is `v` as a row. Columns before `k` must be 0 in these rows.
#[inline(always)]
fn reflect(a: &mut SmallMatrix, v: &SmallRow, k: usize) {
    let mut sums = [0.0; SIDE];
    for (row, x) in a.iter().enumerate().skip(k) {
        axpy(v[row], x, &mut sums, k..SIDE);
    }
    for (row, x) in a.iter_mut().enumerate().skip(k) {
        axpy(-v[row], &sums, x, k..SIDE);
    }
}

/// Solves the equations of a matrix by its triangular factors.
#[inline(always)]
fn solve_by_lu(a: &SmallMatrix, b: &SmallRow, x: &mut SmallRow) {
    let mut factors = *a;
    let order = lu_in_place(&mut factors);
    // Elements that are not known yet are 0, so that whole blocks can be added.
    let mut y = [0.0; SIDE];
    for (row, lower) in factors.iter().enumerate() {
        y[row] = b[order[row]] - dot(lower, &y, 0..row);
    }
    x.fill(0.0);
    for (row, upper) in factors.iter().enumerate().rev() {
        x[row] = (y[row] - dot(upper, x, row + 1..SIDE)) / upper[row];
    }
}

/// Adds `factor` times `x` to `y`, in all blocks with some of these columns.
#[inline(always)]
fn axpy(factor: f32, x: &SmallRow, y: &mut SmallRow, columns: Range<usize>) {
    let blocks = blocks_of(columns);
    let (x, _) = x.as_chunks::<BLOCK>();
    let (y, _) = y.as_chunks_mut::<BLOCK>();
    for (y, x) in y[blocks.clone()].iter_mut().zip(&x[blocks]) {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = x.mul_add(factor, *y));
    }
}

/// Returns the sum of the products in all blocks with some of these columns.
#[inline(always)]
fn dot(x: &SmallRow, y: &SmallRow, columns: Range<usize>) -> f32 {
    let blocks = blocks_of(columns);
    let (x, _) = x.as_chunks::<BLOCK>();
    let (y, _) = y.as_chunks::<BLOCK>();
    let mut sums = [0.0_f32; BLOCK];
    for (x, y) in x[blocks.clone()].iter().zip(&y[blocks]) {
        sums.iter_mut().zip(x.iter().zip(y)).for_each(|(sum, (x, y))| *sum = x.mul_add(*y, *sum));
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Returns the blocks with some of these columns.
#[inline(always)]
fn blocks_of(columns: Range<usize>) -> Range<usize> {
    columns.start / BLOCK..columns.end.div_ceil(BLOCK)
}

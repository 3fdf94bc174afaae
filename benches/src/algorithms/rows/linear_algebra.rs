//! Factors of small matrices and equations, beside those of the crate `nalgebra` on all threads.

use std::hint::black_box;

use fencepost::algorithms::{Algorithms as _, Triangle};
use fencepost_oracles as host;
use nalgebra::{SMatrix, SVector};
use rayon::prelude::*;

use super::{Size, Verb};
use crate::cpu::case::{Case, Work};
use crate::cpu::values::Check;

/// Number of rows and of columns of a matrix.
const SIDE: usize = 32;
/// Number of elements of a matrix.
const ELEMENTS: usize = SIDE * SIDE;
/// Largest difference between a result and that of double precision.
const CLOSE: Check = Check::Close(1e-4);
/// Panic of a matrix that no row has.
const SINGULAR: &str = "bug: the matrix is singular";

/// A matrix of `nalgebra`, column by column.
type SmallMatrix = SMatrix<f32, SIDE, SIDE>;

pub(super) fn cholesky(size: Size) -> Case {
    of_matrices(
        dominant(size, 91, |row| row),
        ELEMENTS * SIDE / 3,
        |a| host::cholesky(a, SIDE).expect(SINGULAR),
        |queue, a, out| {
            let [count, ..] = a.shape();
            queue.cholesky(a, out, &mut queue.empty([count])?, Triangle::Lower)
        },
        |a| a.cholesky().expect(SINGULAR).unpack(),
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
            let factors = a.lu();
            factors.l() + factors.u() - SmallMatrix::identity()
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
            let factors = a.qr();
            black_box(factors.q());
            let mut r = factors.unpack_r();
            // For these matrices, the signs of LAPACK are those of `nalgebra` in the last row alone.
            r.rows_mut(0, SIDE - 1).neg_mut();
            r
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
        .flat_map(|(a, b)| host::solve(&wide(a), &wide(b), SIDE).expect(SINGULAR));
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
            let equations = a.par_chunks(ELEMENTS).zip(b.par_chunks(SIDE));
            equations.zip(out.par_chunks_mut(SIDE)).for_each(|((a, b), out)| {
                let b = SVector::<f32, SIDE>::from_column_slice(b);
                let x = SmallMatrix::from_row_slice(a).lu().solve(&b).expect(SINGULAR);
                out.copy_from_slice(x.as_slice());
            });
        },
    );
    Case { check: CLOSE, ..case }
}

/// Returns a row of a verb that computes a matrix for each matrix, by this number of operations.
fn of_matrices(
    a: Vec<f32>,
    flops: usize,
    of_host: fn(&[f64]) -> Vec<f64>,
    verb: Verb<f32, f32, 3>,
    plain: fn(SmallMatrix) -> SmallMatrix,
) -> Case {
    let count = a.len() / ELEMENTS;
    let expected: Vec<f32> = a.chunks(ELEMENTS).flat_map(|a| of_host(&wide(a))).map(|x| x as f32).collect();
    let case = Case::verb(
        [a],
        expected,
        Work::of((count * flops) as f64, "flop"),
        move |queue, [a], out| {
            let shape = [count, SIDE, SIDE];
            verb(queue, &a.reshape(shape)?, &mut out.reshape(shape)?)
        },
        move |[a], out| {
            out.par_chunks_mut(ELEMENTS).zip(a.par_chunks(ELEMENTS)).for_each(|(out, a)| {
                let result = plain(SmallMatrix::from_row_slice(a));
                out.copy_from_slice(result.transpose().as_slice());
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

fn wide(list: &[f32]) -> Vec<f64> {
    list.iter().map(|&x| f64::from(x)).collect()
}

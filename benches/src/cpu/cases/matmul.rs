use rayon::prelude::*;

use super::{side_of, whole_floats};
use crate::cpu::case::{Case, Kernel, Work, sources};
use crate::cpu::wide::wide;

/// Rows of the block of the result that stays in registers; `COLUMNS` is its width.
const ROWS: usize = 4;
const COLUMNS: usize = 16;

pub(super) fn tiles(quick: bool) -> Case {
    let side = side(quick);
    case("matmul_tiles", [side / 16, side / 16, 1], side)
}

pub(super) fn registers(quick: bool) -> Case {
    let side = side(quick);
    case("matmul_registers", [side / 64, side / 8, 1], side)
}

fn side(quick: bool) -> usize {
    if quick { 64 } else { 512 }
}

fn case(entry: &'static str, groups: [usize; 3], side: usize) -> Case {
    let a = whole_floats(side * side, 4);
    let b = whole_floats(side * side, 5);
    let expected = product(&a, &b, side);
    let overrides = vec![("SIDE", side as f64)];
    let kernel = Kernel { overrides, ..Kernel::new(sources!("matmul"), entry, groups) };
    Case::kernel(kernel, [a, b], expected, Work::of(2.0 * (side * side * side) as f64, "flop"), plain)
}

/// Returns the product of two matrices, row by row.
fn product(a: &[f32], b: &[f32], side: usize) -> Vec<f32> {
    let mut c = vec![0.0; side * side];
    for (row, factors) in c.chunks_mut(side).zip(a.chunks(side)) {
        for (factor, other) in factors.iter().zip(b.chunks(side)) {
            row.iter_mut().zip(other).for_each(|(sum, x)| *sum += factor * x);
        }
    }
    c
}

fn plain([a, b]: [&[f32]; 2], out: &mut [f32]) {
    let side = side_of(a.len());
    // Each strip of columns of the second matrix is packed contiguously, as every row of blocks reads it again.
    let mut packed = vec![0.0; b.len()];
    packed.par_chunks_mut(side * COLUMNS).enumerate().for_each(|(at, strip)| {
        for (row, into) in b.chunks(side).zip(strip.chunks_mut(COLUMNS)) {
            into.copy_from_slice(&row[at * COLUMNS..][..COLUMNS]);
        }
    });
    out.par_chunks_mut(side * ROWS).zip(a.par_chunks(side * ROWS)).for_each(|(c, a)| {
        for (at, strip) in packed.chunks(side * COLUMNS).enumerate() {
            wide_block(a, strip, c, (side, at * COLUMNS));
        }
    });
}

wide!(fn wide_block(a: &[f32], strip: &[f32], c: &mut [f32], place: (usize, usize)) = block);

/// Multiplies some rows of the first matrix by some columns of the second.
#[inline(always)]
fn block(a: &[f32], strip: &[f32], c: &mut [f32], (side, column): (usize, usize)) {
    let mut sums = [[0.0_f32; COLUMNS]; ROWS];
    let rows: [&[f32]; ROWS] = std::array::from_fn(|row| &a[row * side..][..side]);
    for (k, others) in strip.chunks_exact(COLUMNS).enumerate().take(side) {
        for (sums, row) in sums.iter_mut().zip(rows) {
            for (sum, x) in sums.iter_mut().zip(others) {
                *sum = row[k].mul_add(*x, *sum);
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        c[row * side + column..][..COLUMNS].copy_from_slice(sums);
    }
}

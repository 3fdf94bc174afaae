use rayon::prelude::*;

use super::{side_of, whole_floats};
use crate::cpu::case::{Case, Kernel, Work, sources};
use crate::cpu::wide::wide;

pub(super) fn case(quick: bool) -> Case {
    let side: usize = if quick { 64 } else { 2048 };
    let weights = [1.0, 2.0, 1.0, 2.0, 4.0, 2.0, 1.0, 2.0, 1.0].map(|weight: f32| weight / 16.0);
    let picture = whole_floats(side * side, 8);
    let pixel = |at: usize| smooth(&weights, &picture, (at % side, at / side, side));
    let expected: Vec<f32> = (0..side * side).map(pixel).collect();
    let kernel = Kernel {
        overrides: vec![("SIDE", side as f64)],
        ..Kernel::new(sources!("convolution"), "convolution", [side / 64, side / 4, 1])
    };
    let work = Work::of((side * side) as f64, "pixel");
    Case::kernel(kernel, [weights.to_vec(), picture], expected, work, plain)
}

/// Returns a pixel of the result.
fn smooth(weights: &[f32], picture: &[f32], (column, row, side): (usize, usize, usize)) -> f32 {
    let near = |at: usize, by: usize| (at + by).saturating_sub(1).min(side - 1);
    let weighted = |at: usize| weights[at] * picture[near(row, at / 3) * side + near(column, at % 3)];
    (0..9).map(weighted).sum()
}

fn plain([weights, picture]: [&[f32]; 2], out: &mut [f32]) {
    let side = side_of(picture.len());
    out.par_chunks_mut(side).enumerate().for_each(|(row, out)| {
        let line = |row: usize| &picture[row * side..][..side];
        let lines = [line(row.saturating_sub(1)), line(row), line((row + 1).min(side - 1))];
        wide_inside(weights, lines, &mut out[1..side - 1]);
        for column in [0, side - 1] {
            out[column] = smooth(weights, picture, (column, row, side));
        }
    });
}

wide!(fn wide_inside(weights: &[f32], lines: [&[f32]; 3], out: &mut [f32]) = inside);

/// Computes a row of pixels that have neighbours on both sides.
#[inline(always)]
fn inside(weights: &[f32], lines: [&[f32]; 3], out: &mut [f32]) {
    let width = out.len();
    let shifted = |at: usize| &lines[at / 3][at % 3..][..width];
    let [a, b, c, d, e, f, g, h, i]: [&[f32]; 9] = std::array::from_fn(shifted);
    let weights: [f32; 9] = std::array::from_fn(|at| weights[at]);
    for (x, out) in out.iter_mut().enumerate() {
        let upper = weights[0] * a[x] + weights[1] * b[x] + weights[2] * c[x];
        let middle = weights[3] * d[x] + weights[4] * e[x] + weights[5] * f[x];
        *out = upper + middle + (weights[6] * g[x] + weights[7] * h[x] + weights[8] * i[x]);
    }
}

use fencepost::algorithms::{Algorithms as _, Boundary, Filter};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, bytes};
use crate::cpu::case::Case;
use crate::cpu::cases::whole_floats;

/// Number of weights along each axis of a filter with a few weights.
const FEW: usize = 3;
/// Number of weights along each axis of a separable filter.
const MANY: usize = 9;
/// Panic of a function that gets images of another shape.
const WRONG: &str = "bug: the lists do not fit";

/// Filters an image with 3 x 3 weights.
pub(super) fn few_weights(size: Size) -> Case {
    let side = size.many().isqrt();
    let x = whole_floats(side * side, 84);
    let weights = whole_floats(FEW * FEW, 85);
    let expected = host::convolve_2d(&x, [1, side, side, 1], &weights, [FEW, FEW], Boundary::Nearest);
    Case::verb(
        [x, weights],
        expected.expect(WRONG),
        bytes(8 * side * side),
        move |queue, [x, weights], out| {
            let x = x.reshape([side, side])?;
            let weights = weights.reshape([FEW, FEW])?;
            let filter = Filter::default().boundary(Boundary::Nearest);
            queue.convolve_2d(&x, &weights, &mut out.reshape([side, side])?, filter)
        },
        move |[x, weights], out| {
            let row = |y: usize| &x[y * side..][..side];
            out.par_chunks_mut(side).enumerate().for_each(|(y, out)| {
                out.fill(0.0);
                for (a, weights) in weights.chunks(FEW).enumerate() {
                    add_row(row((y + FEW / 2).saturating_sub(a).min(side - 1)), weights, out);
                }
            });
        },
    )
}

/// Filters an image with nine weights along each axis.
pub(super) fn separable(size: Size) -> Case {
    let side = size.many().isqrt();
    let x = whole_floats(side * side, 86);
    let weights = whole_floats(MANY, 87);
    let expected = host::convolve_separable(&x, [1, side, side, 1], [&weights, &weights], Boundary::Nearest);
    Case::verb(
        [x, weights],
        expected.expect(WRONG),
        bytes(8 * side * side),
        move |queue, [x, weights], out| {
            let x = x.reshape([side, side])?;
            let filter = Filter::default().boundary(Boundary::Nearest);
            queue.convolve_separable(&x, weights, weights, &mut out.reshape([side, side])?, filter)
        },
        move |[x, weights], out| {
            let row = |y: usize| &x[y * side..][..side];
            out.par_chunks_mut(side).enumerate().for_each(|(y, out)| {
                let mut sums = vec![0.0; side];
                for (a, weight) in weights.iter().enumerate() {
                    let x = row((y + MANY / 2).saturating_sub(a).min(side - 1));
                    sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += weight * x);
                }
                out.fill(0.0);
                add_row(&sums, weights, out);
            });
        },
    )
}

/// Adds the convolution of a row. The elements at its ends count beside it too.
fn add_row(x: &[f32], weights: &[f32], out: &mut [f32]) {
    let half = weights.len() / 2;
    let last = x.len() - 1;
    for (b, weight) in weights.iter().enumerate() {
        for at in (0..half).chain(x.len() - half..x.len()) {
            out[at] += weight * x[(at + half).saturating_sub(b).min(last)];
        }
        let inside = &mut out[half..x.len() - half];
        inside.iter_mut().zip(&x[2 * half - b..]).for_each(|(sum, x)| *sum += weight * x);
    }
}

use rayon::prelude::*;

use super::side_of;
use crate::cpu::case::{Case, Kernel, NO_INPUTS, Work, sources};
use crate::cpu::values::Check;
use crate::cpu::wide::wide;

const MOST: u32 = 256;
/// Pixels that are iterated side by side.
const LANES: usize = 16;
/// Share of the pixels that may differ: a device may fuse multiplications with additions.
const DIFFERENT: f64 = 0.01;

pub(super) fn case(quick: bool) -> Case {
    let side: usize = if quick { 64 } else { 1024 };
    let expected: Vec<u32> = (0..side * side).map(|at| steps(point(at % side, at / side, side))).collect();
    let kernel = Kernel {
        overrides: vec![("SIDE", side as f64)],
        ..Kernel::new(sources!("mandelbrot"), "mandelbrot", [side / 64, side, 1])
    };
    let row = Case::kernel(kernel, NO_INPUTS, expected, Work::of((side * side) as f64, "pixel"), plain);
    Case { check: Check::Mostly(DIFFERENT), ..row }
}

/// Returns the real and the imaginary part of a pixel's point.
#[inline(always)]
fn point(column: usize, row: usize, side: usize) -> (f32, f32) {
    let scale = 2.5 / side as f32;
    (column as f32 * scale - 2.0, row as f32 * scale - 1.25)
}

fn steps((re, im): (f32, f32)) -> u32 {
    let mut x = 0.0_f32;
    let mut y = 0.0_f32;
    let mut n = 0;
    while n < MOST && x * x + y * y <= 4.0 {
        let next = x * x - y * y + re;
        y = 2.0 * x * y + im;
        x = next;
        n += 1;
    }
    n
}

fn plain(_: [&[u32]; 0], out: &mut [u32]) {
    let side = side_of(out.len());
    out.par_chunks_mut(side).enumerate().for_each(|(row, pixels)| {
        for (at, pixels) in pixels.chunks_exact_mut(LANES).enumerate() {
            wide_side_by_side(pixels, (at * LANES, row, side));
        }
    });
}

wide!(fn wide_side_by_side(pixels: &mut [u32], place: (usize, usize, usize)) = side_by_side);

/// Iterates some pixels of a row until the last of them ends. A pixel outside the circle counts no further steps.
#[inline(always)]
fn side_by_side(pixels: &mut [u32], (column, row, side): (usize, usize, usize)) {
    let re: [f32; LANES] = std::array::from_fn(|lane| point(column + lane, row, side).0);
    let im = point(column, row, side).1;
    let mut x = [0.0_f32; LANES];
    let mut y = [0.0_f32; LANES];
    let mut counts = [0_u32; LANES];
    // The points of a pixel outside the circle grow to infinity or NaN, for which the comparison is false.
    for _ in 0..MOST {
        let mut any = 0;
        for lane in 0..LANES {
            let xx = x[lane] * x[lane];
            let yy = y[lane] * y[lane];
            let inside = u32::from(xx + yy <= 4.0);
            counts[lane] += inside;
            any |= inside;
            let next = xx - yy + re[lane];
            y[lane] = 2.0 * x[lane] * y[lane] + im;
            x[lane] = next;
        }
        if any == 0 {
            break;
        }
    }
    pixels.copy_from_slice(&counts);
}

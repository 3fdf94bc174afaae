use rayon::prelude::*;

use crate::cpu::case::{Case, Kernel, Work, sources};
use crate::cpu::values::Check;
use crate::cpu::wide::wide;

/// Number of bodies whose accelerations are summed side by side.
const LANES: usize = 16;
/// Softening, which keeps the acceleration of two bodies at one place finite.
const SOFT: f32 = 0.01;

/// Coordinates and masses of all bodies.
type Bodies<'a> = [&'a [f32]; 4];

pub(super) fn case(quick: bool) -> Case {
    let count: usize = if quick { 256 } else { 4096 };
    let mut random = fastrand::Rng::with_seed(9);
    let inputs: [Vec<f32>; 4] = std::array::from_fn(|_| (0..count).map(|_| random.f32()).collect());
    let expected = all_pulls(inputs.each_ref().map(Vec::as_slice));
    let kernel = Kernel::new(sources!("bodies"), "bodies", [count / 128, 1, 1]);
    let row = Case::kernel(kernel, inputs, expected, Work::of((count * count) as f64, "pair"), plain);
    Case { check: Check::Close(1e-4), ..row }
}

/// Returns the accelerations of all bodies, summed in `f64`.
fn all_pulls(bodies: Bodies<'_>) -> Vec<f32> {
    let count = bodies[0].len();
    let mut pulls = vec![0.0; 3 * count];
    for own in 0..count {
        let mut sum = [0.0_f64; 3];
        for other in 0..count {
            let away: [f64; 3] =
                std::array::from_fn(|axis| f64::from(bodies[axis][other]) - f64::from(bodies[axis][own]));
            let square = away.iter().map(|x| x * x).sum::<f64>() + f64::from(SOFT);
            let factor = f64::from(bodies[3][other]) / (square * square.sqrt());
            sum.iter_mut().zip(away).for_each(|(sum, x)| *sum += factor * x);
        }
        sum.iter().enumerate().for_each(|(axis, sum)| pulls[axis * count + own] = *sum as f32);
    }
    pulls
}

fn plain(bodies: Bodies<'_>, out: &mut [f32]) {
    let (xs, rest) = out.split_at_mut(bodies[0].len());
    let (ys, zs) = rest.split_at_mut(bodies[0].len());
    let parts = xs.par_chunks_mut(LANES).zip(ys.par_chunks_mut(LANES)).zip(zs.par_chunks_mut(LANES));
    parts.enumerate().for_each(|(at, ((x, y), z))| {
        let sums = wide_pulls(bodies, at * LANES);
        for (out, sums) in [x, y, z].into_iter().zip(sums) {
            out.copy_from_slice(&sums);
        }
    });
}

wide!(fn wide_pulls(bodies: Bodies<'_>, first: usize) -> [[f32; LANES]; 3] = pulls);

/// Returns the accelerations of some consecutive bodies.
#[inline(always)]
fn pulls(bodies: Bodies<'_>, first: usize) -> [[f32; LANES]; 3] {
    let own: [[f32; LANES]; 3] =
        std::array::from_fn(|axis| std::array::from_fn(|lane| bodies[axis][first + lane]));
    let mut sums = [[0.0_f32; LANES]; 3];
    let [xs, ys, zs, masses] = bodies;
    for (((x, y), z), mass) in xs.iter().zip(ys).zip(zs).zip(masses) {
        for lane in 0..LANES {
            let away = [x - own[0][lane], y - own[1][lane], z - own[2][lane]];
            let square = away[0] * away[0] + away[1] * away[1] + away[2] * away[2] + SOFT;
            let factor = mass / (square * square.sqrt());
            for axis in 0..3 {
                sums[axis][lane] += factor * away[axis];
            }
        }
    }
    sums
}

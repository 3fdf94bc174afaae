use std::rc::Rc;

use anyhow::Result;
use fencepost::algorithms::{Algorithms as _, ConvolveMode, FftPlan, RealFftPlan};
use fencepost::{CommandQueue, Context};
use fencepost_oracles as host;
use num_complex::Complex32;
use rayon::prelude::*;
use realfft::RealFftPlanner;
use rustfft::FftPlanner;

use super::{Size, bytes};
use crate::cpu::case::{Case, Program, Work};
use crate::cpu::device::{Array, Enqueue};
use crate::cpu::values::{Check, Item as _};

/// Elements of a transform of one pass.
const SHORT: usize = 1024;
/// Elements of a transform of two passes.
const MIDDLE: usize = 1 << 16;
/// Elements of a transform of three passes.
const LONG: usize = 1 << 20;
/// Elements of a transform in a quick run, which also needs several passes.
const QUICK: usize = 1 << 12;
/// Elements of a transform that is a convolution.
const WITH_13: usize = 13 << 9;
/// Elements of the two transforms of that convolution, of two passes each.
const OF_13: usize = 7 << 11;
/// Results of a task of a convolution.
const BLOCK: usize = 4096;

/// Transforms the rows of a matrix.
pub(super) fn rows(size: Size) -> Case {
    let rows = size.many() / 2 / SHORT;
    transforms(rows, SHORT, bytes(16 * rows * SHORT), planned::<SHORT>)
}

/// Transforms rows that need two passes.
pub(super) fn middle_rows(size: Size) -> Case {
    if size.quick {
        return transforms(4, QUICK, bytes(2 * 16 * 4 * QUICK), planned::<QUICK>);
    }
    let rows = (size.many() / MIDDLE).max(1);
    transforms(rows, MIDDLE, bytes(2 * 16 * rows * MIDDLE), planned::<MIDDLE>)
}

/// Transforms long rows.
pub(super) fn whole(size: Size) -> Case {
    if size.quick {
        return transforms(2, QUICK, bytes(2 * 16 * 2 * QUICK), planned::<QUICK>);
    }
    let rows = (size.many() / 2 / LONG).max(1);
    transforms(rows, LONG, bytes(3 * 16 * rows * LONG), planned::<LONG>)
}

/// Transforms rows whose length has the prime factor 13, as convolutions.
pub(super) fn with_13(size: Size) -> Case {
    let rows = (size.many() / 2 / WITH_13).max(1);
    transforms(rows, WITH_13, bytes(4 * 16 * rows * OF_13), planned::<WITH_13>)
}

/// Returns a row of transforms of `n` elements each. Its work is the bytes that the passes read and write, 16 for each
/// element and pass: the memory of a device allows as many a second as in the row `copy kernel`.
fn transforms(rows: usize, n: usize, work: Work, prepare: fn(&Context) -> Result<Enqueue>) -> Case {
    let x: Vec<[f32; 2]> = numbers(2 * rows * n, 71).chunks(2).map(|parts| [parts[0], parts[1]]).collect();
    let exact = |[re, im]: &[f32; 2]| [f64::from(*re), f64::from(*im)];
    let spectrum = |row: &[[f32; 2]]| host::fft(&row.iter().map(exact).collect::<Vec<_>>());
    let expected = x.chunks(n).flat_map(spectrum).map(|number| number.map(|part| part as f32));
    let plan = FftPlanner::<f32>::new().plan_fft_forward(n);
    let row = Case::of(
        Program::Launches(prepare),
        [x.clone()],
        expected.collect::<Vec<[f32; 2]>>(),
        work,
        move |[x], out: &mut [[f32; 2]]| {
            let scratch = || vec![Complex32::default(); plan.get_inplace_scratch_len()];
            let rows = x.par_chunks(n).zip(out.par_chunks_mut(n));
            rows.for_each_init(scratch, |scratch, (x, out)| {
                out.copy_from_slice(x);
                plan.process_with_scratch(bytemuck::cast_slice_mut(out), scratch);
            });
        },
    );
    Case { check: Check::Close(1e-5), ..row }
}

/// Makes the plan of transforms of `N` elements.
fn planned<const N: usize>(ctx: &Context) -> Result<Enqueue> {
    let plan = FftPlan::new(ctx, [N])?;
    Ok(Rc::new(move |queue: &CommandQueue, inputs: &[Array], out: &mut Array| -> Result<()> {
        let x = <[f32; 2]>::array(&inputs[0]);
        let out = <[f32; 2]>::array_mut(out);
        let shape = [x.len() / N, N];
        Ok(queue.fft(&plan, &x.reshape(shape)?, &mut out.reshape(shape)?)?)
    }))
}

/// Transforms rows of real numbers.
pub(super) fn real(size: Size) -> Case {
    if size.quick {
        return real_transforms(4, QUICK, planned_real::<QUICK>);
    }
    real_transforms((size.many() / MIDDLE).max(1), MIDDLE, planned_real::<MIDDLE>)
}

/// Returns a row of transforms of `n` real numbers each. Half as many complex numbers need two passes, and the spectra
/// one more.
fn real_transforms(rows: usize, n: usize, prepare: fn(&Context) -> Result<Enqueue>) -> Case {
    let x = numbers(rows * n, 74);
    let spectrum = |row: &[f32]| host::rfft(&row.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
    let expected = x.chunks(n).flat_map(spectrum).map(|number| number.map(|part| part as f32));
    let plan = RealFftPlanner::<f32>::new().plan_fft_forward(n);
    let row = Case::of(
        Program::Launches(prepare),
        [x.clone()],
        expected.collect::<Vec<[f32; 2]>>(),
        bytes(3 * 8 * rows * n),
        move |[x], out: &mut [[f32; 2]]| {
            let memory = || (vec![0.0_f32; n], plan.make_scratch_vec());
            let rows = x.par_chunks(n).zip(out.par_chunks_mut(n / 2 + 1));
            rows.for_each_init(memory, |(own, scratch), (x, out)| {
                own.copy_from_slice(x);
                let done = plan.process_with_scratch(own, bytemuck::cast_slice_mut(out), scratch);
                done.expect("bug: the lengths are those of the plan");
            });
        },
    );
    Case { check: Check::Close(1e-5), ..row }
}

/// Makes the plan of transforms of `N` real numbers.
fn planned_real<const N: usize>(ctx: &Context) -> Result<Enqueue> {
    let plan = RealFftPlan::new(ctx, [N])?;
    Ok(Rc::new(move |queue: &CommandQueue, inputs: &[Array], out: &mut Array| -> Result<()> {
        let x = f32::array(&inputs[0]);
        let out = <[f32; 2]>::array_mut(out);
        let rows = x.len() / N;
        Ok(queue.rfft(&plan, &x.reshape([rows, N])?, &mut out.reshape([rows, N / 2 + 1])?)?)
    }))
}

/// Multiplies the weights one by one.
pub(super) fn few_weights(size: Size) -> Case {
    convolution(size.many(), 33)
}

/// Multiplies the spectra of blocks and of the weights.
pub(super) fn many_weights(size: Size) -> Case {
    convolution((size.many() / 16).max(BLOCK), 1000)
}

/// Returns a row of the results of one convolution that need no elements outside.
fn convolution(n: usize, m: usize) -> Case {
    let x = numbers(n, 72);
    let weights = numbers(m, 73);
    let exact = |list: &[f32]| list.iter().map(|&number| f64::from(number)).collect::<Vec<_>>();
    let results = host::convolve(&exact(&x), &exact(&weights), ConvolveMode::Valid);
    let results = results.expect("bug: there are more weights than elements");
    let expected: Vec<f32> = results.into_iter().map(|result| result as f32).collect();
    let work = Work::of(2.0 * (expected.len() * m) as f64, "flop");
    let row = Case::verb(
        [x, weights],
        expected,
        work,
        |queue, [x, weights], out| queue.convolve(x, weights, ConvolveMode::Valid, out),
        |[x, weights], out| {
            let m = weights.len();
            out.par_chunks_mut(BLOCK).enumerate().for_each(|(block, out)| {
                out.fill(0.0);
                for (j, weight) in weights.iter().enumerate() {
                    let x = &x[block * BLOCK + m - 1 - j..];
                    out.iter_mut().zip(x).for_each(|(out, x)| *out += weight * x);
                }
            });
        },
    );
    Case { check: Check::Close(1e-4), ..row }
}

/// Returns random numbers from -1 to 1.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| 2.0 * random.f32() - 1.0).collect()
}

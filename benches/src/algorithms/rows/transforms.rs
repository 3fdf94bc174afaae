use std::f64::consts::TAU;
use std::mem::swap;
use std::rc::Rc;

use anyhow::Result;
use fencepost::algorithms::{Algorithms as _, ConvolveMode, FftPlan};
use fencepost::{CommandQueue, Context};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, TASK};
use crate::cpu::case::{Case, Program, Work};
use crate::cpu::device::{Array, Enqueue};
use crate::cpu::values::{Check, Item as _};

type Complex32 = [f32; 2];

/// Elements of a transform that one launch computes.
const SHORT: usize = 1024;
/// Elements of a transform of several launches.
const LONG: usize = 1 << 20;
/// The same in a quick run.
const QUICK_LONG: usize = 1 << 13;
/// Results of a task of a convolution.
const BLOCK: usize = 4096;

/// Transforms the rows of a matrix.
pub(super) fn rows(size: Size) -> Case {
    transforms(size, SHORT, planned::<SHORT>)
}

/// Transforms long rows.
pub(super) fn whole(size: Size) -> Case {
    if size.quick {
        return transforms(size, QUICK_LONG, planned::<QUICK_LONG>);
    }
    transforms(size, LONG, planned::<LONG>)
}

/// Returns a row of transforms of `n` elements each.
fn transforms(size: Size, n: usize, prepare: fn(&Context) -> Result<Enqueue>) -> Case {
    let rows = (size.many() / 2 / n).max(1);
    let x: Vec<Complex32> = numbers(2 * rows * n, 71).chunks(2).map(|parts| [parts[0], parts[1]]).collect();
    let exact = |[re, im]: &Complex32| [f64::from(*re), f64::from(*im)];
    let spectrum = |row: &[Complex32]| host::fft(&row.iter().map(exact).collect::<Vec<_>>());
    let expected = x.chunks(n).flat_map(spectrum).map(|number| number.map(|part| part as f32));
    // Each of the stages of radix 2 takes ten operations for two elements.
    let work = Work::of(5.0 * (rows * n) as f64 * f64::from(n.ilog2()), "flop");
    let roots = roots(n);
    let row = Case::of(
        Program::Launches(prepare),
        [x.clone()],
        expected.collect::<Vec<Complex32>>(),
        work,
        move |[x], out: &mut [Complex32]| {
            x.par_chunks(n).zip(out.par_chunks_mut(n)).for_each(|(x, out)| transform(x, &roots, out));
        },
    );
    Case { check: Check::Close(1e-5), ..row }
}

/// Makes the plan of transforms of `N` elements.
fn planned<const N: usize>(ctx: &Context) -> Result<Enqueue> {
    let plan = FftPlan::new(ctx, [N])?;
    Ok(Rc::new(move |queue: &CommandQueue, inputs: &[Array], out: &mut Array| -> Result<()> {
        let x = Complex32::array(&inputs[0]);
        let out = Complex32::array_mut(out);
        let shape = [x.len() / N, N];
        Ok(queue.fft(&plan, &x.reshape(shape)?, &mut out.reshape(shape)?)?)
    }))
}

/// Returns the first half of the roots of unity.
fn roots(n: usize) -> Vec<Complex32> {
    let root = |k: usize| {
        let (sin, cos) = (TAU * k as f64 / n as f64).sin_cos();
        [cos as f32, -sin as f32]
    };
    (0..n / 2).map(root).collect()
}

/// Transforms a power of two in stages of radix 2. Each stage writes its results in the order of the next one.
fn transform(x: &[Complex32], roots: &[Complex32], out: &mut [Complex32]) {
    let mut from = x.to_vec();
    let mut to = vec![[0.0; 2]; x.len()];
    let mut done = 1;
    while done < x.len() {
        let task = TASK.max(2 * done);
        let tasks = to.par_chunks_mut(task).enumerate();
        tasks.for_each(|(at, to)| stage(&from, roots, done, at * task / (2 * done), to));
        swap(&mut from, &mut to);
        done *= 2;
    }
    out.copy_from_slice(&from);
}

/// Computes the blocks of a stage from `first` on. `done` is the product of the radices of the earlier stages.
fn stage(x: &[Complex32], roots: &[Complex32], done: usize, first: usize, out: &mut [Complex32]) {
    let half = x.len() / 2;
    for (block, out) in (first..).zip(out.chunks_mut(2 * done)) {
        let [cos, sin] = roots[block * done];
        let a = &x[block * done..][..done];
        let b = &x[half + block * done..][..done];
        let (sums, differences) = out.split_at_mut(done);
        let elements = a.iter().zip(b);
        for (([a, c], [b, d]), (sum, difference)) in elements.zip(sums.iter_mut().zip(differences)) {
            let [re, im] = [a - b, c - d];
            *sum = [a + b, c + d];
            *difference = [cos * re - sin * im, cos * im + sin * re];
        }
    }
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

use fencepost::algorithms::{Algorithms as _, Bins};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, TASK, elements, words_below};
use crate::cpu::case::{Case, Kernel, Program};
use crate::cpu::cases::whole_floats;

const BINS: usize = 256;
/// Number of bins between edges.
const UNEVEN: usize = 50;
/// Fraction bits of a weight.
const FRACTION: u32 = 16;
/// Panic of a reference.
const REFUSED: &str = "bug: the bins are refused";

pub(super) fn histogram(size: Size) -> Case {
    of_remainders(words_below(size.many(), u32::MAX, 9))
}

/// Counts all elements in one bin, where atomic operations wait for each other.
pub(super) fn one_bin(size: Size) -> Case {
    of_remainders(vec![7; size.many()])
}

pub(super) fn plain_kernel(size: Size) -> Case {
    let wgsl = include_str!("../kernels/histogram.wgsl");
    let program = Program::Kernel(Kernel::new((wgsl, None), "histogram", [256, 1, 1]));
    Case { program, ..histogram(size) }
}

fn of_remainders(x: Vec<u32>) -> Case {
    let expected = host::histogram(&x, Bins::modulo(), BINS).expect(REFUSED);
    let work = elements(x.len());
    Case::verb(
        [x],
        expected,
        work,
        |queue, [x], out| queue.histogram(x, Bins::modulo(), out),
        |[x], out| counted(x, out, |&x| x as usize % BINS),
    )
}

/// Counts floats in bins of equal width.
pub(super) fn even(size: Size) -> Case {
    let words = words_below(size.many(), 1 << 20, 44);
    let x: Vec<f32> = words.into_iter().map(|word| word as f32 / 4096.0).collect();
    let expected = host::histogram(&x, Bins::even(0.0..256.0), BINS).expect(REFUSED);
    Case::verb(
        [x],
        expected,
        elements(size.many()),
        |queue, [x], out| queue.histogram(x, Bins::even(0.0..256.0), out),
        |[x], out| counted(x, out, |&x| x as usize),
    )
}

/// Counts words in bins of different widths.
pub(super) fn edges(size: Size) -> Case {
    let edges: Vec<u32> = (0..=UNEVEN as u32).map(|at| at * at).collect();
    let of_plain = edges.clone();
    let x = words_below(size.many(), edges[UNEVEN], 45);
    let expected = host::histogram(&x, Bins::edges(&edges), UNEVEN).expect(REFUSED);
    Case::verb(
        [x],
        expected,
        elements(size.many()),
        move |queue, [x], out| queue.histogram(x, Bins::edges(&edges), out),
        move |[x], out| counted(x, out, |x| of_plain.partition_point(|edge| edge <= x) - 1),
    )
}

pub(super) fn weights(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 46);
    let weights = words_below(size.many(), 100, 47);
    let expected = host::histogram_weighted(&x, &weights, Bins::modulo(), BINS).expect(REFUSED);
    Case::verb(
        [x, weights],
        expected,
        elements(size.many()),
        |queue, [x, weights], out| queue.histogram_weighted(x, weights, Bins::modulo(), out),
        |[x, weights], out| weighted(x, weights, out, |&weight| weight),
    )
}

/// Adds floats, whose bits are the second input.
pub(super) fn fixed(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 48);
    let weights = whole_floats(size.many(), 49);
    let expected = host::histogram_fixed(&x, &weights, FRACTION, Bins::modulo(), BINS).expect(REFUSED);
    Case::verb(
        [x, weights.into_iter().map(f32::to_bits).collect()],
        expected,
        elements(size.many()),
        |queue, [x, weights], out| {
            queue.histogram_fixed(x, &weights.cast_bits(), FRACTION, Bins::modulo(), out)
        },
        |[x, weights], out| {
            let scale = 2_f32.powi(FRACTION as i32);
            let fixed = |weight: &f32| (weight * scale).round_ties_even() as i32 as u32;
            let mut sums = [0; BINS];
            weighted(x, bytemuck::cast_slice(weights), &mut sums, fixed);
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum as i32 as f32 / scale);
        },
    )
}

/// Adds floats exactly. Their bits are the second input, and their sums are exact in any order.
pub(super) fn floats(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 80);
    let weights = whole_floats(size.many(), 81);
    let expected = host::histogram_weighted(&x, &weights, Bins::modulo(), BINS).expect(REFUSED);
    Case::verb(
        [x, weights.into_iter().map(f32::to_bits).collect()],
        expected,
        elements(size.many()),
        |queue, [x, weights], out| {
            queue.histogram_weighted(x, &weights.cast_bits::<f32>(), Bins::modulo(), out)
        },
        |[x, weights], out| {
            let whole = |weight: &f32| *weight as i32 as u32;
            let mut sums = [0; BINS];
            weighted(x, bytemuck::cast_slice(weights), &mut sums, whole);
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum as i32 as f32);
        },
    )
}

/// Counts the elements in their bins.
fn counted<T: Sync>(x: &[T], out: &mut [u32], bin: impl Fn(&T) -> usize + Sync) {
    let bins = out.len();
    added(x.par_chunks(TASK).map(|task| tally(bins, task.iter().map(|x| (bin(x), 1)))), out);
}

/// Adds the weights of the elements to the bins of the elements' remainders.
fn weighted<W: Sync>(x: &[u32], weights: &[W], out: &mut [u32], value: impl Fn(&W) -> u32 + Sync) {
    let tasks = x.par_chunks(TASK).zip(weights.par_chunks(TASK));
    let pair = |(&x, weight): (&u32, &W)| (x as usize % BINS, value(weight));
    added(tasks.map(|(x, weights)| tally(BINS, x.iter().zip(weights).map(pair))), out);
}

/// Adds the weights of a task's elements to their bins.
fn tally(bins: usize, weighted: impl Iterator<Item = (usize, u32)>) -> Vec<u32> {
    let mut sums = vec![0_u32; bins];
    weighted.for_each(|(bin, weight)| sums[bin] = sums[bin].wrapping_add(weight));
    sums
}

/// Adds the bins of all tasks.
fn added(tasks: impl ParallelIterator<Item = Vec<u32>>, out: &mut [u32]) {
    let add = |a: Vec<u32>, b: Vec<u32>| a.iter().zip(b).map(|(a, b)| a.wrapping_add(b)).collect();
    let sums = tasks.reduce_with(add).expect("bug: the row has no elements");
    out.copy_from_slice(&sums);
}

use fencepost::algorithms::{Algorithms as _, Bins};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, elements, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::cases::whole_floats;
use crate::cpu::values::Values;

const BINS: usize = 256;
/// Number of bins between edges.
const UNEVEN: usize = 50;
/// Elements of a task of plain Rust.
const TASK: usize = 1 << 16;
/// Fraction bits of a weight.
const FRACTION: u32 = 16;

/// Counts floats in bins of equal width.
pub(super) fn even(size: Size) -> Case {
    let words = words_below(size.many(), 1 << 20, 44);
    let x = Values::F32(words.words().iter().map(|&x| x as f32 / 4096.0).collect());
    let expected =
        host::histogram(x.floats(), Bins::even(0.0..256.0), BINS).expect("bug: the bins are refused");
    exact(
        "histogram, even bins",
        vec![x],
        Values::U32(expected),
        elements(size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                Ok(queue.histogram(inputs[0].floats(), Bins::even(0.0..256.0), out.words_mut())?)
            }))
        },
        |inputs, out| {
            let tasks = inputs[0].floats().par_chunks(TASK);
            added(tasks.map(|task| tally(BINS, task.iter().map(|&x| (x as usize, 1)))), out.words_mut());
        },
    )
}

/// Counts words in bins of different widths.
pub(super) fn edges(size: Size) -> Case {
    let x = words_below(size.many(), uneven()[UNEVEN], 45);
    let expected =
        host::histogram(x.words(), Bins::edges(&uneven()), UNEVEN).expect("bug: the bins are refused");
    exact(
        "histogram, edges",
        vec![x],
        Values::U32(expected),
        elements(size.many()),
        |_| {
            let edges = uneven();
            Ok(Box::new(move |queue, inputs, out| {
                Ok(queue.histogram(inputs[0].words(), Bins::edges(&edges), out.words_mut())?)
            }))
        },
        |inputs, out| {
            let edges = uneven();
            let bin = |x: &u32| (edges.partition_point(|edge| edge <= x) - 1, 1);
            let tasks = inputs[0].words().par_chunks(TASK);
            added(tasks.map(|task| tally(UNEVEN, task.iter().map(bin))), out.words_mut());
        },
    )
}

/// Returns edges with growing distances.
fn uneven() -> Vec<u32> {
    (0..=UNEVEN as u32).map(|at| at * at).collect()
}

pub(super) fn weights(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 46);
    let weights = words_below(size.many(), 100, 47);
    let expected = host::histogram_weighted(x.words(), weights.words(), Bins::modulo(), BINS);
    exact(
        "histogram, weights",
        vec![x, weights],
        Values::U32(expected.expect("bug: the bins are refused")),
        elements(size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let x = inputs[0].words();
                let weights = inputs[1].words();
                Ok(queue.histogram_weighted(x, weights, Bins::modulo(), out.words_mut())?)
            }))
        },
        |inputs, out| {
            let tasks = inputs[0].words().par_chunks(TASK).zip(inputs[1].words().par_chunks(TASK));
            let weighted = |(&x, &weight): (&u32, &u32)| (x as usize % BINS, weight);
            added(
                tasks.map(|(x, weights)| tally(BINS, x.iter().zip(weights).map(weighted))),
                out.words_mut(),
            );
        },
    )
}

pub(super) fn fixed(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 48);
    let weights = whole_floats(size.many(), 49);
    let expected = host::histogram_fixed(x.words(), weights.floats(), FRACTION, Bins::modulo(), BINS);
    exact(
        "histogram, fixed point",
        vec![x, weights],
        Values::F32(expected.expect("bug: the bins are refused")),
        elements(size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let x = inputs[0].words();
                let weights = inputs[1].floats();
                Ok(queue.histogram_fixed(x, weights, FRACTION, Bins::modulo(), out.floats_mut())?)
            }))
        },
        |inputs, out| {
            let tasks = inputs[0].words().par_chunks(TASK).zip(inputs[1].floats().par_chunks(TASK));
            let scale = 2_f32.powi(FRACTION as i32);
            let weighted = |(&x, &weight): (&u32, &f32)| {
                (x as usize % BINS, (weight * scale).round_ties_even() as i32 as u32)
            };
            let mut sums = [0; BINS];
            added(tasks.map(|(x, weights)| tally(BINS, x.iter().zip(weights).map(weighted))), &mut sums);
            out.floats_mut().iter_mut().zip(sums).for_each(|(out, sum)| *out = sum as i32 as f32 / scale);
        },
    )
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

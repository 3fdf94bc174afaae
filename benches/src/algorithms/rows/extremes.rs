use fencepost::algorithms::Algorithms as _;
use rayon::prelude::*;

use super::reductions::{LANES, TASK};
use super::{Size, bytes, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::values::Values;

/// Finds the largest of floats, with a NaN as the result if there is one.
pub(super) fn largest(size: Size) -> Case {
    let x = floats(size, 29, |_| false);
    let expected = Values::F32(vec![x.floats().iter().copied().fold(f32::NEG_INFINITY, f32::max)]);
    exact(
        "max of floats",
        vec![x],
        expected,
        bytes(4 * size.many()),
        |_| Ok(Box::new(|queue, inputs, out| Ok(queue.max(inputs[0].floats(), out.floats_mut())?))),
        |inputs, out| {
            let tasks = inputs[0].floats().par_chunks(TASK);
            let largest = tasks.map(|task| folded(task, f32::NEG_INFINITY, larger));
            out.floats_mut()[0] = largest.reduce(|| f32::NEG_INFINITY, larger);
        },
    )
}

/// Finds the smallest of floats, of which one in 16 is a NaN.
pub(super) fn smallest_number(size: Size) -> Case {
    let x = floats(size, 30, |at| at % 16 == 3);
    let expected = Values::F32(vec![x.floats().iter().copied().fold(f32::INFINITY, f32::min)]);
    exact(
        "min without NaNs",
        vec![x],
        expected,
        bytes(4 * size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| Ok(queue.min(inputs[0].floats().skip_nan(), out.floats_mut())?)))
        },
        |inputs, out| {
            let tasks = inputs[0].floats().par_chunks(TASK);
            let smallest = tasks.map(|task| folded(task, f32::INFINITY, f32::min));
            out.floats_mut()[0] = smallest.reduce(|| f32::INFINITY, f32::min);
        },
    )
}

pub(super) fn argmin(size: Size) -> Case {
    let x = floats(size, 31, |_| false);
    let least = x.floats().iter().copied().fold(f32::INFINITY, f32::min);
    let place = x.floats().iter().position(|&x| x == least).unwrap_or_default();
    exact(
        "argmin of floats",
        vec![x],
        Values::U32(vec![place as u32]),
        bytes(4 * size.many()),
        |_| Ok(Box::new(|queue, inputs, out| Ok(queue.argmin(inputs[0].floats(), out.words_mut())?))),
        |inputs, out| {
            let x = inputs[0].floats();
            let smallest = x.par_chunks(TASK).map(|task| folded(task, f32::INFINITY, f32::min));
            let least = smallest.reduce(|| f32::INFINITY, f32::min);
            let place = x.par_iter().position_first(|&x| x == least);
            out.words_mut()[0] = place.expect("bug: the minimum is an element") as u32;
        },
    )
}

pub(super) fn nonzero(size: Size) -> Case {
    let x = words_below(size.many(), 3, 32);
    let expected = Values::U32(vec![x.words().iter().filter(|x| **x != 0).count() as u32]);
    exact(
        "count nonzero",
        vec![x],
        expected,
        bytes(4 * size.many()),
        |_| Ok(Box::new(|queue, inputs, out| Ok(queue.count_nonzero(inputs[0].words(), out.words_mut())?))),
        |inputs, out| {
            let tasks = inputs[0].words().par_chunks(TASK);
            out.words_mut()[0] = tasks.map(|task| task.iter().map(|x| u32::from(*x != 0)).sum::<u32>()).sum();
        },
    )
}

/// Returns floats, with NaNs at some places.
fn floats(size: Size, seed: u64, is_nan: fn(usize) -> bool) -> Values {
    let words = words_below(size.many(), 1 << 24, seed);
    let float = |(at, &word): (usize, &u32)| if is_nan(at) { f32::NAN } else { word as f32 - 1e6 };
    Values::F32(words.words().iter().enumerate().map(float).collect())
}

/// Returns the larger number, or a NaN if one is.
fn larger(a: f32, b: f32) -> f32 {
    if a > b || a.is_nan() { a } else { b }
}

/// Combines the elements of a task in several chains.
fn folded(task: &[f32], neutral: f32, combined: impl Fn(f32, f32) -> f32) -> f32 {
    let (parts, rest) = task.as_chunks::<LANES>();
    let mut lanes = [neutral; LANES];
    for part in parts {
        lanes.iter_mut().zip(part).for_each(|(lane, x)| *lane = combined(*lane, *x));
    }
    lanes.iter().chain(rest).fold(neutral, |a, b| combined(a, *b))
}

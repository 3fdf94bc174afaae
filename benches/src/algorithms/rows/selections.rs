use fencepost::algorithms::{Algorithms as _, Operation};
use fencepost::{CommandQueue, DeviceArray, Result};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, TASK, elements, runs, words_below};
use crate::cpu::case::Case;

type Words = DeviceArray<u32>;

/// Keeps about half of the elements.
pub(super) fn select(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 6);
    let mask = words_below(size.many(), 2, 7);
    let expected = host::select(&x, &mask);
    of(
        [x, mask],
        expected,
        |queue, [x, mask], out, count| queue.select(x, mask, out, count),
        |[x, mask]| {
            let tasks = x.par_chunks(TASK).zip(mask.par_chunks(TASK));
            tasks.map(|(x, mask)| host::select(x, mask)).collect()
        },
    )
}

pub(super) fn partition(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 40);
    let mask = words_below(size.many(), 2, 41);
    let (expected, _) = host::partition(&x, &mask);
    of(
        [x, mask],
        expected,
        |queue, [x, mask], out, count| queue.partition(x, mask, out, count),
        |[x, mask]| {
            let tasks = x.par_chunks(TASK).zip(mask.par_chunks(TASK));
            let parts = tasks.map(|(x, mask)| (host::select(x, mask), left(x, mask)));
            let (first, last): (Vec<_>, Vec<_>) = parts.unzip();
            [first, last].concat()
        },
    )
}

fn left(x: &[u32], mask: &[u32]) -> Vec<u32> {
    x.iter().zip(mask).filter(|(_, mask)| **mask == 0).map(|(x, _)| *x).collect()
}

/// Finds the nonzero elements, about half of all.
pub(super) fn nonzero(size: Size) -> Case {
    let x = words_below(size.many(), 2, 42);
    let expected = host::nonzero(&x).into_iter().map(|place| place as u32).collect();
    of(
        [x],
        expected,
        |queue, [x], out, count| queue.nonzero(x, out, count),
        |[x]| {
            let tasks = x.par_chunks(TASK).enumerate().map(|(task, x)| {
                let places = (task * TASK) as u32..;
                places.zip(x).filter(|(_, x)| **x != 0).map(|(place, _)| place).collect()
            });
            tasks.collect()
        },
    )
}

/// Removes repeats from runs of eight elements on average.
pub(super) fn unique(size: Size) -> Case {
    let x = runs(size.many());
    let expected = host::unique(&x);
    of(
        [x],
        expected,
        |queue, [x], out, count| queue.unique(x, out, count),
        |[x]| vec![starts(x).map(|first| x[first]).collect()],
    )
}

pub(super) fn reduce_by_key(size: Size) -> Case {
    let keys = runs(size.many());
    let x = words_below(size.many(), 100, 36);
    let (_, expected) = host::reduce_by_key(&keys, &x, Operation::Sum);
    of(
        [keys, x],
        expected,
        |queue, [keys, x], sums, count| {
            let mut kept = queue.empty([keys.len()])?;
            queue.reduce_by_key(keys, x, Operation::Sum, &mut kept, sums, count)
        },
        |[keys, x]| {
            let sum = |first: usize| x[first..first + length(keys, first)].iter().sum();
            vec![starts(keys).map(sum).collect()]
        },
    )
}

pub(super) fn run_lengths(size: Size) -> Case {
    let x = runs(size.many());
    let (_, lengths) = host::run_lengths(&x);
    of(
        [x],
        lengths.into_iter().map(|length| length as u32).collect(),
        |queue, [x], lengths, count| {
            let mut kept = queue.empty([x.len()])?;
            queue.run_lengths(x, &mut kept, lengths, count)
        },
        |[x]| vec![starts(x).map(|first| length(x, first) as u32).collect()],
    )
}

/// Returns a row of a verb whose result has fewer elements than its arrays, and which writes their number to an array
/// of one element. The rest of the result stays 0. Plain Rust returns the parts of the result.
fn of<const K: usize>(
    inputs: [Vec<u32>; K],
    mut expected: Vec<u32>,
    verb: fn(&CommandQueue, [&Words; K], &mut Words, &mut Words) -> Result<()>,
    plain: fn([&[u32]; K]) -> Vec<Vec<u32>>,
) -> Case {
    let n = inputs[0].len();
    expected.resize(n, 0);
    Case::verb(
        inputs,
        expected,
        elements(n),
        move |queue, inputs, out| verb(queue, inputs, out, &mut queue.empty([1])?),
        move |inputs, mut out| {
            for part in plain(inputs) {
                let (first, rest) = out.split_at_mut(part.len());
                first.copy_from_slice(&part);
                out = rest;
            }
        },
    )
}

/// Returns the index of the first element of each run.
fn starts(keys: &[u32]) -> impl ParallelIterator<Item = usize> + '_ {
    let places = (0..keys.len()).into_par_iter().with_min_len(TASK);
    places.filter(|&at| at == 0 || keys[at] != keys[at - 1])
}

/// Counts the elements of the run that begins at an index.
fn length(keys: &[u32], first: usize) -> usize {
    keys[first..].iter().take_while(|key| **key == keys[first]).count()
}

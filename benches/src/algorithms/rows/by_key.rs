use fencepost::algorithms::{Algorithms as _, Operation, Scan};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::selections::joined;
use super::{Size, bytes, elements, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::values::Values;

/// Elements of a task of plain Rust.
const TASK: usize = 1 << 16;

pub(super) fn scan(size: Size) -> Case {
    let keys = runs(size.many());
    let x = words_below(size.many(), 100, 35);
    let expected = host::scan_by_key(keys.words(), x.words(), Scan::inclusive(Operation::Sum));
    exact(
        "scan by key",
        vec![keys, x],
        Values::U32(expected),
        bytes(12 * size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let keys = inputs[0].words();
                let x = inputs[1].words();
                Ok(queue.scan_by_key(keys, x, out.words_mut(), Scan::inclusive(Operation::Sum))?)
            }))
        },
        |inputs, out| scanned(inputs[0].words(), inputs[1].words(), out.words_mut()),
    )
}

/// Scans each task, then carries the sum of a run that began earlier into the next task.
fn scanned(keys: &[u32], x: &[u32], out: &mut [u32]) {
    let tasks = out.par_chunks_mut(TASK).zip(keys.par_chunks(TASK)).zip(x.par_chunks(TASK));
    tasks.for_each(|((out, keys), x)| {
        let mut sum = 0;
        let mut run = keys[0];
        for ((out, &key), x) in out.iter_mut().zip(keys).zip(x) {
            sum = if key == run { sum + x } else { *x };
            run = key;
            *out = sum;
        }
    });
    for first in (TASK..out.len()).step_by(TASK) {
        let run = keys[first - 1];
        let before = out[first - 1];
        let task = out[first..].iter_mut().zip(&keys[first..]).take(TASK);
        task.take_while(|(_, key)| **key == run).for_each(|(out, _)| *out += before);
    }
}

pub(super) fn reduce(size: Size) -> Case {
    let keys = runs(size.many());
    let x = words_below(size.many(), 100, 36);
    let (_, mut expected) = host::reduce_by_key(keys.words(), x.words(), Operation::Sum);
    expected.resize(size.many(), 0);
    exact(
        "reduce by key",
        vec![keys, x],
        Values::U32(expected),
        elements(size.many()),
        |ctx| {
            let count = ctx.zeros::<u32, 1>([1])?;
            Ok(Box::new(move |queue, inputs, out| {
                let keys = inputs[0].words();
                let x = inputs[1].words();
                let mut kept = queue.empty([keys.len()])?;
                let sums = out.words_mut();
                Ok(queue.reduce_by_key(keys, x, Operation::Sum, &mut kept, sums, &mut count.clone())?)
            }))
        },
        |inputs, out| {
            let keys = inputs[0].words();
            let x = inputs[1].words();
            let sum = |first: usize| x[first..first + length(keys, first)].iter().sum();
            joined(&[starts(keys).map(sum).collect()], out.words_mut());
        },
    )
}

pub(super) fn lengths(size: Size) -> Case {
    let x = runs(size.many());
    let (_, lengths) = host::run_lengths(x.words());
    let mut expected: Vec<u32> = lengths.into_iter().map(|length| length as u32).collect();
    expected.resize(size.many(), 0);
    exact(
        "run lengths",
        vec![x],
        Values::U32(expected),
        elements(size.many()),
        |ctx| {
            let count = ctx.zeros::<u32, 1>([1])?;
            Ok(Box::new(move |queue, inputs, out| {
                let x = inputs[0].words();
                let mut kept = queue.empty([x.len()])?;
                Ok(queue.run_lengths(x, &mut kept, out.words_mut(), &mut count.clone())?)
            }))
        },
        |inputs, out| {
            let x = inputs[0].words();
            let lengths = starts(x).map(|first| length(x, first) as u32);
            joined(&[lengths.collect()], out.words_mut());
        },
    )
}

/// Returns keys with runs of eight elements on average.
fn runs(n: usize) -> Values {
    let mut run = 0;
    let key = |change: &u32| {
        run += u32::from(*change == 0);
        run
    };
    Values::U32(words_below(n, 8, 37).words().iter().map(key).collect())
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

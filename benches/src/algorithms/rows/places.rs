use fencepost::algorithms::Algorithms as _;
use fencepost_oracles as host;
use rayon::prelude::*;

use super::selections::{joined, kept};
use super::{Size, bytes, elements, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::values::Values;

/// Elements of a task of plain Rust.
const TASK: usize = 1 << 16;

pub(super) fn partition(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 40);
    let mask = words_below(size.many(), 2, 41);
    let (expected, _) = host::partition(x.words(), mask.words());
    exact(
        "partition",
        vec![x, mask],
        Values::U32(expected),
        elements(size.many()),
        |ctx| {
            let count = ctx.zeros::<u32, 1>([1])?;
            Ok(Box::new(move |queue, inputs, out| {
                let x = inputs[0].words();
                let mask = inputs[1].words();
                Ok(queue.partition(x, mask, out.words_mut(), &mut count.clone())?)
            }))
        },
        |inputs, out| {
            let tasks = inputs[0].words().par_chunks(TASK).zip(inputs[1].words().par_chunks(TASK));
            let (first, last): (Vec<_>, Vec<_>) =
                tasks.map(|(x, mask)| (kept(x, mask), left(x, mask))).unzip();
            joined(&[first, last].concat(), out.words_mut());
        },
    )
}

fn left(x: &[u32], mask: &[u32]) -> Vec<u32> {
    x.iter().zip(mask).filter(|(_, mask)| **mask == 0).map(|(x, _)| *x).collect()
}

/// Finds the nonzero elements, about half of all.
pub(super) fn nonzero(size: Size) -> Case {
    let x = words_below(size.many(), 2, 42);
    let mut expected: Vec<u32> = host::nonzero(x.words()).into_iter().map(|place| place as u32).collect();
    expected.resize(size.many(), 0);
    exact(
        "nonzero",
        vec![x],
        Values::U32(expected),
        elements(size.many()),
        |ctx| {
            let count = ctx.zeros::<u32, 1>([1])?;
            Ok(Box::new(move |queue, inputs, out| {
                Ok(queue.nonzero(inputs[0].words(), out.words_mut(), &mut count.clone())?)
            }))
        },
        |inputs, out| {
            let tasks = inputs[0].words().par_chunks(TASK).enumerate().map(|(task, x)| {
                let places = (task * TASK) as u32..;
                places.zip(x).filter(|(_, x)| **x != 0).map(|(place, _)| place).collect()
            });
            joined(&tasks.collect::<Vec<_>>(), out.words_mut());
        },
    )
}

/// Sums three quarters of an array; the number of elements is on the device.
pub(super) fn part(size: Size) -> Case {
    let x = words_below(size.many(), 1000, 43);
    let n = size.many() / 4 * 3;
    let expected = Values::U32(vec![x.words()[..n].iter().sum()]);
    exact(
        "sum of a part",
        vec![x, Values::U32(vec![n as u32])],
        expected,
        bytes(4 * n),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                Ok(queue.sum(inputs[0].words().first(inputs[1].words()), out.words_mut())?)
            }))
        },
        |inputs, out| {
            let part = &inputs[0].words()[..inputs[1].words()[0] as usize];
            out.words_mut()[0] = part.par_chunks(TASK).map(|task| task.iter().sum::<u32>()).sum();
        },
    )
}

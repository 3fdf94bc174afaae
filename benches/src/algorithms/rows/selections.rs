use fencepost::algorithms::Algorithms as _;
use rayon::prelude::*;

use super::{Size, elements, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::values::Values;

/// Elements of a task of plain Rust.
const TASK: usize = 1 << 16;

/// Keeps about half of the elements. The rest of the result stays 0.
pub(super) fn select(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 6);
    let mask = words_below(size.many(), 2, 7);
    let mut expected = kept(x.words(), mask.words());
    expected.resize(size.many(), 0);
    exact(
        "select",
        vec![x, mask],
        Values::U32(expected),
        elements(size.many()),
        |ctx| {
            let count = ctx.zeros::<u32, 1>([1])?;
            Ok(Box::new(move |queue, inputs, out| {
                let x = inputs[0].words();
                let mask = inputs[1].words();
                Ok(queue.select(x, mask, out.words_mut(), &mut count.clone())?)
            }))
        },
        |inputs, out| {
            let x = inputs[0].words();
            let mask = inputs[1].words();
            let tasks = x.par_chunks(TASK).zip(mask.par_chunks(TASK));
            joined(&tasks.map(|(x, mask)| kept(x, mask)).collect::<Vec<_>>(), out.words_mut());
        },
    )
}

pub(super) fn kept(x: &[u32], mask: &[u32]) -> Vec<u32> {
    x.iter().zip(mask).filter(|(_, mask)| **mask != 0).map(|(x, _)| *x).collect()
}

/// Concatenates parts.
pub(super) fn joined(parts: &[Vec<u32>], mut out: &mut [u32]) {
    for part in parts {
        let (first, rest) = out.split_at_mut(part.len());
        first.copy_from_slice(part);
        out = rest;
    }
}

/// Removes repeats from runs of eight elements on average.
pub(super) fn unique(size: Size) -> Case {
    let changes = words_below(size.many(), 8, 8);
    let mut run = 0;
    let runs = changes.words().iter().map(|change| {
        run += u32::from(*change == 0);
        run
    });
    let x: Vec<u32> = runs.collect();
    let mut expected = x.clone();
    expected.dedup();
    expected.resize(x.len(), 0);
    exact(
        "unique",
        vec![Values::U32(x)],
        Values::U32(expected),
        elements(size.many()),
        |ctx| {
            let count = ctx.zeros::<u32, 1>([1])?;
            Ok(Box::new(move |queue, inputs, out| {
                Ok(queue.unique(inputs[0].words(), out.words_mut(), &mut count.clone())?)
            }))
        },
        |inputs, out| {
            let x = inputs[0].words();
            let starts = (0..x.len()).into_par_iter().with_min_len(TASK);
            let firsts = starts.filter(|&at| at == 0 || x[at] != x[at - 1]).map(|at| x[at]);
            joined(&[firsts.collect()], out.words_mut());
        },
    )
}

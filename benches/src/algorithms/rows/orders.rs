use fencepost::algorithms::{Algorithms as _, Side, Sort};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, elements, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::values::Values;

/// Elements of a task of plain Rust.
const TASK: usize = 1 << 16;

pub(super) fn descending(size: Size) -> Case {
    let x = words_below(size.many() / 4, u32::MAX, 50);
    let expected = host::sort(x.words(), Sort::descending()).expect("bug: the bits are refused");
    exact(
        "sort, descending",
        vec![x],
        Values::U32(expected),
        elements(size.many() / 4),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                Ok(queue.sort(inputs[0].words(), out.words_mut(), Sort::descending())?)
            }))
        },
        |inputs, out| {
            out.words_mut().copy_from_slice(inputs[0].words());
            out.words_mut().par_sort_unstable_by(|a, b| b.cmp(a));
        },
    )
}

pub(super) fn places(size: Size) -> Case {
    let x = words_below(size.many() / 4, 1 << 16, 51);
    let expected = host::argsort(x.words(), Sort::ascending()).expect("bug: the bits are refused");
    exact(
        "argsort",
        vec![x],
        Values::U32(expected),
        elements(size.many() / 4),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                Ok(queue.argsort(inputs[0].words(), out.words_mut(), Sort::ascending())?)
            }))
        },
        |inputs, out| {
            // The index as the second key makes the sort stable.
            let mut keys: Vec<(u32, u32)> = inputs[0].words().iter().copied().zip(0..).collect();
            keys.par_sort_unstable();
            out.words_mut().par_iter_mut().zip(keys).for_each(|(out, (_, place))| *out = place);
        },
    )
}

pub(super) fn middle(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 52);
    let expected = host::kth(x.words(), size.many() / 2).expect("bug: there is no such element");
    exact(
        "k-th of all",
        vec![x],
        Values::U32(vec![expected]),
        elements(size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let x = inputs[0].words();
                Ok(queue.kth(x, x.len() / 2, out.words_mut())?)
            }))
        },
        |inputs, out| {
            let mut x = inputs[0].words().to_vec();
            let middle = x.len() / 2;
            out.words_mut()[0] = *x.select_nth_unstable(middle).1;
        },
    )
}

pub(super) fn merge(size: Size) -> Case {
    let x = sorted(size.many() / 2, 53);
    let y = sorted(size.many() / 2, 54);
    let expected = host::merge(x.words(), y.words());
    exact(
        "merge",
        vec![x, y],
        Values::U32(expected),
        elements(size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                Ok(queue.merge(inputs[0].words(), inputs[1].words(), out.words_mut())?)
            }))
        },
        |inputs, out| {
            let x = inputs[0].words();
            let y = inputs[1].words();
            out.words_mut().par_chunks_mut(TASK).enumerate().for_each(|(task, out)| {
                let mut i = taken(x, y, task * TASK);
                let mut j = task * TASK - i;
                for out in out {
                    let is_first = j == y.len() || (i < x.len() && x[i] <= y[j]);
                    *out = if is_first { x[i] } else { y[j] };
                    if is_first { i += 1 } else { j += 1 }
                }
            });
        },
    )
}

/// Counts the elements of `x` among the first `count` of both lists, by binary search.
fn taken(x: &[u32], y: &[u32], count: usize) -> usize {
    let mut low = count.saturating_sub(y.len());
    let mut high = count.min(x.len());
    while low < high {
        let middle = low.midpoint(high);
        if x[middle] <= y[count - middle - 1] { low = middle + 1 } else { high = middle }
    }
    low
}

pub(super) fn search(size: Size) -> Case {
    let x = sorted(size.many() / 4, 55);
    let queries = words_below(size.many() / 4, u32::MAX, 56);
    let expected = host::searchsorted(x.words(), queries.words(), Side::Left);
    exact(
        "searchsorted",
        vec![x, queries],
        Values::U32(expected),
        elements(size.many() / 4),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let x = inputs[0].words();
                let queries = inputs[1].words();
                Ok(queue.searchsorted(x, queries, Side::Left, out.words_mut())?)
            }))
        },
        |inputs, out| {
            let x = inputs[0].words();
            let queries = out.words_mut().par_iter_mut().zip(inputs[1].words());
            queries.for_each(|(out, query)| *out = x.partition_point(|x| x < query) as u32);
        },
    )
}

/// Returns ascending words.
fn sorted(n: usize, seed: u64) -> Values {
    let mut words = words_below(n, u32::MAX, seed).words().to_vec();
    words.sort_unstable();
    Values::U32(words)
}

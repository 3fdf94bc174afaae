use fencepost::algorithms::{Algorithms as _, Side, Sort};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, TASK, elements, offsets, words_below};
use crate::cpu::case::Case;

const TOP: usize = 100;
/// Panic of a reference.
const REFUSED: &str = "bug: the arguments are refused";

pub(super) fn sort(size: Size) -> Case {
    ascending(size.many() / 4)
}

pub(super) fn short_sort(size: Size) -> Case {
    Case { launches: if size.quick { 2 } else { 20 }, ..ascending(4096) }
}

fn ascending(n: usize) -> Case {
    of(n, Sort::ascending(), |x| x.par_sort_unstable())
}

pub(super) fn descending(size: Size) -> Case {
    of(size.many() / 4, Sort::descending(), |x| x.par_sort_unstable_by(|a, b| b.cmp(a)))
}

fn of(n: usize, sort: Sort, plain: fn(&mut [u32])) -> Case {
    let x = words_below(n, u32::MAX, 10);
    let expected = host::sort(&x, sort).expect(REFUSED);
    Case::verb(
        [x],
        expected,
        elements(n),
        move |queue, [x], out| queue.sort(x, out, sort),
        move |[x], out| {
            out.copy_from_slice(x);
            plain(out);
        },
    )
}

pub(super) fn pairs(size: Size) -> Case {
    let n = size.many() / 4;
    let keys = words_below(n, u32::MAX, 11);
    let values = words_below(n, u32::MAX, 12);
    let (_, expected) = host::sort_pairs(&keys, &values, Sort::ascending()).expect(REFUSED);
    Case::verb(
        [keys, values],
        expected,
        elements(n),
        |queue, [keys, values], out| {
            let mut sorted = queue.empty([keys.len()])?;
            queue.sort_pairs(keys, values, &mut sorted, out, Sort::ascending())
        },
        |[keys, values], out| {
            let both = keys.par_iter().zip(values);
            let mut both: Vec<(u32, u32)> = both.map(|(key, value)| (*key, *value)).collect();
            both.par_sort_by_key(|(key, _)| *key);
            out.par_iter_mut().zip(both).for_each(|(out, (_, value))| *out = value);
        },
    )
}

pub(super) fn segments(size: Size) -> Case {
    let n = size.many() / 4;
    let x = words_below(n, u32::MAX, 34);
    let offsets = offsets(n);
    let expected = host::sort_segments(&x, &offsets, Sort::ascending()).expect(REFUSED);
    Case::verb(
        [x, offsets],
        expected,
        elements(n),
        |queue, [x, offsets], out| queue.sort(x.segments(offsets), out, Sort::ascending()),
        |[x, offsets], mut out| {
            out.copy_from_slice(x);
            let mut segments = Vec::new();
            for ends in offsets.windows(2) {
                let (segment, after) = out.split_at_mut((ends[1] - ends[0]) as usize);
                segments.push(segment);
                out = after;
            }
            segments.into_par_iter().for_each(<[u32]>::sort_unstable);
        },
    )
}

pub(super) fn places(size: Size) -> Case {
    let x = words_below(size.many() / 4, 1 << 16, 51);
    let expected = host::argsort(&x, Sort::ascending()).expect(REFUSED);
    Case::verb(
        [x],
        expected,
        elements(size.many() / 4),
        |queue, [x], out| queue.argsort(x, out, Sort::ascending()),
        |[x], out| {
            // The index as the second key makes the sort stable.
            let mut keys: Vec<(u32, u32)> = x.iter().copied().zip(0..).collect();
            keys.par_sort_unstable();
            out.par_iter_mut().zip(keys).for_each(|(out, (_, place))| *out = place);
        },
    )
}

pub(super) fn top(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 13);
    let (expected, _) = host::top_k(&x, TOP).expect(REFUSED);
    Case::verb(
        [x],
        expected,
        elements(size.many()),
        |queue, [x], out| queue.top_k(x, out, &mut queue.empty([TOP])?),
        |[x], out| {
            let mut x = x.to_vec();
            let (top, ..) = x.select_nth_unstable_by(TOP, |a, b| b.cmp(a));
            top.sort_by(|a, b| b.cmp(a));
            out.copy_from_slice(top);
        },
    )
}

pub(super) fn middle(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 52);
    let expected = vec![host::kth(&x, size.many() / 2).expect(REFUSED)];
    Case::verb(
        [x],
        expected,
        elements(size.many()),
        |queue, [x], out| queue.kth(x, x.len() / 2, out),
        |[x], out| {
            let middle = x.len() / 2;
            out[0] = *x.to_vec().select_nth_unstable(middle).1;
        },
    )
}

pub(super) fn merge(size: Size) -> Case {
    let x = sorted(size.many() / 2, 53);
    let y = sorted(size.many() / 2, 54);
    let expected = host::merge(&x, &y);
    Case::verb(
        [x, y],
        expected,
        elements(size.many()),
        |queue, [x, y], out| queue.merge(x, y, out),
        |[x, y], out| {
            out.par_chunks_mut(TASK).enumerate().for_each(|(task, out)| {
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
    let expected = host::searchsorted(&x, &queries, Side::Left);
    Case::verb(
        [x, queries],
        expected,
        elements(size.many() / 4),
        |queue, [x, queries], out| queue.searchsorted(x, queries, Side::Left, out),
        |[x, queries], out| {
            let queries = out.par_iter_mut().zip(queries);
            queries.for_each(|(out, query)| *out = x.partition_point(|x| x < query) as u32);
        },
    )
}

/// Returns ascending words.
fn sorted(n: usize, seed: u64) -> Vec<u32> {
    let mut words = words_below(n, u32::MAX, seed);
    words.sort_unstable();
    words
}

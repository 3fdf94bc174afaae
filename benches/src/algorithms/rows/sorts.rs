use fencepost::algorithms::{Algorithms as _, Sort};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, elements, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::values::Values;

const TOP: usize = 100;

pub(super) fn sort(size: Size) -> Case {
    of("sort", size.many() / 4)
}

pub(super) fn short_sort(size: Size) -> Case {
    Case { launches: if size.quick { 2 } else { 20 }, ..of("sort, 4096 elements", 4096) }
}

fn of(name: &'static str, n: usize) -> Case {
    let x = words_below(n, u32::MAX, 10);
    let mut expected = x.words().to_vec();
    expected.sort();
    exact(
        name,
        vec![x],
        Values::U32(expected),
        elements(n),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                Ok(queue.sort(inputs[0].words(), out.words_mut(), Sort::ascending())?)
            }))
        },
        |inputs, out| {
            out.words_mut().copy_from_slice(inputs[0].words());
            out.words_mut().par_sort_unstable();
        },
    )
}

pub(super) fn pairs(size: Size) -> Case {
    let n = size.many() / 4;
    let keys = words_below(n, u32::MAX, 11);
    let values = words_below(n, u32::MAX, 12);
    let expected = host::sort_pairs(keys.words(), values.words(), Sort::ascending()).unwrap().1;
    exact(
        "sort pairs",
        vec![keys, values],
        Values::U32(expected),
        elements(n),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let keys = inputs[0].words();
                let values = inputs[1].words();
                let mut sorted = queue.empty([keys.len()])?;
                Ok(queue.sort_pairs(keys, values, &mut sorted, out.words_mut(), Sort::ascending())?)
            }))
        },
        |inputs, out| {
            let both = inputs[0].words().par_iter().zip(inputs[1].words());
            let mut both: Vec<(u32, u32)> = both.map(|(key, value)| (*key, *value)).collect();
            both.par_sort_by_key(|(key, _)| *key);
            out.words_mut().par_iter_mut().zip(both).for_each(|(out, (_, value))| *out = value);
        },
    )
}

pub(super) fn top(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 13);
    let mut expected = x.words().to_vec();
    expected.sort_by(|a, b| b.cmp(a));
    expected.truncate(TOP);
    exact(
        "top 100",
        vec![x],
        Values::U32(expected),
        elements(size.many()),
        |ctx| {
            let places = ctx.zeros::<u32, 1>([TOP])?;
            Ok(Box::new(move |queue, inputs, out| {
                Ok(queue.top_k(inputs[0].words(), out.words_mut(), &mut places.clone())?)
            }))
        },
        |inputs, out| {
            let mut x = inputs[0].words().to_vec();
            let (top, ..) = x.select_nth_unstable_by(TOP, |a, b| b.cmp(a));
            top.sort_by(|a, b| b.cmp(a));
            out.words_mut().copy_from_slice(top);
        },
    )
}

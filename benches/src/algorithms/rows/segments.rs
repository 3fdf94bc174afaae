use fencepost::algorithms::{Algorithms as _, Operation, Sort};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, bytes, elements, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::values::Values;

/// Average number of elements of a segment.
const LENGTH: usize = 1024;

pub(super) fn sums(size: Size) -> Case {
    let x = words_below(size.many(), 1000, 33);
    let offsets = offsets(size.many());
    let expected = host::reduce_segments(x.words(), offsets.words(), Operation::Sum);
    exact(
        "sum of segments",
        vec![x, offsets],
        Values::U32(expected),
        bytes(4 * size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let x = inputs[0].words();
                let offsets = inputs[1].words();
                Ok(queue.reduce(x.segments(offsets), Operation::Sum, out.words_mut())?)
            }))
        },
        |inputs, out| {
            let x = inputs[0].words();
            let segments = inputs[1].words().par_windows(2);
            let sums = out.words_mut().par_iter_mut().zip(segments);
            sums.for_each(|(sum, ends)| *sum = x[ends[0] as usize..ends[1] as usize].iter().sum());
        },
    )
}

pub(super) fn sorts(size: Size) -> Case {
    let n = size.many() / 4;
    let x = words_below(n, u32::MAX, 34);
    let offsets = offsets(n);
    let expected = host::sort_segments(x.words(), offsets.words(), Sort::ascending());
    exact(
        "sort segments",
        vec![x, offsets],
        Values::U32(expected.expect("bug: the bits are refused")),
        elements(n),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let x = inputs[0].words();
                let offsets = inputs[1].words();
                Ok(queue.sort(x.segments(offsets), out.words_mut(), Sort::ascending())?)
            }))
        },
        |inputs, out| {
            let mut rest = out.words_mut();
            rest.copy_from_slice(inputs[0].words());
            let mut segments = Vec::new();
            for ends in inputs[1].words().windows(2) {
                let (segment, after) = rest.split_at_mut((ends[1] - ends[0]) as usize);
                segments.push(segment);
                rest = after;
            }
            segments.into_par_iter().for_each(<[u32]>::sort_unstable);
        },
    )
}

/// Returns the ends of segments of different lengths, none of which is empty.
fn offsets(n: usize) -> Values {
    let segments = n / LENGTH;
    let inside = (1..segments).map(|at| at * LENGTH + at * 37 % (LENGTH / 2));
    Values::U32([0].into_iter().chain(inside).chain([n]).map(|at| at as u32).collect())
}

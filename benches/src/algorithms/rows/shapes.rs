use fencepost::algorithms::{Algorithms as _, Strides};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, bytes, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::values::Values;

const RANK: usize = 6;
/// Axis of the array for each axis of the result. No two neighbours stay neighbours.
const AXES: [usize; RANK] = [3, 1, 5, 0, 4, 2];

pub(super) fn permute(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 61);
    let expected = host::permute(x.words(), shape(size.many()), AXES).expect("bug: the axes are refused");
    exact(
        "permute, rank 6",
        vec![x],
        Values::U32(expected),
        bytes(8 * size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let x = inputs[0].words();
                let out = out.words_mut();
                let shape = shape(x.len());
                let x = x.reshape(shape)?;
                let mut out = out.reshape(AXES.map(|axis| shape[axis]))?;
                Ok(queue.permute(&x, AXES, &mut out)?)
            }))
        },
        |inputs, out| {
            let x = inputs[0].words();
            let shape = shape(x.len());
            let strides = AXES.map(|axis| strides(shape)[axis]);
            let shape = AXES.map(|axis| shape[axis]);
            let length = shape[RANK - 1];
            let step = strides[RANK - 1];
            out.words_mut().par_chunks_mut(length).enumerate().for_each(|(mut row, out)| {
                let mut from = 0;
                for axis in (0..RANK - 1).rev() {
                    from += row % shape[axis] * strides[axis];
                    row /= shape[axis];
                }
                x[from..].iter().step_by(step).zip(out).for_each(|(x, out)| *out = *x);
            });
        },
    )
}

fn shape(n: usize) -> [usize; RANK] {
    [n >> 12, 4, 4, 4, 8, 8]
}

fn strides(shape: [usize; RANK]) -> [usize; RANK] {
    let mut strides = [1; RANK];
    for axis in (1..RANK).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

/// Takes every second element, from the last one to the first.
pub(super) fn strided(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 62);
    let n = size.many() / 2;
    let expected = (0..n).map(|at| x.words()[2 * (n - 1 - at)]).collect();
    exact(
        "strided copy",
        vec![x],
        Values::U32(expected),
        bytes(8 * n),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let x = inputs[0].words();
                let out = out.words_mut();
                let n = out.len();
                let from = Strides { first: 2 * (n - 1), strides: [-2] };
                Ok(queue.copy_strided([n], x, from, out, Strides { first: 0, strides: [1] })?)
            }))
        },
        |inputs, out| {
            let x = inputs[0].words();
            let out = out.words_mut();
            out.par_iter_mut().rev().zip(x.par_chunks(2)).for_each(|(out, pair)| *out = pair[0]);
        },
    )
}

use fencepost::algorithms::Algorithms as _;
use rayon::prelude::*;

use super::{Size, bytes, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::values::Values;

const LOW: u32 = 1 << 20;
const HIGH: u32 = 1 << 31;

pub(super) fn clamp(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 19);
    let expected = Values::U32(x.words().iter().map(|&x| x.clamp(LOW, HIGH)).collect());
    exact(
        "clamp",
        vec![x],
        expected,
        bytes(8 * size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                Ok(queue.clamp(inputs[0].words(), LOW, HIGH, out.words_mut())?)
            }))
        },
        |inputs, out| {
            let pairs = out.words_mut().par_iter_mut().zip(inputs[0].words());
            pairs.for_each(|(out, &x)| *out = x.clamp(LOW, HIGH));
        },
    )
}

pub(super) fn choose(size: Size) -> Case {
    let n = size.many();
    let inputs = vec![words_below(n, 2, 20), words_below(n, u32::MAX, 21), words_below(n, u32::MAX, 22)];
    let [mask, x, y] = [0, 1, 2].map(|at: usize| inputs[at].words());
    let expected = Values::U32((0..n).map(|at| if mask[at] != 0 { x[at] } else { y[at] }).collect());
    exact(
        "where",
        inputs,
        expected,
        bytes(16 * n),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let [mask, x, y] = [0, 1, 2].map(|at: usize| inputs[at].words());
                Ok(queue.where_(mask, x, y, out.words_mut())?)
            }))
        },
        |inputs, out| {
            let [mask, x, y] = [0, 1, 2].map(|at: usize| inputs[at].words());
            let elements = out.words_mut().par_iter_mut().zip(mask).zip(x.par_iter().zip(y));
            elements.for_each(|((out, &mask), (&x, &y))| *out = if mask != 0 { x } else { y });
        },
    )
}

pub(super) fn zip(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 23);
    let y = words_below(size.many(), u32::MAX, 24);
    let expected = x.words().iter().zip(y.words()).map(|(&x, &y)| joined(x, y)).collect();
    exact(
        "zip",
        vec![x, y],
        Values::U32(expected),
        bytes(12 * size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                Ok(queue.zip(inputs[0].words(), inputs[1].words(), "(x ^ y) * 3u", out.words_mut())?)
            }))
        },
        |inputs, out| {
            let pairs = inputs[0].words().par_iter().zip(inputs[1].words());
            out.words_mut().par_iter_mut().zip(pairs).for_each(|(out, (&x, &y))| *out = joined(x, y));
        },
    )
}

fn joined(x: u32, y: u32) -> u32 {
    (x ^ y).wrapping_mul(3)
}

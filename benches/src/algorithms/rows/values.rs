use fencepost::algorithms::Algorithms as _;
use rayon::prelude::*;

use super::{Size, bytes, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::values::Values;

/// Elements of a task of plain Rust.
const TASK: usize = 1 << 16;

pub(super) fn fill(size: Size) -> Case {
    exact(
        "fill",
        vec![],
        Values::U32(vec![7; size.many()]),
        bytes(4 * size.many()),
        |_| Ok(Box::new(|queue, _, out| Ok(queue.fill(out.words_mut(), 7)?))),
        |_, out| out.words_mut().par_chunks_mut(TASK).for_each(|task| task.fill(7)),
    )
}

pub(super) fn iota(size: Size) -> Case {
    exact(
        "iota",
        vec![],
        Values::U32((0..size.many() as u32).map(|at| at.wrapping_mul(3) + 5).collect()),
        bytes(4 * size.many()),
        |_| Ok(Box::new(|queue, _, out| Ok(queue.iota(out.words_mut(), 5, 3)?))),
        |_, out| {
            out.words_mut().par_chunks_mut(TASK).enumerate().for_each(|(task, out)| {
                let first = (task * TASK) as u32;
                (first..).zip(out).for_each(|(at, out)| *out = at.wrapping_mul(3) + 5);
            });
        },
    )
}

pub(super) fn cast(size: Size) -> Case {
    let x = words_below(size.many(), 1 << 24, 18);
    let expected = Values::F32(x.words().iter().map(|&x| x as f32).collect());
    exact(
        "cast",
        vec![x],
        expected,
        bytes(8 * size.many()),
        |_| Ok(Box::new(|queue, inputs, out| Ok(queue.cast(inputs[0].words(), out.floats_mut())?))),
        |inputs, out| {
            out.floats_mut().par_iter_mut().zip(inputs[0].words()).for_each(|(out, &x)| *out = x as f32);
        },
    )
}

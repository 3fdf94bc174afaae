use fencepost::algorithms::Algorithms as _;
use rayon::prelude::*;

use super::{Size, bytes, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::cases::whole_floats;
use crate::cpu::values::Values;

pub(super) fn axpy(size: Size) -> Case {
    let x = whole_floats(size.many(), 1);
    let y = whole_floats(size.many(), 2);
    let expected = x.floats().iter().zip(y.floats()).map(|(x, y)| 3.0 * x + y).collect();
    let start = y;
    let row = exact(
        "axpy",
        vec![x],
        Values::F32(expected),
        bytes(12 * size.many()),
        |_| Ok(Box::new(|queue, inputs, out| Ok(queue.axpy(3.0, inputs[0].floats(), out.floats_mut())?))),
        |inputs, out| {
            out.floats_mut().par_iter_mut().zip(inputs[0].floats()).for_each(|(y, x)| *y += 3.0 * x);
        },
    );
    Case { start, ..row }
}

pub(super) fn map(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 3);
    let expected = x.words().iter().map(|x| mixed(*x)).collect();
    exact(
        "map",
        vec![x],
        Values::U32(expected),
        bytes(8 * size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                Ok(queue.map(inputs[0].words(), "(x ^ (x >> 7)) * 3u", out.words_mut())?)
            }))
        },
        |inputs, out| {
            out.words_mut().par_iter_mut().zip(inputs[0].words()).for_each(|(y, x)| *y = mixed(*x));
        },
    )
}

fn mixed(x: u32) -> u32 {
    (x ^ (x >> 7)).wrapping_mul(3)
}

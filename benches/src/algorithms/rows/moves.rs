use fencepost::algorithms::{Algorithms as _, Outside};
use rayon::prelude::*;

use super::{Size, bytes, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::values::Values;

const COLUMNS: usize = 1024;
/// Rows of a task of plain Rust: one cache line of the result.
const BLOCK: usize = 16;

pub(super) fn transpose(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 14);
    let rows = size.many() / COLUMNS;
    let at = |place: usize| x.words()[place % rows * COLUMNS + place / rows];
    let expected = Values::U32((0..size.many()).map(at).collect());
    exact(
        "transpose",
        vec![x],
        expected,
        bytes(8 * size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let x = inputs[0].words();
                let out = out.words_mut();
                let rows = x.len() / COLUMNS;
                let x = x.reshape([rows, COLUMNS])?;
                let mut out = out.reshape([COLUMNS, rows])?;
                Ok(queue.transpose(&x, &mut out)?)
            }))
        },
        |inputs, out| {
            let x = inputs[0].words();
            let rows = x.len() / COLUMNS;
            out.words_mut().par_chunks_mut(BLOCK * rows).enumerate().for_each(|(block, out)| {
                for row in 0..rows {
                    let from = row * COLUMNS + block * BLOCK;
                    x[from..from + BLOCK].iter().enumerate().for_each(|(at, x)| out[at * rows + row] = *x);
                }
            });
        },
    )
}

/// Reads elements at random indices.
pub(super) fn gather(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 15);
    let places = words_below(size.many(), size.many() as u32, 16);
    let expected = places.words().iter().map(|&place| x.words()[place as usize]).collect();
    exact(
        "gather",
        vec![x, places],
        Values::U32(expected),
        bytes(12 * size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let x = inputs[0].words();
                let places = inputs[1].words();
                Ok(queue.gather(x, places, Outside::Last, out.words_mut())?)
            }))
        },
        |inputs, out| {
            let x = inputs[0].words();
            let places = inputs[1].words();
            out.words_mut().par_iter_mut().zip(places).for_each(|(out, &place)| *out = x[place as usize]);
        },
    )
}

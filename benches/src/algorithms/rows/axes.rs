use fencepost::algorithms::Algorithms as _;
use fencepost_oracles as host;
use rayon::prelude::*;

use super::reductions::sum_of;
use super::{Size, bytes, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::cases::whole_floats;
use crate::cpu::values::Values;

const COLUMNS: usize = 1024;

pub(super) fn means(size: Size) -> Case {
    let x = whole_floats(size.many(), 50);
    let expected = host::mean_axis(x.floats(), [size.many() / COLUMNS, COLUMNS], 1);
    exact(
        "mean of rows",
        vec![x],
        Values::F32(expected.expect("bug: the rows have no elements")),
        bytes(4 * size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let x = inputs[0].floats();
                let out = out.floats_mut();
                let rows = x.len() / COLUMNS;
                let x = x.reshape([rows, COLUMNS])?;
                let mut out = out.reshape([rows, 1])?;
                Ok(queue.mean(x.axis(1), &mut out)?)
            }))
        },
        |inputs, out| {
            let rows = inputs[0].floats().par_chunks(COLUMNS).zip(out.floats_mut().par_iter_mut());
            rows.for_each(|(row, mean)| *mean = sum_of(row) / COLUMNS as f32);
        },
    )
}

/// Finds the rows with an element that is not zero: about one in 16.
pub(super) fn any(size: Size) -> Case {
    let words = words_below(size.many(), 1 << 14, 51);
    let x: Vec<u32> = words.words().iter().map(|&word| u32::from(word == 0)).collect();
    let expected = x.chunks(COLUMNS).map(|row| u32::from(host::any(row))).collect();
    exact(
        "any of rows",
        vec![Values::U32(x)],
        Values::U32(expected),
        bytes(4 * size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let x = inputs[0].words();
                let out = out.words_mut();
                let rows = x.len() / COLUMNS;
                let x = x.reshape([rows, COLUMNS])?;
                let mut out = out.reshape([rows, 1])?;
                Ok(queue.any(x.axis(1), &mut out)?)
            }))
        },
        |inputs, out| {
            let rows = inputs[0].words().par_chunks(COLUMNS).zip(out.words_mut().par_iter_mut());
            rows.for_each(|(row, any)| *any = u32::from(row.iter().any(|x| *x != 0)));
        },
    )
}

pub(super) fn argmin(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 52);
    let place = |row: &[u32]| host::argmin(row).expect("bug: a row has no elements") as u32;
    let expected = x.words().chunks(COLUMNS).map(place).collect();
    exact(
        "argmin of rows",
        vec![x],
        Values::U32(expected),
        bytes(4 * size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let x = inputs[0].words();
                let out = out.words_mut();
                let rows = x.len() / COLUMNS;
                let x = x.reshape([rows, COLUMNS])?;
                let mut out = out.reshape([rows, 1])?;
                Ok(queue.argmin(x.axis(1), &mut out)?)
            }))
        },
        |inputs, out| {
            let rows = inputs[0].words().par_chunks(COLUMNS).zip(out.words_mut().par_iter_mut());
            rows.for_each(|(row, place)| {
                let least = row.iter().min().expect("bug: a row has no elements");
                *place = row.iter().position(|x| x == least).expect("bug: the minimum is an element") as u32;
            });
        },
    )
}

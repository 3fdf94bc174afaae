use fencepost::algorithms::{Algorithms as _, Operation};
use rayon::prelude::*;

use super::{Size, bytes, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::cases::whole_floats;
use crate::cpu::values::Values;

/// Elements of a task of plain Rust.
pub(super) const TASK: usize = 1 << 16;
/// Partial sums of a task, so that the additions do not wait for each other.
pub(super) const LANES: usize = 64;
const COLUMNS: usize = 1024;

pub(super) fn sum(size: Size) -> Case {
    of("sum", size.many())
}

pub(super) fn short_sum(size: Size) -> Case {
    Case { launches: if size.quick { 2 } else { 100 }, ..of("sum, 1000 elements", 1000) }
}

fn of(name: &'static str, n: usize) -> Case {
    let x = whole_floats(n, 1);
    let expected = Values::F32(vec![x.floats().iter().sum()]);
    exact(
        name,
        vec![x],
        expected,
        bytes(4 * n),
        |_| Ok(Box::new(|queue, inputs, out| Ok(queue.sum(inputs[0].floats(), out.floats_mut())?))),
        |inputs, out| out.floats_mut()[0] = inputs[0].floats().par_chunks(TASK).map(sum_of).sum(),
    )
}

pub(super) fn sum_of(task: &[f32]) -> f32 {
    let (parts, rest) = task.as_chunks::<LANES>();
    let mut lanes = [0.0_f32; LANES];
    for part in parts {
        lanes.iter_mut().zip(part).for_each(|(lane, x)| *lane += x);
    }
    lanes.iter().chain(rest).sum()
}

pub(super) fn argmax(size: Size) -> Case {
    let x = words_below(size.many(), 1 << 30, 2);
    let place = |x: &[u32]| (0..x.len()).rev().max_by_key(|&at| x[at]).unwrap_or_default() as u32;
    let expected = Values::U32(vec![place(x.words())]);
    exact(
        "argmax",
        vec![x],
        expected,
        bytes(4 * size.many()),
        |_| Ok(Box::new(|queue, inputs, out| Ok(queue.argmax(inputs[0].words(), out.words_mut())?))),
        |inputs, out| {
            let x = inputs[0].words();
            let most = *x.par_iter().max().expect("bug: the row has no elements");
            let place = x.par_iter().position_first(|x| *x == most);
            out.words_mut()[0] = place.expect("bug: the maximum is an element") as u32;
        },
    )
}

pub(super) fn rows(size: Size) -> Case {
    let x = words_below(size.many(), 1000, 3);
    let expected = x.words().chunks(COLUMNS).map(|row| row.iter().sum()).collect();
    exact(
        "sum of rows",
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
                Ok(queue.reduce(x.axis(1), Operation::Sum, &mut out)?)
            }))
        },
        |inputs, out| {
            let rows = inputs[0].words().par_chunks(COLUMNS).zip(out.words_mut().par_iter_mut());
            rows.for_each(|(row, sum)| *sum = row.iter().sum());
        },
    )
}

pub(super) fn columns(size: Size) -> Case {
    let x = words_below(size.many(), 1000, 4);
    let expected = Values::U32(x.words().chunks(COLUMNS).fold(vec![0; COLUMNS], add));
    exact(
        "sum of columns",
        vec![x],
        expected,
        bytes(4 * size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                let x = inputs[0].words();
                let out = out.words_mut();
                let x = x.reshape([x.len() / COLUMNS, COLUMNS])?;
                let mut out = out.reshape([1, COLUMNS])?;
                Ok(queue.reduce(x.axis(0), Operation::Sum, &mut out)?)
            }))
        },
        |inputs, out| {
            let rows = inputs[0].words().par_chunks(COLUMNS);
            let sums = rows.fold(|| vec![0; COLUMNS], add);
            let sum = sums.reduce(|| vec![0; COLUMNS], |a, b| add(a, &b));
            out.words_mut().copy_from_slice(&sum);
        },
    )
}

fn add(mut sums: Vec<u32>, row: &[u32]) -> Vec<u32> {
    sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    sums
}

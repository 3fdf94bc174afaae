use fencepost::algorithms::Algorithms as _;
use rayon::prelude::*;

use super::reductions::{LANES, TASK, sum_of};
use super::{Size, bytes, exact};
use crate::cpu::case::Case;
use crate::cpu::cases::whole_floats;
use crate::cpu::values::{Check, Values};

pub(super) fn dot(size: Size) -> Case {
    let x = whole_floats(size.many(), 25);
    let y = whole_floats(size.many(), 26);
    let expected = Values::F32(vec![products_of(x.floats(), y.floats())]);
    exact(
        "dot",
        vec![x, y],
        expected,
        bytes(8 * size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                Ok(queue.dot(inputs[0].floats(), inputs[1].floats(), out.floats_mut())?)
            }))
        },
        |inputs, out| out.floats_mut()[0] = products(inputs[0].floats(), inputs[1].floats()),
    )
}

pub(super) fn norm(size: Size) -> Case {
    let x = whole_floats(size.many(), 27);
    let squares: f64 = x.floats().iter().map(|&x| f64::from(x * x)).sum();
    let row = exact(
        "norm",
        vec![x],
        Values::F32(vec![squares.sqrt() as f32]),
        bytes(4 * size.many()),
        |_| Ok(Box::new(|queue, inputs, out| Ok(queue.norm(inputs[0].floats(), out.floats_mut())?))),
        |inputs, out| out.floats_mut()[0] = products(inputs[0].floats(), inputs[0].floats()).sqrt(),
    );
    Case { check: Check::Close(1e-5), ..row }
}

pub(super) fn mean(size: Size) -> Case {
    let x = whole_floats(size.many(), 28);
    let sum: f64 = x.floats().iter().map(|&x| f64::from(x)).sum();
    let row = exact(
        "mean",
        vec![x],
        Values::F32(vec![(sum / size.many() as f64) as f32]),
        bytes(4 * size.many()),
        |_| Ok(Box::new(|queue, inputs, out| Ok(queue.mean(inputs[0].floats(), out.floats_mut())?))),
        |inputs, out| {
            let x = inputs[0].floats();
            out.floats_mut()[0] = x.par_chunks(TASK).map(sum_of).sum::<f32>() / x.len() as f32;
        },
    );
    Case { check: Check::Close(1e-5), ..row }
}

fn products(x: &[f32], y: &[f32]) -> f32 {
    x.par_chunks(TASK).zip(y.par_chunks(TASK)).map(|(x, y)| products_of(x, y)).sum()
}

/// Adds products in as many chains as [`sum_of`] does.
fn products_of(x: &[f32], y: &[f32]) -> f32 {
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let mut lanes = [0.0_f32; LANES];
    for (x, y) in x.iter().zip(y) {
        lanes.iter_mut().zip(x.iter().zip(y)).for_each(|(lane, (x, y))| *lane += x * y);
    }
    let rest: f32 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
    lanes.iter().sum::<f32>() + rest
}

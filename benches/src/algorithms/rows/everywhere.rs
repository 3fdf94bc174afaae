//! Results that are the same on all devices, beside the usual ones of the other rows.

use fencepost::algorithms::{Algorithms as _, Determinism};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{COLUMNS, Size, TASK, bytes, offsets};
use crate::cpu::case::Case;
use crate::cpu::values::Check;

const EVERYWHERE: Determinism = Determinism::Everywhere;
/// Largest difference between the exact result and that of plain Rust, which rounds each addition.
const CLOSE: Check = Check::Close(1e-4);

/// Returns floats from 0 to 1.
pub(super) fn floats(count: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| random.f32()).collect()
}

fn sum_of(x: &[f32]) -> f32 {
    x.par_chunks(TASK).map(|task| task.iter().map(|&x| f64::from(x)).sum::<f64>()).sum::<f64>() as f32
}

fn products(x: &[f32], y: &[f32]) -> f64 {
    let of_task =
        |(x, y): (&[f32], &[f32])| x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
    x.par_chunks(TASK).zip(y.par_chunks(TASK)).map(of_task).sum()
}

pub(super) fn sum(size: Size) -> Case {
    sum_of_all(floats(size.many(), 71))
}

/// Adds floats whose exponents differ by up to 80, so that many are not inside a window of exponents.
pub(super) fn distant_sum(size: Size) -> Case {
    let mut random = fastrand::Rng::with_seed(72);
    sum_of_all((0..size.many()).map(|_| random.f32() * 2_f32.powi(random.i32(-40..=40))).collect())
}

fn sum_of_all(x: Vec<f32>) -> Case {
    let expected = vec![host::exact_sum(&x)];
    let work = bytes(4 * x.len());
    let case = Case::verb(
        [x],
        expected,
        work,
        |queue, [x], out| queue.sum(x.determinism(EVERYWHERE), out),
        |[x], out: &mut [f32]| out[0] = sum_of(x),
    );
    Case { check: CLOSE, ..case }
}

pub(super) fn mean(size: Size) -> Case {
    let x = floats(size.many(), 73);
    let expected = vec![host::exact_mean(&x).expect("bug: the row has no elements")];
    let case = Case::verb(
        [x],
        expected,
        bytes(4 * size.many()),
        |queue, [x], out| queue.mean(x.determinism(EVERYWHERE), out),
        |[x], out| out[0] = sum_of(x) / x.len() as f32,
    );
    Case { check: CLOSE, ..case }
}

pub(super) fn norm(size: Size) -> Case {
    let x = floats(size.many(), 74);
    let expected = vec![host::exact_norm(&x)];
    let case = Case::verb(
        [x],
        expected,
        bytes(4 * size.many()),
        |queue, [x], out| queue.norm(x.determinism(EVERYWHERE), out),
        |[x], out| out[0] = products(x, x).sqrt() as f32,
    );
    Case { check: CLOSE, ..case }
}

pub(super) fn dot(size: Size) -> Case {
    let x = floats(size.many(), 75);
    let y = floats(size.many(), 76);
    let expected = vec![host::exact_dot(&x, &y)];
    let case = Case::verb(
        [x, y],
        expected,
        bytes(8 * size.many()),
        |queue, [x, y], out| queue.dot(x.determinism(EVERYWHERE), y, out),
        |[x, y], out| out[0] = products(x, y) as f32,
    );
    Case { check: CLOSE, ..case }
}

pub(super) fn rows(size: Size) -> Case {
    let x = floats(size.many(), 77);
    let expected: Vec<f32> = x.chunks(COLUMNS).map(host::exact_sum).collect();
    let case = Case::verb(
        [x],
        expected,
        bytes(4 * size.many()),
        |queue, [x], out| {
            let rows = out.len();
            let x = x.reshape([rows, COLUMNS])?;
            queue.sum(x.axis(1).determinism(EVERYWHERE), &mut out.reshape([rows, 1])?)
        },
        |[x], out| {
            let rows = x.par_chunks(COLUMNS).zip(out.par_iter_mut());
            rows.for_each(|(row, out)| *out = row.iter().sum());
        },
    );
    Case { check: CLOSE, ..case }
}

pub(super) fn columns(size: Size) -> Case {
    let x = floats(size.many(), 78);
    let column = |at: usize| x.iter().skip(at).step_by(COLUMNS).copied().collect::<Vec<f32>>();
    let expected: Vec<f32> = (0..COLUMNS).map(|at| host::exact_sum(&column(at))).collect();
    let add = |mut sums: Vec<f32>, row: &[f32]| {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        sums
    };
    let case = Case::verb(
        [x],
        expected,
        bytes(4 * size.many()),
        |queue, [x], out| {
            let x = x.reshape([x.len() / COLUMNS, COLUMNS])?;
            queue.sum(x.axis(0).determinism(EVERYWHERE), &mut out.reshape([1, COLUMNS])?)
        },
        move |[x], out| {
            let sums = x.par_chunks(COLUMNS).fold(|| vec![0.0; COLUMNS], add);
            out.copy_from_slice(&sums.reduce(|| vec![0.0; COLUMNS], |a, b| add(a, &b)));
        },
    );
    Case { check: CLOSE, ..case }
}

pub(super) fn segments(size: Size) -> Case {
    let x = floats(size.many(), 79);
    let offsets = offsets(size.many());
    let ranges = offsets.windows(2).map(|ends| ends[0] as usize..ends[1] as usize);
    let expected: Vec<f32> = ranges.map(|range| host::exact_sum(&x[range])).collect();
    let bits = x.into_iter().map(f32::to_bits).collect();
    let case = Case::verb(
        [bits, offsets],
        expected,
        bytes(4 * size.many()),
        |queue, [x, offsets], out| {
            let x = x.cast_bits::<f32>();
            queue.sum(x.segments(offsets).determinism(EVERYWHERE), out)
        },
        |[x, offsets], out| {
            let x: &[f32] = bytemuck::cast_slice(x);
            let sums = out.par_iter_mut().zip(offsets.par_windows(2));
            sums.for_each(|(sum, ends)| *sum = x[ends[0] as usize..ends[1] as usize].iter().sum());
        },
    );
    Case { check: CLOSE, ..case }
}

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use fencepost::algorithms::{Algorithms as _, Outside, Philox, Strides};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{COLUMNS, Size, bytes, words_below};
use crate::cpu::case::{Case, Kernel, Program};
use crate::cpu::cases::whole_floats;

/// Rows of a task of plain Rust: one cache line of the result.
const BLOCK: usize = 16;
const RANK: usize = 6;
/// Axis of the array for each axis of the result. No two neighbours stay neighbours.
const AXES: [usize; RANK] = [3, 1, 5, 0, 4, 2];

pub(super) fn transpose(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 14);
    let shape = [size.many() / COLUMNS, COLUMNS];
    let expected = host::transpose(&x, shape).expect("bug: the shape is refused");
    Case::verb(
        [x],
        expected,
        bytes(8 * size.many()),
        |queue, [x], out| {
            let rows = x.len() / COLUMNS;
            queue.transpose(&x.reshape([rows, COLUMNS])?, &mut out.reshape([COLUMNS, rows])?)
        },
        |[x], out| {
            let rows = x.len() / COLUMNS;
            out.par_chunks_mut(BLOCK * rows).enumerate().for_each(|(block, out)| {
                for row in 0..rows {
                    let from = row * COLUMNS + block * BLOCK;
                    x[from..from + BLOCK].iter().enumerate().for_each(|(at, x)| out[at * rows + row] = *x);
                }
            });
        },
    )
}

pub(super) fn permute(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 61);
    let expected = host::permute(&x, shape(size.many()), AXES).expect("bug: the axes are refused");
    Case::verb(
        [x],
        expected,
        bytes(8 * size.many()),
        |queue, [x], out| {
            let shape = shape(x.len());
            queue.permute(&x.reshape(shape)?, AXES, &mut out.reshape(AXES.map(|axis| shape[axis]))?)
        },
        |[x], out| {
            let shape = shape(x.len());
            let strides = AXES.map(|axis| strides(shape)[axis]);
            let shape = AXES.map(|axis| shape[axis]);
            let length = shape[RANK - 1];
            let step = strides[RANK - 1];
            out.par_chunks_mut(length).enumerate().for_each(|(mut row, out)| {
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
    let expected: Vec<u32> = (0..n).map(|at| x[2 * (n - 1 - at)]).collect();
    Case::verb(
        [x],
        expected,
        bytes(8 * n),
        |queue, [x], out| {
            let n = out.len();
            let from = Strides { first: 2 * (n - 1), strides: [-2] };
            queue.copy_strided([n], x, from, out, Strides { first: 0, strides: [1] })
        },
        |[x], out| out.par_iter_mut().rev().zip(x.par_chunks(2)).for_each(|(out, pair)| *out = pair[0]),
    )
}

/// Reads elements at random indices.
pub(super) fn gather(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 15);
    let places = words_below(size.many(), size.many() as u32, 16);
    let expected = host::gather(&x, &places, Outside::Last);
    Case::verb(
        [x, places],
        expected,
        bytes(12 * size.many()),
        |queue, [x, places], out| queue.gather(x, places, Outside::Last, out),
        |[x, places], out| {
            out.par_iter_mut().zip(places).for_each(|(out, &place)| *out = x[place as usize]);
        },
    )
}

pub(super) fn scatter(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 57);
    let places = host::random_permutation(size.many() as u32, Philox::seed(58));
    let mut expected = vec![0; size.many()];
    host::scatter(&x, &places, &mut expected);
    Case::verb(
        [x, places],
        expected,
        bytes(12 * size.many()),
        |queue, [x, places], out| queue.scatter(x, places, out),
        |[x, places], out| written(x, places, out, |out, x| out.store(x, Relaxed)),
    )
}

/// Adds about as many elements as there are places, so that some places get several.
pub(super) fn scatter_add(size: Size) -> Case {
    let x = words_below(size.many(), 1000, 59);
    let places = words_below(size.many(), size.many() as u32, 60);
    let mut expected = vec![0; size.many()];
    host::scatter_add(&x, &places, &mut expected);
    Case::verb(
        [x, places],
        expected,
        bytes(12 * size.many()),
        |queue, [x, places], out| queue.scatter_add(x, places, out),
        |[x, places], out| {
            written(x, places, out, |out, x| {
                out.fetch_add(x, Relaxed);
            });
        },
    )
}

/// Adds floats, given by their bits, exactly. Their sums are exact in any order.
pub(super) fn scatter_add_floats(size: Size) -> Case {
    let x = whole_floats(size.many(), 69);
    let places = words_below(size.many(), size.many() as u32, 70);
    let mut expected = vec![0.0; size.many()];
    host::scatter_add(&x, &places, &mut expected);
    let bits = |list: Vec<f32>| list.into_iter().map(f32::to_bits).collect::<Vec<u32>>();
    Case::verb(
        [bits(x), places],
        bits(expected),
        bytes(12 * size.many()),
        |queue, [x, places], out| queue.scatter_add(&x.cast_bits::<f32>(), places, &mut out.cast_bits()),
        |[x, places], out| {
            written(x, places, out, |out, x| {
                let added = |old| Some((f32::from_bits(old) + f32::from_bits(x)).to_bits());
                out.fetch_update(Relaxed, Relaxed, added).expect("bug: each sum is stored");
            });
        },
    )
}

/// Adds the same floats by a kernel that rounds at each addition.
pub(super) fn plain_scatter_add(size: Size) -> Case {
    let wgsl = include_str!("../kernels/scatter_add.wgsl");
    let program = Program::Kernel(Kernel::new((wgsl, None), "scatter_add", [256, 1, 1]));
    Case { program, ..scatter_add_floats(size) }
}

/// Writes from all threads to random places. The copies of the places take less time than the writes.
fn written(x: &[u32], places: &[u32], out: &mut [u32], write: fn(&AtomicU32, u32)) {
    let copies: Vec<AtomicU32> = out.par_iter().map(|&element| AtomicU32::new(element)).collect();
    x.par_iter().zip(places).for_each(|(&x, &place)| write(&copies[place as usize], x));
    out.par_iter_mut().zip(copies).for_each(|(out, copy)| *out = copy.into_inner());
}

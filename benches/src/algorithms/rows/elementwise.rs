use fencepost::algorithms::Algorithms as _;
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, TASK, Verb, bytes, words_below};
use crate::cpu::case::{Case, Kernel, NO_INPUTS};
use crate::cpu::cases::{sum, whole_floats};
use crate::cpu::values::Item;

/// Elements of a workgroup of a kernel: 16 for each invocation.
const OF_GROUP: usize = 16 * 256;
const LOW: u32 = 1 << 20;
const HIGH: u32 = 1 << 31;

/// Copies with a kernel, as fast as the memory of a device allows.
pub(super) fn copy_kernel(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 1);
    let kernel = Kernel::new((include_str!("../kernels/copy.wgsl"), None), "copy", [groups(size), 1, 1]);
    Case::kernel(kernel, [x.clone()], x, bytes(8 * size.many()), |[x], out| {
        let tasks = out.par_chunks_mut(TASK).zip(x.par_chunks(TASK));
        tasks.for_each(|(out, x)| out.copy_from_slice(x));
    })
}

/// Reads with a kernel, as fast as the memory of a device allows.
pub(super) fn read_kernel(size: Size) -> Case {
    sum::strides(size.many(), groups(size))
}

/// Counts the workgroups that keep a whole graphics card busy.
fn groups(size: Size) -> usize {
    (size.many() / OF_GROUP).clamp(1, 1 << 15)
}

pub(super) fn fill(size: Size) -> Case {
    Case::verb(
        NO_INPUTS,
        vec![7_u32; size.many()],
        bytes(4 * size.many()),
        |queue, [], out| queue.fill(out, 7),
        |[], out| out.par_chunks_mut(TASK).for_each(|task| task.fill(7)),
    )
}

pub(super) fn iota(size: Size) -> Case {
    Case::verb(
        NO_INPUTS,
        host::iota(size.many(), 5_u32, 3),
        bytes(4 * size.many()),
        |queue, [], out| queue.iota(out, 5, 3),
        |[], out| {
            out.par_chunks_mut(TASK).enumerate().for_each(|(task, out)| {
                let first = (task * TASK) as u32;
                (first..).zip(out).for_each(|(at, out)| *out = at.wrapping_mul(3) + 5);
            });
        },
    )
}

pub(super) fn cast(size: Size) -> Case {
    of_one(words_below(size.many(), 1 << 24, 18), |queue, x, out| queue.cast(x, out), |x| x as f32)
}

pub(super) fn clamp(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 19);
    of_one(x, |queue, x, out| queue.clamp(x, LOW, HIGH, out), |x| x.clamp(LOW, HIGH))
}

pub(super) fn map(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 3);
    let value = |x: u32| (x ^ (x >> 7)).wrapping_mul(3);
    of_one(x, |queue, x, out| queue.map(x, "(x ^ (x >> 7)) * 3u", out), value)
}

/// Returns a row of a verb that computes each element from one element.
fn of_one<U: Item>(x: Vec<u32>, verb: Verb<u32, U>, value: impl Fn(u32) -> U + Sync + 'static) -> Case {
    let expected: Vec<U> = x.iter().map(|&x| value(x)).collect();
    let work = bytes(8 * x.len());
    Case::verb(
        [x],
        expected,
        work,
        move |queue, [x], out| verb(queue, x, out),
        move |[x], out| out.par_iter_mut().zip(x).for_each(|(out, &x)| *out = value(x)),
    )
}

pub(super) fn choose(size: Size) -> Case {
    let words = |end, seed| words_below(size.many(), end, seed);
    let [mask, x, y] = [words(2, 20), words(u32::MAX, 21), words(u32::MAX, 22)];
    let expected = host::where_(&mask, &x, &y);
    Case::verb(
        [mask, x, y],
        expected,
        bytes(16 * size.many()),
        |queue, [mask, x, y], out| queue.where_(mask, x, y, out),
        |[mask, x, y], out| {
            let elements = out.par_iter_mut().zip(mask).zip(x.par_iter().zip(y));
            elements.for_each(|((out, &mask), (&x, &y))| *out = if mask != 0 { x } else { y });
        },
    )
}

pub(super) fn axpy(size: Size) -> Case {
    let x = whole_floats(size.many(), 1);
    let y = whole_floats(size.many(), 2);
    let mut expected = y.clone();
    host::axpy(3.0, &x, &mut expected);
    let row = Case::verb(
        [x],
        expected,
        bytes(12 * size.many()),
        |queue, [x], y| queue.axpy(3.0, x, y),
        |[x], y| y.par_iter_mut().zip(x).for_each(|(y, x)| *y += 3.0 * x),
    );
    Case { start: f32::values(y), ..row }
}

pub(super) fn zip(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 23);
    let y = words_below(size.many(), u32::MAX, 24);
    let expected = host::zip(&x, &y, |x, y, _| joined(x, y));
    Case::verb(
        [x, y],
        expected,
        bytes(12 * size.many()),
        |queue, [x, y], out| queue.zip(x, y, "(x ^ y) * 3u", out),
        |[x, y], out| {
            let pairs = x.par_iter().zip(y);
            out.par_iter_mut().zip(pairs).for_each(|(out, (&x, &y))| *out = joined(x, y));
        },
    )
}

fn joined(x: u32, y: u32) -> u32 {
    (x ^ y).wrapping_mul(3)
}

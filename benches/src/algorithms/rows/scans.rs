use std::rc::Rc;

use anyhow::Result;
use fencepost::algorithms::{Algorithms as _, Associative, Monoid, Operation, Scan};
use fencepost::{CommandQueue, Context, DeviceArray, Grid, args};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, TASK, bytes, runs, words_below};
use crate::cpu::case::{Case, NO_INPUTS, Program};
use crate::cpu::device::{Array, Enqueue};
use crate::cpu::values::Item;

/// Elements of a workgroup of the plain kernels.
const BLOCK: usize = 256;
/// Maximum number of elements of the plain kernels, whose grid has one dimension.
const MOST: usize = 65_535 * BLOCK;

pub(super) fn scan(size: Size) -> Case {
    sums(words_below(size.many(), 100, 5))
}

pub(super) fn short_scan(size: Size) -> Case {
    Case { launches: if size.quick { 2 } else { 100 }, ..sums(words_below(1000, 100, 5)) }
}

pub(super) fn plain_kernels(size: Size) -> Case {
    Case { program: Program::Launches(blocks), ..sums(words_below(size.many().min(MOST), 100, 5)) }
}

fn sums(x: Vec<u32>) -> Case {
    let sum = Scan::inclusive(Operation::Sum);
    of(x, sum, sum, plain_sums)
}

/// Finds the largest of the elements before each one.
pub(super) fn exclusive(size: Size) -> Case {
    let largest = Scan::exclusive(Operation::Largest);
    of(words_below(size.many(), u32::MAX, 38), largest, largest, |x, out| {
        let largest = x.par_chunks(TASK).map(|task| task.iter().copied().max().unwrap_or_default());
        let tasks = x.par_chunks(TASK).zip(out.par_chunks_mut(TASK)).zip(before(largest, u32::max));
        tasks.for_each(|((x, out), mut most)| {
            for (x, out) in x.iter().zip(out) {
                *out = most;
                most = most.max(*x);
            }
        });
    })
}

/// Sums each element and all elements after it.
pub(super) fn reversed(size: Size) -> Case {
    let sum = Scan::inclusive(Operation::Sum).reversed();
    of(words_below(size.many(), 100, 53), sum, sum, |x, out| {
        let sums = x.par_chunks(TASK).map(|task| task.iter().sum::<u32>()).rev();
        let after = before(sums, |a, b| a + b).into_par_iter().rev();
        x.par_chunks(TASK).zip(out.par_chunks_mut(TASK)).zip(after).for_each(|((x, out), mut sum)| {
            for (x, out) in x.iter().zip(out).rev() {
                sum += *x;
                *out = sum;
            }
        });
    })
}

/// Sums the elements by a user's expression.
pub(super) fn monoid(size: Size) -> Case {
    let sum = Scan::inclusive(Monoid::new("a + b", 0_u32));
    of(words_below(size.many(), 100, 54), Scan::inclusive(Operation::Sum), sum, plain_sums)
}

/// Returns a row of a scan, and of the same scan on the host.
fn of<O: Associative<u32> + 'static>(
    x: Vec<u32>,
    reference: Scan<u32>,
    scan: Scan<u32, O>,
    plain: fn(&[u32], &mut [u32]),
) -> Case {
    let expected = host::scan(&x, reference);
    let work = bytes(8 * x.len());
    Case::verb(
        [x],
        expected,
        work,
        move |queue, [x], out| queue.scan(x, out, scan),
        move |[x], out| plain(x, out),
    )
}

fn plain_sums(x: &[u32], out: &mut [u32]) {
    let sums = before(x.par_chunks(TASK).map(|task| task.iter().sum()), |a, b| a + b);
    x.par_chunks(TASK).zip(out.par_chunks_mut(TASK)).zip(sums).for_each(|((x, out), mut sum)| {
        for (x, out) in x.iter().zip(out) {
            sum += *x;
            *out = sum;
        }
    });
}

pub(super) fn in_place(size: Size) -> Case {
    let start = words_below(size.many(), 100, 39);
    let row = Case::verb(
        NO_INPUTS,
        host::scan(&start, Scan::inclusive(Operation::Sum)),
        bytes(8 * size.many()),
        |queue, [], out| queue.scan_in_place(out, Scan::inclusive(Operation::Sum)),
        |[], out| {
            let sums = before(out.par_chunks(TASK).map(|task| task.iter().sum()), |a, b| a + b);
            out.par_chunks_mut(TASK).zip(sums).for_each(|(task, mut sum)| {
                for element in task {
                    sum += *element;
                    *element = sum;
                }
            });
        },
    );
    Case { start: u32::values(start), ..row }
}

/// Returns for each task the combined results of the tasks before it.
fn before(results: impl IndexedParallelIterator<Item = u32>, combined: fn(u32, u32) -> u32) -> Vec<u32> {
    let mut tasks: Vec<u32> = results.collect();
    let mut all = 0;
    for task in &mut tasks {
        let next = combined(all, *task);
        *task = all;
        all = next;
    }
    tasks
}

pub(super) fn by_key(size: Size) -> Case {
    let keys = runs(size.many());
    let x = words_below(size.many(), 100, 35);
    let expected = host::scan_by_key(&keys, &x, Scan::inclusive(Operation::Sum));
    Case::verb(
        [keys, x],
        expected,
        bytes(12 * size.many()),
        |queue, [keys, x], out| queue.scan_by_key(keys, x, out, Scan::inclusive(Operation::Sum)),
        |[keys, x], out| plain_by_key(keys, x, out),
    )
}

/// Scans each task, then carries the sum of a run that began earlier into the next task.
fn plain_by_key(keys: &[u32], x: &[u32], out: &mut [u32]) {
    let tasks = out.par_chunks_mut(TASK).zip(keys.par_chunks(TASK)).zip(x.par_chunks(TASK));
    tasks.for_each(|((out, keys), x)| {
        let mut sum = 0;
        let mut run = keys[0];
        for ((out, &key), x) in out.iter_mut().zip(keys).zip(x) {
            sum = if key == run { sum + x } else { *x };
            run = key;
            *out = sum;
        }
    });
    for first in (TASK..out.len()).step_by(TASK) {
        let run = keys[first - 1];
        let before = out[first - 1];
        let task = out[first..].iter_mut().zip(&keys[first..]).take(TASK);
        task.take_while(|(_, key)| **key == run).for_each(|(out, _)| *out += before);
    }
}

/// Prepares a scan in blocks, then of the blocks' sums in blocks, and so on until one block is left.
fn blocks(ctx: &Context) -> Result<Enqueue> {
    let scan = ctx.kernel_from(include_str!("../kernels/scan.wgsl"), "scan_blocks")?;
    let add = ctx.kernel_from(include_str!("../kernels/add.wgsl"), "add_blocks")?;
    Ok(Rc::new(move |queue: &CommandQueue, inputs: &[Array], out: &mut Array| -> Result<()> {
        let grid = |n: usize| Grid::groups([n.div_ceil(BLOCK) as u32]);
        let x = u32::array(&inputs[0]);
        let out = u32::array_mut(out);
        let mut levels: Vec<DeviceArray<u32>> = Vec::new();
        let mut sums: DeviceArray<u32> = queue.empty([x.len().div_ceil(BLOCK)])?;
        queue.launch_dyn(&scan, grid(x.len()), args![x, &mut *out, &mut sums])?;
        while sums.len() > 1 {
            let mut scanned = queue.empty([sums.len()])?;
            let mut next = queue.empty([sums.len().div_ceil(BLOCK)])?;
            queue.launch_dyn(&scan, grid(sums.len()), args![&sums, &mut scanned, &mut next])?;
            levels.push(scanned);
            sums = next;
        }
        for at in (1..levels.len()).rev() {
            let (lower, upper) = levels.split_at_mut(at);
            let lower = &mut lower[at - 1];
            let upper = &upper[0];
            queue.launch_dyn(&add, grid(lower.len()), args![upper, &mut *lower])?;
        }
        if let Some(sums) = levels.first() {
            queue.launch_dyn(&add, grid(x.len()), args![sums, out])?;
        }
        Ok(())
    }))
}

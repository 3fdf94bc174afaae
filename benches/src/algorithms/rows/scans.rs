use anyhow::Result;
use fencepost::algorithms::Algorithms as _;
use fencepost::args;
use fencepost::prelude::*;
use rayon::prelude::*;

use super::{Size, bytes, exact, words_below};
use crate::cpu::case::{Case, Program};
use crate::cpu::device::Enqueue;
use crate::cpu::values::Values;

/// Elements of a workgroup of the plain kernels.
const BLOCK: usize = 256;
/// Elements of a task of plain Rust.
const TASK: usize = 1 << 16;

pub(super) fn scan(size: Size) -> Case {
    of("scan", size.many())
}

pub(super) fn short_scan(size: Size) -> Case {
    Case { launches: if size.quick { 2 } else { 100 }, ..of("scan, 1000 elements", 1000) }
}

/// Most elements of the plain kernels, whose grid has one dimension.
const MOST: usize = 65_535 * BLOCK;

pub(super) fn plain_kernels(size: Size) -> Case {
    Case { program: Program::Launches(blocks), ..of("scan, plain kernels", size.many().min(MOST)) }
}

fn of(name: &'static str, n: usize) -> Case {
    let x = words_below(n, 100, 5);
    let mut sum = 0;
    let sums = x.words().iter().map(|x| {
        sum += x;
        sum
    });
    let expected = Values::U32(sums.collect());
    exact(
        name,
        vec![x],
        expected,
        bytes(8 * n),
        |_| {
            let scan = Scan::inclusive(Operation::Sum);
            Ok(Box::new(move |queue, inputs, out| {
                Ok(queue.scan(inputs[0].words(), out.words_mut(), scan)?)
            }))
        },
        plain,
    )
}

fn plain(inputs: &[Values], out: &mut Values) {
    let x = inputs[0].words();
    let out = out.words_mut();
    let mut before: Vec<u32> = x.par_chunks(TASK).map(|task| task.iter().sum()).collect();
    let mut sum = 0;
    before.iter_mut().for_each(|task| sum += std::mem::replace(task, sum));
    let tasks = x.par_chunks(TASK).zip(out.par_chunks_mut(TASK)).zip(before);
    tasks.for_each(|((x, out), mut sum)| {
        for (x, out) in x.iter().zip(out) {
            sum += x;
            *out = sum;
        }
    });
}

/// Prepares a scan in blocks, then of the blocks' sums in blocks, and so on until one block is left.
fn blocks(ctx: &Context) -> Result<Enqueue> {
    let scan = ctx.kernel_from(include_str!("../kernels/scan.wgsl"), "scan_blocks")?;
    let add = ctx.kernel_from(include_str!("../kernels/add.wgsl"), "add_blocks")?;
    Ok(Box::new(move |queue, inputs, out| {
        let grid = |n: usize| Grid::groups([n.div_ceil(BLOCK) as u32]);
        let x = inputs[0].words();
        let out = out.words_mut();
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

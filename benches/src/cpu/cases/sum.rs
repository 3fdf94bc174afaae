use rayon::prelude::*;

use super::whole_floats;
use crate::cpu::case::{Case, Kernel, Program, Work};
use crate::cpu::values::{Check, Values};
use crate::cpu::wide::wide;

const GROUPS: usize = 256;
/// Partial sums of a thread, so that the additions do not wait for each other.
const LANES: usize = 64;

pub(super) fn stride(quick: bool) -> Case {
    strides(many(quick), GROUPS)
}

/// Sums this many elements with this many workgroups.
pub(crate) fn strides(elements: usize, groups: usize) -> Case {
    case("sum, grid stride", "sum_stride", elements, groups)
}

pub(super) fn blocks(quick: bool) -> Case {
    case("sum, blocks", "sum_block", many(quick), GROUPS)
}

fn many(quick: bool) -> usize {
    if quick { 1 << 17 } else { 1 << 24 }
}

fn case(name: &'static str, entry: &'static str, elements: usize, groups: usize) -> Case {
    let x = whole_floats(elements, 3);
    let expected = x.floats().chunks(elements / groups).map(|block| block.iter().sum()).collect();
    Case {
        name,
        program: Program::Kernel(Kernel {
            wgsl: include_str!("../kernels/sum.wgsl"),
            opencl: Some(include_str!("../kernels/sum.cl")),
            entry,
            overrides: vec![],
            groups: [groups as u32, 1, 1],
            a: None,
        }),
        inputs: vec![x],
        start: Values::F32(vec![0.0; groups]),
        expected: Values::F32(expected),
        check: Check::Total,
        launches: 1,
        work: Some(Work::of(4.0 * elements as f64, "B")),
        plain,
    }
}

fn plain(inputs: &[Values], out: &mut Values) {
    let x = inputs[0].floats();
    let sums = out.floats_mut();
    let block = x.len() / sums.len();
    sums.par_iter_mut().zip(x.par_chunks(block)).for_each(|(sum, block)| *sum = wide_sum(block));
}

wide!(fn wide_sum(block: &[f32]) -> f32 = sum_of);

#[inline(always)]
fn sum_of(block: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    for part in block.chunks_exact(LANES) {
        lanes.iter_mut().zip(part).for_each(|(lane, x)| *lane += x);
    }
    lanes.iter().sum::<f32>() + block.chunks_exact(LANES).remainder().iter().sum::<f32>()
}

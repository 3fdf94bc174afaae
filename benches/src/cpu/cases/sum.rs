use rayon::prelude::*;

use super::whole_floats;
use crate::cpu::case::{Case, Kernel, Work, sources};
use crate::cpu::values::Check;
use crate::cpu::wide::wide;

const GROUPS: usize = 256;
/// Partial sums of a thread, so that the additions do not wait for each other.
const LANES: usize = 64;

pub(super) fn stride(quick: bool) -> Case {
    strides(many(quick), GROUPS)
}

/// Sums this many elements with this many workgroups.
pub(crate) fn strides(elements: usize, groups: usize) -> Case {
    case("sum_stride", elements, groups)
}

pub(super) fn blocks(quick: bool) -> Case {
    case("sum_block", many(quick), GROUPS)
}

fn many(quick: bool) -> usize {
    if quick { 1 << 17 } else { 1 << 24 }
}

fn case(entry: &'static str, elements: usize, groups: usize) -> Case {
    let x = whole_floats(elements, 3);
    let expected: Vec<f32> = x.chunks(elements / groups).map(|block| block.iter().sum()).collect();
    let kernel = Kernel::new(sources!("sum"), entry, [groups, 1, 1]);
    let row = Case::kernel(kernel, [x], expected, Work::of(4.0 * elements as f64, "B"), |[x], sums| {
        let block = x.len() / sums.len();
        sums.par_iter_mut().zip(x.par_chunks(block)).for_each(|(sum, block)| *sum = wide_sum(block));
    });
    Case { check: Check::Total, ..row }
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

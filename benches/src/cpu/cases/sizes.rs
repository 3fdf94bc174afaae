use rayon::prelude::*;

use super::words;
use crate::cpu::case::{Case, Kernel, Work, sources};
use crate::cpu::values::{Check, Item};

/// Rounds of a loop.
const ROUNDS: usize = 64;
/// Elements of a task of rayon.
const CHUNK: usize = 1024;
/// Additions of a subgroup.
const SUMS: u32 = 16;

/// Mixes 64-bit integers.
pub(super) fn mixing(quick: bool) -> Case {
    case((sources!("mixing"), "mixing"), words(elements(quick), 11), ROUNDS, mixed)
}

fn mixed(x: u32) -> u32 {
    let mut state = u64::from(x);
    for _ in 0..ROUNDS {
        state = state.wrapping_add(0x1e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0x3f58_476d_1ce4_e5b9);
        state ^= state >> 27;
    }
    (state >> 32) as u32 ^ state as u32
}

/// Sums powers of 64-bit floats.
pub(super) fn floats(quick: bool) -> Case {
    let row = case((sources!("polynomial64"), "polynomial64"), bases(quick), ROUNDS, sum);
    Case { check: Check::Close(1e-5), ..row }
}

/// Sums powers of 16-bit floats.
pub(super) fn halves(quick: bool) -> Case {
    let wgsl = include_str!("../kernels/polynomial16.wgsl");
    let row = case(((wgsl, None), "polynomial16"), bases(quick), ROUNDS, sum);
    Case { check: Check::Close(0.01), ..row }
}

fn bases(quick: bool) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(12);
    (0..elements(quick)).map(|_| random.f32() * 0.75).collect()
}

fn sum(base: f32) -> f32 {
    (0..ROUNDS).fold(0.0, |sum, _| sum * f64::from(base) + 0.25) as f32
}

/// Sums words in subgroups, whose size differs between devices.
pub(super) fn subgroups(quick: bool) -> Case {
    let kernel = ((include_str!("../kernels/subgroups.wgsl"), None), "subgroups");
    let row = case(kernel, words(elements(quick), 13), SUMS as usize, |x| SUMS * (x & 15));
    Case { check: Check::Total, ..row }
}

fn elements(quick: bool) -> usize {
    if quick { 256 } else { 1 << 18 }
}

/// Returns a row of a kernel, given its sources and its entry point, that computes each element from one element.
fn case<T: Item>(
    (sources, entry): ((&'static str, Option<&'static str>), &'static str),
    x: Vec<T>,
    rounds: usize,
    value: impl Fn(T) -> T + Sync + 'static,
) -> Case {
    let expected: Vec<T> = x.iter().map(|&x| value(x)).collect();
    let kernel = Kernel::new(sources, entry, [x.len() / 64, 1, 1]);
    let work = Work::of((x.len() * rounds) as f64, "round");
    Case::kernel(kernel, [x], expected, work, move |[x], out| {
        let chunks = out.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK));
        chunks.for_each(|(out, x)| out.iter_mut().zip(x).for_each(|(out, &x)| *out = value(x)));
    })
}

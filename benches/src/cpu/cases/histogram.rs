use rayon::prelude::*;

use super::words;
use crate::cpu::case::{Case, Kernel, Program, Work};
use crate::cpu::values::{Check, Values};

const GROUPS: usize = 256;
const BINS: usize = 256;
/// Copies of the bins. Successive elements count in different copies, so that they do not wait for each other.
const COPIES: usize = 4;

pub(super) fn case(quick: bool) -> Case {
    let elements: usize = if quick { 1 << 17 } else { 1 << 24 };
    let x = words(elements, 7);
    let mut expected = vec![0; BINS];
    x.words().iter().for_each(|x| expected[(x & 255) as usize] += 1);
    Case {
        name: "histogram",
        program: Program::Kernel(Kernel {
            wgsl: include_str!("../kernels/histogram.wgsl"),
            opencl: Some(include_str!("../kernels/histogram.cl")),
            entry: "histogram",
            overrides: vec![],
            groups: [GROUPS as u32, 1, 1],
            a: None,
        }),
        inputs: vec![x],
        start: Values::U32(vec![0; BINS]),
        expected: Values::U32(expected),
        check: Check::Exact,
        launches: 1,
        work: Some(Work::of(elements as f64, "element")),
        plain,
    }
}

fn plain(inputs: &[Values], out: &mut Values) {
    let parts = inputs[0].words().par_chunks(1 << 16).map(counted);
    let sum = parts.reduce(|| [0; BINS], |a, b| std::array::from_fn(|bin| a[bin] + b[bin]));
    out.words_mut().copy_from_slice(&sum);
}

fn counted(part: &[u32]) -> [u32; BINS] {
    let mut copies = [[0_u32; BINS]; COPIES];
    for x in part.chunks(COPIES) {
        copies.iter_mut().zip(x).for_each(|(bins, x)| bins[(x & 255) as usize] += 1);
    }
    std::array::from_fn(|bin| copies.iter().map(|bins| bins[bin]).sum())
}

use rayon::prelude::*;

use super::words;
use crate::cpu::case::{Case, Kernel, Program, Work};
use crate::cpu::values::{Check, Values};

/// Rounds of a loop.
const ROUNDS: usize = 64;
/// Elements of a task of rayon.
const CHUNK: usize = 1024;
/// Additions of a subgroup.
const SUMS: u32 = 16;

/// Mixes 64-bit integers.
pub(super) fn mixing(quick: bool) -> Case {
    let x = words(elements(quick), 11);
    let expected = Values::U32(x.words().iter().map(|&x| mixed(x)).collect());
    let kernel = Kernel {
        opencl: Some(include_str!("../kernels/mixing.cl")),
        ..kernel(include_str!("../kernels/mixing.wgsl"), "mixing", quick)
    };
    let plain = |inputs: &[Values], out: &mut Values| {
        let chunks = out.words_mut().par_chunks_mut(CHUNK).zip(inputs[0].words().par_chunks(CHUNK));
        chunks.for_each(|(out, x)| out.iter_mut().zip(x).for_each(|(out, &x)| *out = mixed(x)));
    };
    case("integers, 64 bits", kernel, x, expected, Check::Exact, plain)
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
    let kernel = Kernel {
        opencl: Some(include_str!("../kernels/polynomial64.cl")),
        ..kernel(include_str!("../kernels/polynomial64.wgsl"), "polynomial64", quick)
    };
    polynomial("floats, 64 bits", kernel, Check::Close(1e-5), quick)
}

/// Sums powers of 16-bit floats.
pub(super) fn halves(quick: bool) -> Case {
    let kernel = kernel(include_str!("../kernels/polynomial16.wgsl"), "polynomial16", quick);
    polynomial("floats, 16 bits", kernel, Check::Close(0.01), quick)
}

fn polynomial(name: &'static str, kernel: Kernel, check: Check, quick: bool) -> Case {
    let mut random = fastrand::Rng::with_seed(12);
    let x: Vec<f32> = (0..elements(quick)).map(|_| random.f32() * 0.75).collect();
    let expected = Values::F32(x.iter().map(|&x| sum(x.into()) as f32).collect());
    let plain = |inputs: &[Values], out: &mut Values| {
        let chunks = out.floats_mut().par_chunks_mut(CHUNK).zip(inputs[0].floats().par_chunks(CHUNK));
        chunks.for_each(|(out, x)| out.iter_mut().zip(x).for_each(|(out, &x)| *out = sum(x.into()) as f32));
    };
    case(name, kernel, Values::F32(x), expected, check, plain)
}

fn sum(base: f64) -> f64 {
    (0..ROUNDS).fold(0.0, |sum, _| sum * base + 0.25)
}

/// Sums words in subgroups, whose size differs between devices.
pub(super) fn subgroups(quick: bool) -> Case {
    let x = words(elements(quick), 13);
    let expected = Values::U32(x.words().iter().map(|x| SUMS * (x & 15)).collect());
    let kernel = kernel(include_str!("../kernels/subgroups.wgsl"), "subgroups", quick);
    let plain = |inputs: &[Values], out: &mut Values| {
        let chunks = out.words_mut().par_chunks_mut(CHUNK).zip(inputs[0].words().par_chunks(CHUNK));
        chunks.for_each(|(out, x)| out.iter_mut().zip(x).for_each(|(out, &x)| *out = SUMS * (x & 15)));
    };
    case("subgroups", kernel, x, expected, Check::Total, plain)
}

fn elements(quick: bool) -> usize {
    if quick { 256 } else { 1 << 18 }
}

fn kernel(wgsl: &'static str, entry: &'static str, quick: bool) -> Kernel {
    Kernel {
        wgsl,
        opencl: None,
        entry,
        overrides: vec![],
        groups: [elements(quick) as u32 / 64, 1, 1],
        a: None,
    }
}

fn case(
    name: &'static str,
    kernel: Kernel,
    x: Values,
    expected: Values,
    check: Check,
    plain: fn(&[Values], &mut Values),
) -> Case {
    let start = match &expected {
        Values::F32(values) => Values::F32(vec![0.0; values.len()]),
        Values::U32(values) => Values::U32(vec![0; values.len()]),
    };
    let rounds = if name == "subgroups" { SUMS as usize } else { ROUNDS };
    let amount = f64::from(kernel.groups[0]) * 64.0 * rounds as f64;
    Case {
        name,
        program: Program::Kernel(kernel),
        inputs: vec![x],
        start,
        expected,
        check,
        launches: 1,
        work: Some(Work::of(amount, "round")),
        plain,
    }
}

use rayon::prelude::*;

use crate::cpu::case::{Case, Kernel, Program, Work};
use crate::cpu::values::{Check, Values};

/// Number of terms of each element's sum.
const TERMS: usize = 64;
/// Elements of a task of rayon.
const CHUNK: usize = 1024;

/// Sums sines.
pub(super) fn waves(quick: bool) -> Case {
    let sources = [include_str!("../kernels/waves.wgsl"), include_str!("../kernels/waves.cl")];
    case(
        ("waves", sources, 1.0),
        quick,
        |x, y| (x * y).sin(),
        |inputs, out| sums(inputs, out, |x, y| (x * y).sin()),
    )
}

/// Sums exponential functions, logarithms and powers.
pub(super) fn powers(quick: bool) -> Case {
    let sources = [include_str!("../kernels/powers.wgsl"), include_str!("../kernels/powers.cl")];
    let exact = |x: f64, y: f64| (-y * x).exp() + (x + y).ln() + x.powf(y);
    case(("powers", sources, 3.0), quick, exact, |inputs, out| {
        sums(inputs, out, |x, y| (-y * x).exp() + (x + y).ln() + x.powf(y));
    })
}

/// Makes a row with a name, a kernel in WGSL and in OpenCL C, and the number of calls in a term, which `exact` computes
/// in `f64`.
fn case(
    (name, [wgsl, opencl], calls): (&'static str, [&'static str; 2], f64),
    quick: bool,
    exact: fn(f64, f64) -> f64,
    plain: fn(&[Values], &mut Values),
) -> Case {
    let count: usize = if quick { 256 } else { 1 << 18 };
    let mut random = fastrand::Rng::with_seed(10);
    let mut floats = |count: usize| (0..count).map(|_| random.f32() * 4.0 + 0.01).collect::<Vec<f32>>();
    let elements = floats(count);
    let terms = floats(TERMS);
    let sum = |&x: &f32| terms.iter().map(|&y| exact(x.into(), y.into())).sum::<f64>() as f32;
    let expected = Values::F32(elements.iter().map(sum).collect());
    Case {
        name,
        program: Program::Kernel(Kernel {
            wgsl,
            opencl: Some(opencl),
            entry: name,
            overrides: vec![],
            groups: [count as u32 / 64, 1, 1],
            a: None,
        }),
        inputs: vec![Values::F32(elements), Values::F32(terms)],
        start: Values::F32(vec![0.0; count]),
        expected,
        check: Check::Close(1e-4),
        launches: 1,
        work: Some(Work::of((count * TERMS) as f64 * calls, "call")),
        plain,
    }
}

/// Computes the sums with the functions of the standard library.
fn sums(inputs: &[Values], out: &mut Values, term: impl Fn(f32, f32) -> f32 + Sync) {
    let elements = inputs[0].floats();
    let terms = inputs[1].floats();
    out.floats_mut().par_chunks_mut(CHUNK).zip(elements.par_chunks(CHUNK)).for_each(|(sums, elements)| {
        for (sum, &x) in sums.iter_mut().zip(elements) {
            *sum = terms.iter().map(|&y| term(x, y)).sum();
        }
    });
}

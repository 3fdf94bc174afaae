use rayon::prelude::*;

use crate::cpu::case::{Case, Kernel, Work, sources};
use crate::cpu::values::Check;

/// Number of terms of each element's sum.
const TERMS: usize = 64;
/// Elements of a task of rayon.
const CHUNK: usize = 1024;

/// Sums sines.
pub(super) fn waves(quick: bool) -> Case {
    let kernel = Kernel::new(sources!("waves"), "waves", [count(quick) / 64, 1, 1]);
    case(kernel, 1.0, quick, |x, y| (x * y).sin(), |inputs, out| sums(inputs, out, |x, y| (x * y).sin()))
}

/// Sums exponential functions, logarithms and powers.
pub(super) fn powers(quick: bool) -> Case {
    let kernel = Kernel::new(sources!("powers"), "powers", [count(quick) / 64, 1, 1]);
    let exact = |x: f64, y: f64| (-y * x).exp() + (x + y).ln() + x.powf(y);
    case(kernel, 3.0, quick, exact, |inputs, out| {
        sums(inputs, out, |x, y| (-y * x).exp() + (x + y).ln() + x.powf(y));
    })
}

fn count(quick: bool) -> usize {
    if quick { 256 } else { 1 << 18 }
}

/// Returns a row of a kernel whose terms have a number of calls. `exact` computes a term in `f64`.
fn case(
    kernel: Kernel,
    calls: f64,
    quick: bool,
    exact: fn(f64, f64) -> f64,
    plain: fn([&[f32]; 2], &mut [f32]),
) -> Case {
    let count = count(quick);
    let mut random = fastrand::Rng::with_seed(10);
    let mut floats = |count: usize| (0..count).map(|_| random.f32() * 4.0 + 0.01).collect::<Vec<f32>>();
    let elements = floats(count);
    let terms = floats(TERMS);
    let sum = |&x: &f32| terms.iter().map(|&y| exact(x.into(), y.into())).sum::<f64>() as f32;
    let expected: Vec<f32> = elements.iter().map(sum).collect();
    let work = Work::of((count * TERMS) as f64 * calls, "call");
    Case { check: Check::Close(1e-4), ..Case::kernel(kernel, [elements, terms], expected, work, plain) }
}

/// Computes the sums with the functions of the standard library.
fn sums([elements, terms]: [&[f32]; 2], out: &mut [f32], term: impl Fn(f32, f32) -> f32 + Sync) {
    out.par_chunks_mut(CHUNK).zip(elements.par_chunks(CHUNK)).for_each(|(sums, elements)| {
        for (sum, &x) in sums.iter_mut().zip(elements) {
            *sum = terms.iter().map(|&y| term(x, y)).sum();
        }
    });
}

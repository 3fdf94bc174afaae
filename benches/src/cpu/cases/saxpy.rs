use rayon::prelude::*;

use super::whole_floats;
use crate::cpu::case::{Case, Kernel, Program, Work};
use crate::cpu::values::{Check, Values};
use crate::cpu::wide::wide;

const A: f32 = 2.0;
/// Elements that a thread takes at once.
const PART: usize = 1 << 16;

pub(super) fn case(quick: bool) -> Case {
    let side = if quick { 16 } else { 256 };
    let elements = side * side * 256;
    let x = whole_floats(elements, 1);
    let y = whole_floats(elements, 2);
    let expected = x.floats().iter().zip(y.floats()).map(|(x, y)| A * x + y).collect();
    Case {
        name: "saxpy",
        program: Program::Kernel(Kernel {
            wgsl: include_str!("../kernels/saxpy.wgsl"),
            opencl: Some(include_str!("../kernels/saxpy.cl")),
            entry: "saxpy",
            overrides: vec![],
            groups: [side as u32, side as u32, 1],
            a: Some(A),
        }),
        inputs: vec![x],
        start: y,
        expected: Values::F32(expected),
        check: Check::Exact,
        launches: 1,
        work: Some(Work::of(12.0 * elements as f64, "B")),
        plain,
    }
}

fn plain(inputs: &[Values], out: &mut Values) {
    let parts = out.floats_mut().par_chunks_mut(PART).zip(inputs[0].floats().par_chunks(PART));
    parts.for_each(|(y, x)| add_wide(y, x));
}

wide!(fn add_wide(y: &mut [f32], x: &[f32]) = add);

#[inline(always)]
fn add(y: &mut [f32], x: &[f32]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += A * x);
}

use rayon::prelude::*;

use super::{whole_floats, words};
use crate::cpu::case::{Case, Kernel, Program, Work};
use crate::cpu::values::{Check, Values};

/// Elements that a thread takes at once.
const PART: usize = 1 << 14;

pub(super) fn case(quick: bool) -> Case {
    let elements: usize = if quick { 1 << 12 } else { 1 << 21 };
    let x = whole_floats(elements, 10);
    let places = words(elements, 11);
    let places: Vec<u32> = places.words().iter().map(|word| word % elements as u32).collect();
    let expected = places.iter().map(|&at| x.floats()[at as usize]).collect();
    Case {
        name: "gather",
        program: Program::Kernel(Kernel {
            wgsl: include_str!("../kernels/gather.wgsl"),
            opencl: Some(include_str!("../kernels/gather.cl")),
            entry: "gather",
            overrides: vec![],
            groups: [elements as u32 / 64, 1, 1],
            a: None,
        }),
        inputs: vec![Values::U32(places), x],
        start: Values::F32(vec![0.0; elements]),
        expected: Values::F32(expected),
        check: Check::Exact,
        launches: 1,
        work: Some(Work::of(elements as f64, "element")),
        plain,
    }
}

fn plain(inputs: &[Values], out: &mut Values) {
    let places = inputs[0].words();
    let x = inputs[1].floats();
    out.floats_mut().par_chunks_mut(PART).zip(places.par_chunks(PART)).for_each(|(y, places)| {
        y.iter_mut().zip(places).for_each(|(y, &at)| *y = x[at as usize]);
    });
}

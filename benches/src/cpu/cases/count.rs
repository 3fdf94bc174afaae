use rayon::prelude::*;

use crate::cpu::case::{Case, Kernel, Program};
use crate::cpu::values::{Check, Values};

/// Invocations of a workgroup.
const GROUP: usize = 64;

pub(super) fn one_group(quick: bool) -> Case {
    case("launch 1 group", 1, quick)
}

pub(super) fn many_groups(quick: bool) -> Case {
    case("launch 64 groups", 64, quick)
}

fn case(name: &'static str, groups: usize, quick: bool) -> Case {
    let launches = if quick { 3 } else { 1000 };
    Case {
        name,
        program: Program::Kernel(Kernel {
            wgsl: include_str!("../kernels/count.wgsl"),
            opencl: Some(include_str!("../kernels/count.cl")),
            entry: "count",
            overrides: vec![],
            groups: [groups as u32, 1, 1],
            a: None,
        }),
        inputs: vec![],
        start: Values::U32(vec![0; groups * GROUP]),
        expected: Values::U32(vec![launches as u32; groups * GROUP]),
        check: Check::Exact,
        launches,
        work: None,
        plain,
    }
}

fn plain(_: &[Values], out: &mut Values) {
    out.words_mut()
        .par_chunks_mut(GROUP)
        .for_each(|counters| counters.iter_mut().for_each(|count| *count += 1));
}

use rayon::prelude::*;

use crate::cpu::case::{Case, Kernel, NO_INPUTS, Work, sources};

/// Invocations of a workgroup.
const GROUP: usize = 64;

pub(super) fn one_group(quick: bool) -> Case {
    case(1, quick)
}

pub(super) fn many_groups(quick: bool) -> Case {
    case(64, quick)
}

fn case(groups: usize, quick: bool) -> Case {
    let launches = if quick { 3 } else { 1000 };
    let expected = vec![launches as u32; groups * GROUP];
    let kernel = Kernel::new(sources!("count"), "count", [groups, 1, 1]);
    let row = Case::kernel(kernel, NO_INPUTS, expected, Work::of(0.0, ""), |[], out| {
        out.par_chunks_mut(GROUP).for_each(|counters| counters.iter_mut().for_each(|count| *count += 1));
    });
    Case { launches, work: None, ..row }
}

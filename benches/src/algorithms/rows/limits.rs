use rayon::prelude::*;

use super::{bytes, exact, many, words_below};
use crate::cpu::case::{Case, Kernel};
use crate::cpu::cases::sum;
use crate::cpu::device;

/// Counts the workgroups of the copy.
const GROUPS: u32 = 256;
/// Counts the elements of a task of plain Rust.
const TASK: usize = 1 << 16;

pub(super) fn copy(quick: bool) -> Case {
    let x = words_below(many(quick), u32::MAX, 1);
    let (expected, work) = (x.clone(), bytes(8 * many(quick)));
    exact(
        "copy kernel",
        vec![x],
        expected,
        work,
        |ctx| {
            let (wgsl, groups) = (include_str!("../kernels/copy.wgsl"), [GROUPS, 1, 1]);
            device::launch(ctx, &Kernel { wgsl, entry: "copy", overrides: vec![], groups, a: None })
        },
        |inputs, out| {
            let tasks = out.words_mut().par_chunks_mut(TASK).zip(inputs[0].words().par_chunks(TASK));
            tasks.for_each(|(out, x)| out.copy_from_slice(x));
        },
    )
}

pub(super) fn read(quick: bool) -> Case {
    Case { name: "read kernel", ..sum::strides(many(quick)) }
}

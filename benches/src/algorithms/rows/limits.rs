use rayon::prelude::*;

use super::{Size, bytes, words_below};
use crate::cpu::case::{Case, Kernel, Program};
use crate::cpu::cases::sum;
use crate::cpu::values::{Check, Values};

/// Elements of a workgroup: 16 for each invocation.
const OF_GROUP: usize = 16 * 256;
/// Elements of a task of plain Rust.
const TASK: usize = 1 << 16;

pub(super) fn copy(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 1);
    Case {
        name: "copy kernel",
        program: Program::Kernel(Kernel {
            wgsl: include_str!("../kernels/copy.wgsl"),
            opencl: None,
            entry: "copy",
            overrides: vec![],
            groups: [groups(size) as u32, 1, 1],
            a: None,
        }),
        inputs: vec![x.clone()],
        start: Values::U32(vec![0; size.many()]),
        expected: x,
        check: Check::Exact,
        launches: 1,
        work: Some(bytes(8 * size.many())),
        plain: |inputs, out| {
            let tasks = out.words_mut().par_chunks_mut(TASK).zip(inputs[0].words().par_chunks(TASK));
            tasks.for_each(|(out, x)| out.copy_from_slice(x));
        },
    }
}

pub(super) fn read(size: Size) -> Case {
    Case { name: "read kernel", ..sum::strides(size.many(), groups(size)) }
}

/// Counts the workgroups that keep a whole graphics card busy.
fn groups(size: Size) -> usize {
    (size.many() / OF_GROUP).clamp(1, 1 << 15)
}

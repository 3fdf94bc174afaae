use fencepost::algorithms::{Algorithms as _, Bins};
use rayon::prelude::*;

use super::{Size, elements, exact, words_below};
use crate::cpu::case::{Case, Kernel, Program};
use crate::cpu::device;
use crate::cpu::values::Values;

const BINS: usize = 256;
/// Workgroups of the plain kernel.
const GROUPS: u32 = 256;

pub(super) fn histogram(size: Size) -> Case {
    of("histogram", words_below(size.many(), u32::MAX, 9))
}

/// Counts all elements in one bin, where atomic operations wait for each other.
pub(super) fn one_bin(size: Size) -> Case {
    of("histogram, one bin", Values::U32(vec![7; size.many()]))
}

pub(super) fn plain_kernel(size: Size) -> Case {
    let program = Program::Launches(|ctx| {
        let wgsl = include_str!("../kernels/histogram.wgsl");
        let groups = [GROUPS, 1, 1];
        let kernel = Kernel { wgsl, opencl: None, entry: "histogram", overrides: vec![], groups, a: None };
        device::launch(ctx, &kernel)
    });
    Case { program, ..of("histogram, plain", words_below(size.many(), u32::MAX, 9)) }
}

fn of(name: &'static str, x: Values) -> Case {
    let n = x.words().len();
    let expected = Values::U32(counted(vec![0; BINS], x.words()));
    exact(
        name,
        vec![x],
        expected,
        elements(n),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                Ok(queue.histogram(inputs[0].words(), Bins::modulo(), out.words_mut())?)
            }))
        },
        |inputs, out| {
            let parts = inputs[0].words().par_chunks(1 << 16).fold(|| vec![0; BINS], counted);
            let sum = parts.reduce(|| vec![0; BINS], |a, b| a.iter().zip(b).map(|(a, b)| a + b).collect());
            out.words_mut().copy_from_slice(&sum);
        },
    )
}

fn counted(mut bins: Vec<u32>, part: &[u32]) -> Vec<u32> {
    part.iter().for_each(|x| bins[*x as usize % BINS] += 1);
    bins
}

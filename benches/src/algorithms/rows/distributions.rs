use fencepost::algorithms::{Algorithms as _, Choice, Distribution, Exponential, Philox, Uniform, Whole};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, bytes, elements, exact};
use crate::cpu::case::Case;
use crate::cpu::values::{Check, Values};

/// Elements of a task of plain Rust.
const TASK: usize = 1 << 16;
const SEED: u64 = 63;
const UNIFORM: Uniform = Uniform { low: -1.0, high: 3.0 };
const WHOLE: Whole<u32> = Whole { low: 10, high: 1010 };
const EXPONENTIAL: Exponential = Exponential { rate: 0.5 };
const CHOICE: Choice = Choice { probability: 0.3 };

pub(super) fn uniform(size: Size) -> Case {
    let row = exact(
        "random uniform",
        vec![],
        Values::F32(of_floats(size, UNIFORM)),
        bytes(4 * size.many()),
        |_| {
            Ok(Box::new(|queue, _, out| {
                Ok(queue.fill_random(out.floats_mut(), Philox::seed(SEED), UNIFORM)?)
            }))
        },
        |_, out| filled(out.floats_mut(), UNIFORM),
    );
    Case { check: Check::Close(1e-6), ..row }
}

pub(super) fn exponential(size: Size) -> Case {
    let row = exact(
        "random exponential",
        vec![],
        Values::F32(of_floats(size, EXPONENTIAL)),
        bytes(4 * size.many()),
        |_| {
            Ok(Box::new(|queue, _, out| {
                Ok(queue.fill_random(out.floats_mut(), Philox::seed(SEED), EXPONENTIAL)?)
            }))
        },
        |_, out| filled(out.floats_mut(), EXPONENTIAL),
    );
    Case { check: Check::Close(1e-5), ..row }
}

pub(super) fn whole(size: Size) -> Case {
    exact(
        "random whole numbers",
        vec![],
        Values::U32(of_words(size, WHOLE)),
        bytes(4 * size.many()),
        |_| {
            Ok(Box::new(|queue, _, out| Ok(queue.fill_random(out.words_mut(), Philox::seed(SEED), WHOLE)?)))
        },
        |_, out| filled(out.words_mut(), WHOLE),
    )
}

pub(super) fn choice(size: Size) -> Case {
    exact(
        "random choice",
        vec![],
        Values::U32(of_words(size, CHOICE)),
        bytes(4 * size.many()),
        |_| {
            Ok(Box::new(|queue, _, out| {
                Ok(queue.fill_random(out.words_mut(), Philox::seed(SEED), CHOICE)?)
            }))
        },
        |_, out| filled(out.words_mut(), CHOICE),
    )
}

/// Compares only the sum of the numbers: the plain contestant makes a different order.
pub(super) fn permutation(size: Size) -> Case {
    let n = size.many() / 4;
    let row = exact(
        "random permutation",
        vec![],
        Values::U32((0..n as u32).collect()),
        elements(n),
        |_| Ok(Box::new(|queue, _, out| Ok(queue.random_permutation(out.words_mut(), Philox::seed(SEED))?))),
        |_, out| {
            let out = out.words_mut();
            (0..).zip(&mut *out).for_each(|(number, out)| *out = number);
            fastrand::Rng::with_seed(SEED).shuffle(out);
        },
    );
    Case { check: Check::Total, ..row }
}

fn of_floats(size: Size, distribution: impl Distribution<f32>) -> Vec<f32> {
    let mut list = vec![0.0; size.many()];
    host::fill_random(&mut list, Philox::seed(SEED), distribution).expect("bug: the distribution is refused");
    list
}

fn of_words(size: Size, distribution: impl Distribution<u32>) -> Vec<u32> {
    let mut list = vec![0; size.many()];
    host::fill_random(&mut list, Philox::seed(SEED), distribution).expect("bug: the distribution is refused");
    list
}

/// Draws the numbers of each task, starting at its place in the sequence.
fn filled<T: fencepost::algorithms::Reducible>(out: &mut [T], distribution: impl Distribution<T> + Sync) {
    out.par_chunks_mut(TASK).enumerate().for_each(|(task, out)| {
        let generator = Philox::seed(SEED).position((task * TASK) as u64);
        host::fill_random(out, generator, distribution).expect("bug: the distribution is refused");
    });
}

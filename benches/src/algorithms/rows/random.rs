use fencepost::algorithms::{Algorithms as _, Normal, Philox, Words};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, bytes, exact};
use crate::cpu::case::Case;
use crate::cpu::values::{Check, Values};

/// Elements of a task of plain Rust.
const TASK: usize = 1 << 16;
const SEED: u64 = 17;
const NORMAL: Normal = Normal { mean: 1.0, deviation: 2.0 };

pub(super) fn words(size: Size) -> Case {
    let mut expected = vec![0; size.many()];
    host::fill_random(&mut expected, Philox::seed(SEED), Words).expect("bug: the distribution is refused");
    exact(
        "random words",
        vec![],
        Values::U32(expected),
        bytes(4 * size.many()),
        |_| {
            Ok(Box::new(|queue, _, out| Ok(queue.fill_random(out.words_mut(), Philox::seed(SEED), Words)?)))
        },
        |_, out| {
            out.words_mut().par_chunks_mut(TASK).enumerate().for_each(|(task, out)| {
                let generator = Philox::seed(SEED).position((task * TASK) as u64);
                host::fill_random(out, generator, Words).expect("bug: the distribution is refused");
            });
        },
    )
}

pub(super) fn normal(size: Size) -> Case {
    let mut expected = vec![0.0; size.many()];
    host::fill_random(&mut expected, Philox::seed(SEED), NORMAL).expect("bug: the distribution is refused");
    let row = exact(
        "random normal",
        vec![],
        Values::F32(expected),
        bytes(4 * size.many()),
        |_| {
            Ok(Box::new(|queue, _, out| {
                Ok(queue.fill_random(out.floats_mut(), Philox::seed(SEED), NORMAL)?)
            }))
        },
        |_, out| {
            out.floats_mut().par_chunks_mut(TASK).enumerate().for_each(|(task, out)| {
                let generator = Philox::seed(SEED).position((task * TASK) as u64);
                host::fill_random(out, generator, NORMAL).expect("bug: the distribution is refused");
            });
        },
    );
    Case { check: Check::Close(1e-5), ..row }
}

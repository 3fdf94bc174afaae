use fencepost::algorithms::{
    Algorithms as _, Choice, Distribution, Exponential, Normal, Philox, Reducible, Uniform, Whole, Words,
};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, TASK, bytes, elements};
use crate::cpu::case::{Case, NO_INPUTS};
use crate::cpu::values::{Check, Item};

const SEED: u64 = 63;

pub(super) fn words(size: Size) -> Case {
    of(vec![0_u32; size.many()], Words)
}

pub(super) fn uniform(size: Size) -> Case {
    let row = of(vec![0.0_f32; size.many()], Uniform { low: -1.0, high: 3.0 });
    Case { check: Check::Close(1e-6), ..row }
}

pub(super) fn normal(size: Size) -> Case {
    let row = of(vec![0.0_f32; size.many()], Normal { mean: 1.0, deviation: 2.0 });
    Case { check: Check::Close(1e-5), ..row }
}

pub(super) fn exponential(size: Size) -> Case {
    let row = of(vec![0.0_f32; size.many()], Exponential { rate: 0.5 });
    Case { check: Check::Close(1e-5), ..row }
}

pub(super) fn whole(size: Size) -> Case {
    of(vec![0_u32; size.many()], Whole { low: 10, high: 1010 })
}

pub(super) fn choice(size: Size) -> Case {
    of(vec![0_u32; size.many()], Choice { probability: 0.3 })
}

/// Returns a row that fills a list with the numbers of a distribution.
fn of<T: Item + Reducible>(mut list: Vec<T>, distribution: impl Distribution<T> + Sync + 'static) -> Case {
    let fill = move |out: &mut [T], first: usize| {
        let generator = Philox::seed(SEED).position(first as u64);
        host::fill_random(out, generator, distribution).expect("bug: the distribution is refused");
    };
    fill(&mut list, 0);
    let work = bytes(4 * list.len());
    Case::verb(
        NO_INPUTS,
        list,
        work,
        move |queue, [], out| queue.fill_random(out, Philox::seed(SEED), distribution),
        move |[], out| {
            let tasks = out.par_chunks_mut(TASK).enumerate();
            tasks.for_each(|(task, out)| fill(out, task * TASK));
        },
    )
}

/// Compares only the sum of the numbers: the plain contestant makes a different order.
pub(super) fn permutation(size: Size) -> Case {
    let n = size.many() / 4;
    let row = Case::verb(
        NO_INPUTS,
        (0..n as u32).collect::<Vec<u32>>(),
        elements(n),
        |queue, [], out| queue.random_permutation(out, Philox::seed(SEED)),
        |[], out| {
            (0..).zip(&mut *out).for_each(|(number, out)| *out = number);
            fastrand::Rng::with_seed(SEED).shuffle(out);
        },
    );
    Case { check: Check::Total, ..row }
}

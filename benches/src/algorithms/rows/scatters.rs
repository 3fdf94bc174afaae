use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use fencepost::algorithms::{Algorithms as _, Philox};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, bytes, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::values::Values;

pub(super) fn scatter(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 57);
    let places = host::random_permutation(size.many() as u32, Philox::seed(58));
    let mut expected = vec![0; size.many()];
    host::scatter(x.words(), &places, &mut expected);
    exact(
        "scatter",
        vec![x, Values::U32(places)],
        Values::U32(expected),
        bytes(12 * size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                Ok(queue.scatter(inputs[0].words(), inputs[1].words(), out.words_mut())?)
            }))
        },
        |inputs, out| written(inputs, out.words_mut(), |out, x| out.store(x, Relaxed)),
    )
}

/// Adds about as many elements as there are places, so that some places get several.
pub(super) fn scatter_add(size: Size) -> Case {
    let x = words_below(size.many(), 1000, 59);
    let places = words_below(size.many(), size.many() as u32, 60);
    let mut expected = vec![0; size.many()];
    host::scatter_add(x.words(), places.words(), &mut expected);
    exact(
        "scatter add",
        vec![x, places],
        Values::U32(expected),
        bytes(12 * size.many()),
        |_| {
            Ok(Box::new(|queue, inputs, out| {
                Ok(queue.scatter_add(inputs[0].words(), inputs[1].words(), out.words_mut())?)
            }))
        },
        |inputs, out| {
            written(inputs, out.words_mut(), |out, x| {
                out.fetch_add(x, Relaxed);
            });
        },
    )
}

/// Writes from all threads to random places. The copies of the places take less time than the writes.
fn written(inputs: &[Values], out: &mut [u32], write: fn(&AtomicU32, u32)) {
    let places: Vec<AtomicU32> = out.par_iter().map(|&element| AtomicU32::new(element)).collect();
    let pairs = inputs[0].words().par_iter().zip(inputs[1].words());
    pairs.for_each(|(&x, &place)| write(&places[place as usize], x));
    out.par_iter_mut().zip(places).for_each(|(out, place)| *out = place.into_inner());
}

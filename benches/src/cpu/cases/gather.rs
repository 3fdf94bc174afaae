use rayon::prelude::*;

use super::{whole_floats, words};
use crate::cpu::case::{Case, Kernel, NO_INPUTS, Work, sources};
use crate::cpu::values::Item;

/// Elements that a thread takes at once.
const PART: usize = 1 << 14;

pub(super) fn case(quick: bool) -> Case {
    let elements: usize = if quick { 1 << 12 } else { 1 << 21 };
    let x = whole_floats(elements, 10);
    let places: Vec<u32> = words(elements, 11).into_iter().map(|word| word % elements as u32).collect();
    let expected: Vec<f32> = places.iter().map(|&at| x[at as usize]).collect();
    let inputs = vec![u32::values(places.clone()), f32::values(x.clone())];
    let kernel = Kernel::new(sources!("gather"), "gather", [elements / 64, 1, 1]);
    let work = Work::of(elements as f64, "element");
    // The inputs have elements of two types, so plain Rust has its own copies.
    let row = Case::kernel(kernel, NO_INPUTS, expected, work, move |[], out| {
        out.par_chunks_mut(PART).zip(places.par_chunks(PART)).for_each(|(y, places)| {
            y.iter_mut().zip(places).for_each(|(y, &at)| *y = x[at as usize]);
        });
    });
    Case { inputs, ..row }
}

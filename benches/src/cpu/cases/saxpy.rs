use rayon::prelude::*;

use super::whole_floats;
use crate::cpu::case::{Case, Kernel, Work, sources};
use crate::cpu::values::Item;
use crate::cpu::wide::wide;

const A: f32 = 2.0;
/// Elements that a thread takes at once.
const PART: usize = 1 << 16;

pub(super) fn case(quick: bool) -> Case {
    let side = if quick { 16 } else { 256 };
    let elements = side * side * 256;
    let x = whole_floats(elements, 1);
    let y = whole_floats(elements, 2);
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| A * x + y).collect();
    let kernel = Kernel { a: Some(A), ..Kernel::new(sources!("saxpy"), "saxpy", [side, side, 1]) };
    let row = Case::kernel(kernel, [x], expected, Work::of(12.0 * elements as f64, "B"), |[x], y| {
        y.par_chunks_mut(PART).zip(x.par_chunks(PART)).for_each(|(y, x)| add_wide(y, x));
    });
    Case { start: f32::values(y), ..row }
}

wide!(fn add_wide(y: &mut [f32], x: &[f32]) = add);

#[inline(always)]
fn add(y: &mut [f32], x: &[f32]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += A * x);
}

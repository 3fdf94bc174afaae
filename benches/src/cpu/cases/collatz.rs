use rayon::prelude::*;

use crate::cpu::case::{Case, Kernel, Program, Work};
use crate::cpu::values::{Check, Values};

const MOST: u32 = 1000;
const PART: usize = 1 << 12;

pub(super) fn case(quick: bool) -> Case {
    let numbers: u32 = if quick { 1 << 10 } else { 1 << 20 };
    Case {
        name: "collatz",
        program: Program::Kernel(Kernel {
            wgsl: include_str!("../kernels/collatz.wgsl"),
            opencl: Some(include_str!("../kernels/collatz.cl")),
            entry: "collatz",
            overrides: vec![],
            groups: [numbers / 64, 1, 1],
            a: None,
        }),
        inputs: vec![],
        start: Values::U32(vec![0; numbers as usize]),
        expected: Values::U32((0..numbers).map(|at| steps(at + 1)).collect()),
        check: Check::Exact,
        launches: 1,
        work: Some(Work::of(f64::from(numbers), "number")),
        plain,
    }
}

fn steps(mut value: u32) -> u32 {
    let mut n = 0;
    while value != 1 && n < MOST {
        value = if value.is_multiple_of(2) { value / 2 } else { value.wrapping_mul(3).wrapping_add(1) };
        n += 1;
    }
    n
}

fn plain(_: &[Values], out: &mut Values) {
    out.words_mut().par_chunks_mut(PART).enumerate().for_each(|(at, part)| {
        let first = (at * PART) as u32 + 1;
        part.iter_mut().zip(first..).for_each(|(n, value)| *n = quick_steps(value));
    });
}

/// Counts the steps as [`steps`] does, and takes all halvings in a row at once.
fn quick_steps(mut value: u32) -> u32 {
    let mut n = 0;
    loop {
        let halvings = value.trailing_zeros();
        if halvings == 32 {
            return MOST; // zero stays zero
        }
        value >>= halvings;
        n += halvings;
        if value == 1 || n >= MOST {
            return n.min(MOST);
        }
        value = value.wrapping_mul(3).wrapping_add(1);
        n += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halvings_in_a_row_count_as_single_steps_do() {
        let edges = [0, u32::MAX, 1_431_655_765, 1 << 31, 159_487];
        for value in (1..=100_000).chain(edges) {
            assert_eq!(quick_steps(value), steps(value), "{value}");
        }
    }
}

use rayon::prelude::*;

use crate::cpu::case::{Case, Kernel, NO_INPUTS, Work, sources};

const MOST: u32 = 1000;
const PART: usize = 1 << 12;

pub(super) fn case(quick: bool) -> Case {
    let numbers: usize = if quick { 1 << 10 } else { 1 << 20 };
    let expected: Vec<u32> = (1..=numbers as u32).map(steps).collect();
    let kernel = Kernel::new(sources!("collatz"), "collatz", [numbers / 64, 1, 1]);
    Case::kernel(kernel, NO_INPUTS, expected, Work::of(numbers as f64, "number"), |[], out| {
        out.par_chunks_mut(PART).enumerate().for_each(|(at, part)| {
            let first = (at * PART) as u32 + 1;
            part.iter_mut().zip(first..).for_each(|(n, value)| *n = quick_steps(value));
        });
    })
}

fn steps(mut value: u32) -> u32 {
    let mut n = 0;
    while value != 1 && n < MOST {
        value = if value.is_multiple_of(2) { value / 2 } else { value.wrapping_mul(3).wrapping_add(1) };
        n += 1;
    }
    n
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

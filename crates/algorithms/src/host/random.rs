//! Host functions for the verbs of random numbers.

use crate::distribution::{Distribution, numbers};
use crate::random::Philox;
use crate::reducible::Reducible;
use fencepost_core::Result;

/// Fills a list with the numbers of a random sequence.
///
/// # Errors
/// Returns an error if a value of the distribution is out of range.
///
/// # Example
/// ```
/// use fencepost::algorithms::{Philox, Whole, host};
/// let (mut whole, mut rest) = ([0_i32; 10], [0; 4]);
/// let dice = Whole { low: 1, high: 7 };
/// host::fill_random(&mut whole, Philox::seed(7), dice)?;
/// host::fill_random(&mut rest, Philox::seed(7).position(6), dice)?;
/// assert_eq!(whole[6..], rest);
/// # Ok::<(), fencepost::Error>(())
/// ```
pub fn fill_random<T: Reducible>(
    out: &mut [T],
    generator: Philox,
    distribution: impl Distribution<T>,
) -> Result<()> {
    let numbers = numbers(generator, distribution)?;
    out.iter_mut().zip(numbers).for_each(|(out, number)| *out = number);
    Ok(())
}

/// Returns the numbers from 0 to n - 1 in a random order.
///
/// # Example
/// ```
/// use fencepost::algorithms::{Philox, host};
/// let mut order = host::random_permutation(5, Philox::seed(7));
/// order.sort();
/// assert_eq!(order, [0, 1, 2, 3, 4]);
/// ```
pub fn random_permutation(n: u32, generator: Philox) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    for generator in generator.twice(n as usize) {
        let mut pairs: Vec<(u32, u32)> = generator.words().zip(order).collect();
        pairs.sort_by_key(|&(word, _)| word);
        order = pairs.into_iter().map(|(_, number)| number).collect();
    }
    order
}

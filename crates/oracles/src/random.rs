//! Host functions for the verbs of random numbers.

use fencepost_algorithms::for_oracles::{numbers, words_of_permutation};
use fencepost_algorithms::{Distribution, Philox, Reducible};
use fencepost_core::Result;

/// Fills a list with the numbers of a random sequence.
///
/// # Errors
/// Returns an error if a value of the distribution is out of range.
///
/// # Example
/// ```
/// use fencepost_algorithms::{Philox, Whole};
/// use fencepost_oracles as host;
/// let (mut whole, mut rest) = ([0_i32; 10], [0; 4]);
/// let dice = Whole { low: 1, high: 7 };
/// host::fill_random(&mut whole, Philox::seed(7), dice)?;
/// host::fill_random(&mut rest, Philox::seed(7).position(6), dice)?;
/// assert_eq!(whole[6..], rest);
/// # Ok::<(), fencepost_core::Error>(())
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
/// use fencepost_algorithms::Philox;
/// use fencepost_oracles as host;
/// let mut order = host::random_permutation(5, Philox::seed(7));
/// order.sort();
/// assert_eq!(order, [0, 1, 2, 3, 4]);
/// ```
pub fn random_permutation(n: u32, generator: Philox) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    for words in words_of_permutation(generator, n as usize) {
        let mut pairs: Vec<(u32, u32)> = words.zip(order).collect();
        pairs.sort_by_key(|&(word, _)| word);
        order = pairs.into_iter().map(|(_, number)| number).collect();
    }
    order
}

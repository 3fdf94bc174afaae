//! Functions of 32-bit numbers for several invocations at once.

pub(crate) mod functions;
mod lanes;

use super::curves::each as curves;
use bytemuck::{cast_slice, cast_slice_mut};

/// Function of words and of the number of lanes.
pub(crate) type OfWords = fn(&mut [u32], usize);

/// A function for the lanes of several invocations.
///
/// The words contain the components of the arguments: the first component of the first argument in all lanes, then the
/// next component. The components of the result replace them in the same order.
#[derive(Clone, Copy)]
pub(crate) enum Each {
    /// Function of one number.
    One(curves::One),
    /// Function of two numbers.
    Two(curves::Two),
    Words(OfWords),
}

impl Each {
    /// Computes the function. `words` has room for the arguments and for the result.
    pub(crate) fn run(self, words: &mut [u32], lanes: usize) {
        match self {
            Self::One(function) => function(cast_slice_mut(words)),
            Self::Two(function) => {
                let (first, second) = words.split_at_mut(words.len() / 2);
                function(cast_slice_mut(first), cast_slice(second));
            }
            Self::Words(function) => function(words, lanes),
        }
    }
}

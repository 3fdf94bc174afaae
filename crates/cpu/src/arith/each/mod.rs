//! Functions of 32-bit numbers for several invocations at once.

mod functions;
mod lanes;

use super::curves;
use bytemuck::{cast_slice, cast_slice_mut};
use functions::of_words;
use naga::{MathFunction as Fun, ScalarKind};

/// Function that gets the words and the number of lanes.
type Words = fn(&mut [u32], usize);

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
    Words(Words),
}

impl Each {
    /// Returns the implementation of a function whose first argument has components of this kind, if there is one.
    pub(crate) fn of(fun: Fun, kind: ScalarKind) -> Option<Self> {
        let curve = curves::of_one(fun).map(Self::One).or_else(|| curves::of_two(fun).map(Self::Two));
        curve.or_else(|| of_words(fun, kind).map(Self::Words))
    }

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

//! The distributions of random numbers, and their computation on the host.

use crate::random::Philox;
use crate::reducible::Reducible;
use fencepost_core::{ErrorDetail, Result};

/// Distribution of random numbers of a type, for [`fill_random`](crate::Algorithms::fill_random).
///
/// These types implement it: [`Words`], [`Uniform`], [`Whole`], [`Choice`], [`Normal`] and [`Exponential`].
pub trait Distribution<T: Reducible>: sealed::Draw<T> + Copy {}

/// Uniform over all words: each value of `u32` or `i32` is equally probable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Words;

/// Uniform over floats from `low` up to, but not including, `high`, in steps of 2^-24 of the distance.
///
/// From 0 to 1, the floats are multiples of 2^-24, and the same on each device. With other limits, a float may be
/// rounded to `high`.
///
/// # Accuracy
/// If the limits are not 0 and 1, the error is at most 3 `u` times `|low| + |high - low|`, where `u` is 2^-24. A device
/// may treat numbers below 2^-126 as 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uniform {
    /// Lower limit.
    pub low: f32,
    /// Upper limit, at least `low`.
    pub high: f32,
}

/// Uniform over the integers from `low` up to, but not including, `high`.
///
/// # Algorithm
/// Lemire: *Fast Random Integer Generation in an Interval* (2019), with 64 random bits and no rejection.
///
/// # Accuracy
/// The probabilities of the integers differ by less than a relative 2^-32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole<T> {
    /// Smallest number.
    pub low: T,
    /// One more than the largest number; above `low`.
    pub high: T,
}

/// A mask: 1 with the given probability, else 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Probability of 1, from 0 to 1. It is rounded down to a multiple of 2^-32.
    pub probability: f64,
}

/// Normal distribution.
///
/// # Algorithm
/// Box and Muller: *A Note on the Generation of Random Normal Deviates* (1958). Numbers `2 k` and `2 k + 1` share two
/// words.
///
/// # Accuracy
/// The error of a number is at most `|deviation|` * 2^-18 + `|mean|` * 2^-23, and no number is farther from the mean
/// than 6.67 deviations. A device may treat numbers below 2^-126 as 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normal {
    /// Mean.
    pub mean: f32,
    /// Standard deviation, at least 0.
    pub deviation: f32,
}

/// Exponential distribution.
///
/// # Accuracy
/// The error of a number `x` is at most `x` * 2^-20 + 2^-22 / `rate`, and no number is above 22.2 / `rate`. A device
/// may treat numbers below 2^-126 as 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    /// Rate, above 0: the reciprocal of the mean.
    pub rate: f32,
}

/// Upper bound of the numbers of an exponential distribution, as a multiple of the mean.
const MOST_MEANS: f32 = 23.0;
/// Upper bound of the distance of a normal number from the mean, as a multiple of the deviation.
const MOST_DEVIATIONS: f32 = 7.0;

/// A distribution, as arguments of the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Drawing {
    pub(crate) kind: u32,
    pub(crate) numbers_of_a_block: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
}

pub(crate) mod sealed {
    use super::*;

    pub trait Draw<T: Reducible> {
        /// Returns the arguments of the kernel, or an error if a value is out of range.
        fn drawing(&self) -> Result<Drawing>;

        /// Returns the numbers that are made of a block of random words.
        fn numbers(&self, words: [u32; 4]) -> [T; 4];
    }
}

/// Returns the numbers of a distribution from a position on.
pub fn numbers<T: Reducible>(
    generator: Philox,
    distribution: impl Distribution<T>,
) -> Result<impl Iterator<Item = T>> {
    let count = u64::from(distribution.drawing()?.numbers_of_a_block);
    let first = generator.position / count;
    let blocks = (0..).map(move |at| distribution.numbers(generator.block(first.wrapping_add(at))));
    let all = blocks.flat_map(move |numbers| numbers.into_iter().take(count as usize));
    Ok(all.skip((generator.position % count) as usize))
}

/// Returns the error for a value of a distribution. `name` has a form such as `` `high` of `Uniform` ``.
fn refused(name: &str, found: String, needed: &'static str) -> Result<Drawing> {
    Err(ErrorDetail::Value { object: format!("{name} in `fill_random`"), found, needed }.into())
}

macro_rules! words {
    ($host:ty) => {
        impl Distribution<$host> for Words {}

        impl sealed::Draw<$host> for Words {
            fn drawing(&self) -> Result<Drawing> {
                Ok(Drawing { kind: 0, numbers_of_a_block: 4, a: 0, b: 0 })
            }

            fn numbers(&self, words: [u32; 4]) -> [$host; 4] {
                words.map(|word| word as $host)
            }
        }

        impl Distribution<$host> for Whole<$host> {}

        impl sealed::Draw<$host> for Whole<$host> {
            fn drawing(&self) -> Result<Drawing> {
                if self.low >= self.high {
                    let found = format!("{}, and `low` is {}", self.high, self.low);
                    return refused("`high` of `Whole`", found, "a number above `low`");
                }
                let b = self.high.wrapping_sub(self.low) as u32;
                Ok(Drawing { kind: 2, numbers_of_a_block: 2, a: self.low as u32, b })
            }

            fn numbers(&self, [a, b, c, d]: [u32; 4]) -> [$host; 4] {
                let range = u128::from(self.high.wrapping_sub(self.low) as u32);
                let number = |low: u32, high: u32| {
                    let random = u128::from(high) << 32 | u128::from(low);
                    self.low.wrapping_add((random * range >> 64) as $host)
                };
                [number(a, b), number(c, d), self.low, self.low]
            }
        }

        impl Distribution<$host> for Choice {}

        impl sealed::Draw<$host> for Choice {
            fn drawing(&self) -> Result<Drawing> {
                if !(0.0..=1.0).contains(&self.probability) {
                    let found = self.probability.to_string();
                    return refused("`probability` of `Choice`", found, "a number from 0 to 1");
                }
                let always = u32::from(self.probability == 1.0);
                let a = (self.probability * 4_294_967_296.0) as u32;
                Ok(Drawing { kind: 3, numbers_of_a_block: 4, a, b: always })
            }

            fn numbers(&self, words: [u32; 4]) -> [$host; 4] {
                let below = (self.probability * 4_294_967_296.0) as u64;
                words.map(|word| <$host>::from(u64::from(word) < below))
            }
        }
    };
}

words!(u32);
words!(i32);

impl Distribution<f32> for Uniform {}

impl sealed::Draw<f32> for Uniform {
    fn drawing(&self) -> Result<Drawing> {
        let low = self.low;
        let distance = self.high - self.low;
        if !low.is_finite() {
            return refused("`low` of `Uniform`", format!("{low:?}"), "a finite number");
        }
        if !(self.low <= self.high && distance.is_finite()) {
            let found = format!("{:?}, and `low` is {:?}", self.high, self.low);
            let needed = "a number of at least `low`, at a finite distance from it,";
            return refused("`high` of `Uniform`", found, needed);
        }
        Ok(Drawing { kind: 1, numbers_of_a_block: 4, a: self.low.to_bits(), b: distance.to_bits() })
    }

    fn numbers(&self, words: [u32; 4]) -> [f32; 4] {
        let unit = |word: u32| (word >> 8) as f32 / 16_777_216.0;
        words.map(|word| self.low + (self.high - self.low) * unit(word))
    }
}

impl Distribution<f32> for Normal {}

impl sealed::Draw<f32> for Normal {
    fn drawing(&self) -> Result<Drawing> {
        if !self.mean.is_finite() {
            return refused("`mean` of `Normal`", format!("{:?}", self.mean), "a finite number");
        }
        let farthest = self.mean.abs() + MOST_DEVIATIONS * self.deviation;
        if !(farthest.is_finite() && self.deviation >= 0.0) {
            let found = format!("{:?}, and `mean` is {:?}", self.deviation, self.mean);
            let needed =
                "a number of at least 0, of which seven are a finite distance from `mean` and from 0,";
            return refused("`deviation` of `Normal`", found, needed);
        }
        Ok(Drawing { kind: 4, numbers_of_a_block: 4, a: self.mean.to_bits(), b: self.deviation.to_bits() })
    }

    fn numbers(&self, [a, b, c, d]: [u32; 4]) -> [f32; 4] {
        let pair = |first: u32, second: u32| {
            let radius = (2.0 * minus_log(first)).sqrt();
            let angle = std::f64::consts::TAU * f64::from(second) / 4_294_967_296.0;
            [angle.cos(), angle.sin()]
                .map(|part| (f64::from(self.mean) + f64::from(self.deviation) * radius * part) as f32)
        };
        let ([a, b], [c, d]) = (pair(a, b), pair(c, d));
        [a, b, c, d]
    }
}

impl Distribution<f32> for Exponential {}

impl sealed::Draw<f32> for Exponential {
    fn drawing(&self) -> Result<Drawing> {
        let mean = 1.0 / self.rate;
        if !(self.rate > 0.0 && mean.is_normal() && (MOST_MEANS * mean).is_finite()) {
            let found = format!("{:?}", self.rate);
            return refused("`rate` of `Exponential`", found, "a number from 1e-37 to 8e37");
        }
        Ok(Drawing { kind: 5, numbers_of_a_block: 4, a: 0, b: mean.to_bits() })
    }

    fn numbers(&self, words: [u32; 4]) -> [f32; 4] {
        words.map(|word| (minus_log(word) / f64::from(self.rate)) as f32)
    }
}

/// Returns `-ln(max(word, 1) / 2^32)`, computed from the first 24 significant bits of the word.
fn minus_log(word: u32) -> f64 {
    let odd = word.max(1);
    let kept = odd & (u32::MAX << 8 >> odd.leading_zeros().min(8));
    -(f64::from(kept) / 4_294_967_296.0).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: usize = 200_000;

    fn drawn<T: Reducible>(stream: u64, distribution: impl Distribution<T>) -> Vec<T> {
        numbers(Philox::seed(2026).stream(stream), distribution).expect("it is valid").take(COUNT).collect()
    }

    /// Fails if the mean of `f` is more than five standard errors from the expected mean.
    fn mean_is(x: &[f32], f: impl Fn(f64) -> f64, expected: f64, variance: f64) {
        let mean = x.iter().map(|&x| f(f64::from(x))).sum::<f64>() / x.len() as f64;
        let error = (variance / x.len() as f64).sqrt();
        assert!((mean - expected).abs() <= 5.0 * error, "{mean}, expected {expected} +- {error}");
    }

    #[test]
    fn floats_have_the_moments_of_their_distributions() {
        let uniform = drawn(0, Uniform { low: 0.0, high: 1.0 });
        mean_is(&uniform, |x| x, 0.5, 1.0 / 12.0);
        mean_is(&uniform, |x| x * x, 1.0 / 3.0, 4.0 / 45.0);
        let normal = drawn(1, Normal { mean: 0.0, deviation: 1.0 });
        mean_is(&normal, |x| x, 0.0, 1.0);
        mean_is(&normal, |x| x * x, 1.0, 2.0);
        mean_is(&normal, |x| x.powi(3), 0.0, 15.0);
        mean_is(&normal, |x| x.powi(4), 3.0, 96.0);
        let exponential = drawn(2, Exponential { rate: 1.0 });
        mean_is(&exponential, |x| x, 1.0, 1.0);
        mean_is(&exponential, |x| x * x, 2.0, 20.0);
    }

    #[test]
    fn shares_of_normal_numbers_are_those_of_the_distribution() {
        let normal = drawn(3, Normal { mean: 5.0, deviation: 2.0 });
        for (deviations, share) in [(1.0, 0.682_689), (2.0, 0.954_500), (3.0, 0.997_300)] {
            let within = |x: f64| f64::from(u8::from((x - 5.0).abs() < 2.0 * deviations));
            mean_is(&normal, within, share, share * (1.0 - share));
        }
    }

    #[test]
    fn neighbours_and_streams_are_not_correlated() {
        let normal = |stream| drawn(stream, Normal { mean: 0.0, deviation: 1.0 });
        let first = normal(4);
        let second = normal(5);
        let products = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).collect::<Vec<_>>();
        for other in [&first[1..], &first[2..], &first[3..], &second, &second[1..]] {
            mean_is(&products(&first, other), |x| x, 0.0, 1.0);
        }
    }

    #[test]
    fn whole_numbers_and_choices_have_their_probabilities() {
        let dice = drawn(6, Whole { low: -1, high: 5 });
        for face in -1..5 {
            let share = |x: f64| f64::from(u8::from(x == f64::from(face)));
            let faces: Vec<f32> = dice.iter().map(|&face| face as f32).collect();
            mean_is(&faces, share, 1.0 / 6.0, 5.0 / 36.0);
        }
        let choices: Vec<f32> =
            drawn::<u32>(7, Choice { probability: 0.3 }).into_iter().map(|x| x as f32).collect();
        mean_is(&choices, |x| x, 0.3, 0.21);
        assert!(drawn::<u32>(8, Choice { probability: 1.0 }).iter().all(|&x| x == 1));
    }
}

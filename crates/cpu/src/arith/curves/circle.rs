//! Sine, cosine and tangent.
//!
//! A multiple of pi is subtracted from the angle in three parts. The first two parts of pi have 32 bits, so that their
//! products with a number of less than 2^21 are exact.

use super::polynomial::{ROUND, one_plus};
use std::f64::consts::{FRAC_1_PI, FRAC_2_PI, FRAC_PI_2};

/// Largest angle that the functions here accept.
pub(super) const LARGEST: f32 = 2_097_152.0; // 2^21

/// Three numbers whose sum is pi.
const PI: [f64; 3] = [3.141_592_653_468_251_2, 1.215_420_101_260_793_2e-10, 4.044_532_497_591_901e-21];

/// Coefficients of `p` in `sin(r) = r * (1 + r^2 * p(r^2))` from -pi/2 to pi/2, with a relative error of at most
/// 1.6e-16.
const SINE: [f64; 7] = [
    -0.166_666_666_666_661_86,
    0.008_333_333_333_285_472,
    -0.000_198_412_698_250_366_5,
    2.755_731_659_801_708e-6,
    -2.505_188_010_879_421_5e-8,
    1.604_809_014_062_344e-10,
    -7.373_279_116_117_313e-13,
];

/// Returns the sine of an angle from -pi/2 to pi/2.
#[inline(always)]
fn sine(r: f64) -> f64 {
    r * one_plus(r * r, &SINE)
}

/// Returns `x - turns * half * pi`, where `half` is a power of two.
#[inline(always)]
fn rest(x: f64, turns: f64, half: f64) -> f64 {
    x - turns * (half * PI[0]) - turns * (half * PI[1]) - turns * (half * PI[2])
}

/// Flips the sign of a number if the lowest of the given bits is set.
#[inline(always)]
fn flip(x: f64, bits: u64) -> f64 {
    f64::from_bits(x.to_bits() ^ bits << 63)
}

#[inline(always)]
pub(super) fn sin(x: f64) -> f64 {
    let sum = x * FRAC_1_PI + ROUND;
    let r = rest(x, sum - ROUND, 1.0);
    flip(sine(r), sum.to_bits())
}

#[inline(always)]
pub(super) fn cos(x: f64) -> f64 {
    let sum = (x * FRAC_1_PI - 0.5) + ROUND;
    let r = rest(x, (sum - ROUND) + 0.5, 1.0);
    flip(sine(r), !sum.to_bits())
}

/// Returns the sine divided by the cosine of an angle from -pi/4 to pi/4, or the negative reciprocal of that.
#[inline(always)]
pub(super) fn tan(x: f64) -> f64 {
    let sum = x * FRAC_2_PI + ROUND;
    let r = rest(x, sum - ROUND, 0.5);
    let cosine = sine(FRAC_PI_2 - r.abs());
    let sine = sine(r);
    let is_odd = flip(1.0, sum.to_bits()) < 0.0;
    let over = if is_odd { -cosine } else { sine };
    let under = if is_odd { sine } else { cosine };
    over / under
}

//! The exponential functions and the hyperbolic ones.

use super::polynomial::{ROUND, limit, one_plus};
use std::f64::consts::{LN_2, LOG2_E};

/// Two numbers whose sum is ln 2. The first one has 40 bits, so that its product with an exponent is exact.
const LN_2_PARTS: [f64; 2] = [0.693_147_180_559_208_2, 7.371_002_565_167_799e-13];

/// Coefficients of `p` in `cosh(r) = 1 + r^2 * p(r^2)` up to half of ln 2, with a relative error of at most 1.5e-14.
const EVEN: [f64; 4] = [
    0.499_999_999_996_056_65,
    0.041_666_666_987_732_22,
    0.001_388_880_780_486_195_3,
    2.488_217_044_617_471_5e-5,
];

/// Coefficients of `p` in `sinh(r) = r * (1 + r^2 * p(r^2))` up to half of ln 2, with a relative error of at most
/// 1.4e-15.
const ODD: [f64; 4] = [
    0.166_666_666_666_303_92,
    0.008_333_333_362_734_393,
    0.000_198_411_958_295_920_9,
    2.763_069_939_216_213e-6,
];

/// Returns the hyperbolic cosine and sine of a number from -ln 2 / 2 to ln 2 / 2.
#[inline(always)]
fn parts(r: f64) -> (f64, f64) {
    let square = r * r;
    (one_plus(square, &EVEN), r * one_plus(square, &ODD))
}

/// Returns 2 to the power of an integer, which is in the low bits of a sum with [`ROUND`].
#[inline(always)]
fn power(sum: f64) -> f64 {
    f64::from_bits((sum.to_bits() << 52).wrapping_add(1023 << 52))
}

/// Splits a power of e into a power of 2, and the hyperbolic cosine and sine of the remaining exponent.
#[inline(always)]
fn divide(x: f64) -> (f64, f64, f64) {
    let sum = x * LOG2_E + ROUND;
    let turns = sum - ROUND;
    let (even, odd) = parts(x - turns * LN_2_PARTS[0] - turns * LN_2_PARTS[1]);
    (power(sum), even, odd)
}

#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    // The results at the ends of the range become 0 and infinity in `f32`.
    let (power, even, odd) = divide(limit(x, -105.0, 90.0));
    power * (even + odd)
}

#[inline(always)]
pub(super) fn exp2(x: f64) -> f64 {
    let x = limit(x, -151.0, 129.0);
    let sum = x + ROUND;
    let (even, odd) = parts((x - (sum - ROUND)) * LN_2);
    power(sum) * (even + odd)
}

/// Returns the hyperbolic cosine and sine of a number's absolute value.
#[inline(always)]
fn hyperbolic(x: f64, largest: f64) -> (f64, f64) {
    let (power, even, odd) = divide(limit(x.abs(), 0.0, largest));
    // A power of 2 that is at least 1 has an exact reciprocal.
    let reciprocal = f64::from_bits((2046_u64 << 52).wrapping_sub(power.to_bits()));
    let half_sum = 0.5 * (power + reciprocal);
    let half_difference = 0.5 * (power - reciprocal);
    (even * half_sum + odd * half_difference, even * half_difference + odd * half_sum)
}

#[inline(always)]
pub(super) fn cosh(x: f64) -> f64 {
    hyperbolic(x, 91.0).0
}

#[inline(always)]
pub(super) fn sinh(x: f64) -> f64 {
    hyperbolic(x, 91.0).1.copysign(x)
}

#[inline(always)]
pub(super) fn tanh(x: f64) -> f64 {
    // The hyperbolic tangent of 20 is 1 in `f32`.
    let (cosine, sine) = hyperbolic(x, 20.0);
    (sine / cosine).copysign(x)
}

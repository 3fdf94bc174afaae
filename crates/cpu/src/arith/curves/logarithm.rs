//! The logarithms, the inverse hyperbolic functions, and the power.

use super::exponential;
use super::polynomial::{ROUND, limit, one_plus};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E};

/// Coefficients of `p` in `2 * atanh(s) = 2 * s * (1 + s^2 * p(s^2))` up to `3 - 2 * sqrt(2)`, with a relative error of
/// at most 1.9e-16.
const AREA_TANGENT: [f64; 6] = [
    0.333_333_333_332_936_9,
    0.200_000_000_261_005_9,
    0.142_857_085_698_823_05,
    0.111_116_855_460_412_36,
    0.090_618_290_779_090_74,
    0.084_098_367_303_001_57,
];

/// Returns the exponent of a positive number, and the natural logarithm of its mantissa, which is between sqrt(1/2) and
/// sqrt(2). `above` is the number minus 1.
#[inline(always)]
fn divide(x: f64, above: f64) -> (f64, f64) {
    const ONE: u64 = 1_f64.to_bits();
    const EXPONENT: u64 = 0x7ff << 52;
    let field = x.to_bits().wrapping_sub(FRAC_1_SQRT_2.to_bits()).wrapping_add(ONE) & EXPONENT;
    let rest = f64::from_bits(x.to_bits().wrapping_sub(field).wrapping_add(ONE));
    // The exponent becomes the low bits of a number of at least 2^52.
    const SHIFT: f64 = 4_503_599_627_370_496.0;
    let exponent = f64::from_bits(field >> 52 | SHIFT.to_bits()) - (SHIFT + 1023.0);
    let above = if exponent == 0.0 { above } else { rest - 1.0 };
    let s = above / (2.0 + above);
    (exponent, 2.0 * s * one_plus(s * s, &AREA_TANGENT))
}

/// Returns `logarithm`, or the special result if the number is zero, negative, infinite or NaN.
#[inline(always)]
fn whole(x: f64, logarithm: f64) -> f64 {
    let outside = if x == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
    let logarithm = if x == f64::INFINITY { x } else { logarithm };
    if x > 0.0 { logarithm } else { outside }
}

#[inline(always)]
pub(super) fn log(x: f64) -> f64 {
    let (exponent, rest) = divide(x, x - 1.0);
    whole(x, exponent * LN_2 + rest)
}

#[inline(always)]
pub(super) fn log2(x: f64) -> f64 {
    let (exponent, rest) = divide(x, x - 1.0);
    whole(x, exponent + rest * LOG2_E)
}

/// Returns the logarithm of `1 + above`.
#[inline(always)]
fn log_above(above: f64) -> f64 {
    let x = 1.0 + above;
    let (exponent, rest) = divide(x, above);
    whole(x, exponent * LN_2 + rest)
}

#[inline(always)]
pub(super) fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let square = a * a;
    let above = a + square / (1.0 + (1.0 + square).sqrt());
    log_above(if a == f64::INFINITY { a } else { above }).copysign(x)
}

#[inline(always)]
pub(super) fn acosh(x: f64) -> f64 {
    let above = x - 1.0;
    let sum = above + (above * (above + 2.0)).sqrt();
    log_above(if x < 1.0 { f64::NAN } else { sum })
}

#[inline(always)]
pub(super) fn atanh(x: f64) -> f64 {
    let a = x.abs();
    (0.5 * log_above(2.0 * a / (1.0 - a))).copysign(x)
}

#[inline(always)]
pub(super) fn pow(x: f64, y: f64) -> f64 {
    // An infinite exponent becomes an even number large enough to overflow every `f32`.
    let limited = limit(y, -1_099_511_627_776.0, 1_099_511_627_776.0);
    let a = x.abs();
    let power = exponential::exp2(limited * log2(a));
    let sum = limited + ROUND;
    let is_integer = sum - ROUND == limited;
    let sign = if 1_f64.copysign(x) < 0.0 && is_integer { sum.to_bits() << 63 } else { 0 };
    let power = f64::from_bits(power.to_bits() ^ sign);
    let power = if x < 0.0 && !is_integer && a < f64::INFINITY { f64::NAN } else { power };
    if x == 1.0 || y == 0.0 { 1.0 } else { power }
}

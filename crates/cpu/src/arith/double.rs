//! The functions of WGSL on one or two `f64`.
//!
//! The functions without an exact result come from `libm`, so that every host computes the same bits.

pub(crate) use libm::{
    acos, asin, asinh, atan, atan2, atanh, cos, cosh, exp, exp2, fma, log, log2, pow, sin, sinh, tan, tanh,
};

/// Returns the nonnegative number whose hyperbolic cosine is `x`. It is NaN below 1.
pub(crate) fn acosh(x: f64) -> f64 {
    // For large negative arguments, `libm` returns numbers instead of NaN.
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// Returns the least integer that is at least `x`.
pub(crate) fn ceil(x: f64) -> f64 {
    x.ceil()
}

/// Returns the greatest integer that is at most `x`.
pub(crate) fn floor(x: f64) -> f64 {
    x.floor()
}

/// Returns the nearest integer, ties to even.
pub(crate) fn round(x: f64) -> f64 {
    x.round_ties_even()
}

/// Returns the number without its fraction.
pub(crate) fn trunc(x: f64) -> f64 {
    x.trunc()
}

/// Returns the square root.
pub(crate) fn sqrt(x: f64) -> f64 {
    x.sqrt()
}

/// Returns the reciprocal of the square root.
pub(crate) fn inverse_sqrt(x: f64) -> f64 {
    1.0 / x.sqrt()
}

/// Returns `x` times a power of two.
pub(crate) fn ldexp(x: f64, exponent: i32) -> f64 {
    libm::ldexp(x, exponent)
}

/// Splits `x` into a fraction from 0.5 to 1 and an exponent: `x` is the fraction times 2 to the exponent. Zeros,
/// infinities and NaN have the exponent 0 and are their own fraction.
pub(crate) fn frexp(x: f64) -> (f64, i32) {
    libm::frexp(x)
}

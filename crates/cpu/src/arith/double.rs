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

/// Returns `x` times a power of two.
pub(crate) fn ldexp(x: f64, exponent: i32) -> f64 {
    libm::ldexp(x, exponent)
}

/// Splits `x` into a fraction from 0.5 to 1 and an exponent: `x` is the fraction times 2 to the exponent. Zeros,
/// infinities and NaN have the exponent 0 and are their own fraction.
pub(crate) fn frexp(x: f64) -> (f64, i32) {
    libm::frexp(x)
}

//! The functions of WGSL on one or two `f32`.
//!
//! The functions without an exact result compute with `f64` and round once. That is within all of WGSL's bounds, and every
//! host computes the same bits.

use super::double;

macro_rules! rounded {
    ($($(#[$doc:meta])* $name:ident($($x:ident),+);)+) => { $(
        $(#[$doc])*
        pub(crate) fn $name($($x: f32),+) -> f32 {
            double::$name($(f64::from($x)),+) as f32
        }
    )+ };
}

rounded! {
    /// Returns the angle from 0 to pi with a cosine. It is NaN outside -1 to 1.
    acos(x);
    /// Returns the number, not negative, with a hyperbolic cosine. It is NaN below 1.
    acosh(x);
    /// Returns the angle from -pi/2 to pi/2 with a sine. It is NaN outside -1 to 1.
    asin(x);
    /// Returns the number with a hyperbolic sine.
    asinh(x);
    /// Returns the angle from -pi/2 to pi/2 with a tangent.
    atan(x);
    /// Returns the angle of the point (`x`, `y`), from -pi to pi.
    atan2(y, x);
    /// Returns the number with a hyperbolic tangent. It is NaN outside -1 to 1.
    atanh(x);
    /// Returns the cosine.
    cos(x);
    /// Returns the hyperbolic cosine.
    cosh(x);
    /// Returns e to a power.
    exp(x);
    /// Returns 2 to a power.
    exp2(x);
    /// Returns the reciprocal of the square root.
    inverse_sqrt(x);
    /// Returns the natural logarithm. It is NaN below 0.
    log(x);
    /// Returns the logarithm to base 2. It is NaN below 0.
    log2(x);
    /// Returns `x` to the power `y`. It is NaN if `x` is less than 0 and `y` is no integer.
    pow(x, y);
    /// Returns the sine.
    sin(x);
    /// Returns the hyperbolic sine.
    sinh(x);
    /// Returns the tangent.
    tan(x);
    /// Returns the hyperbolic tangent.
    tanh(x);
}

/// Returns the least integer that is not less.
pub(crate) fn ceil(x: f32) -> f32 {
    x.ceil()
}

/// Returns the greatest integer that is not greater.
pub(crate) fn floor(x: f32) -> f32 {
    x.floor()
}

/// Returns the nearest integer, and the even one of two.
pub(crate) fn round(x: f32) -> f32 {
    x.round_ties_even()
}

/// Returns the number without its fraction.
pub(crate) fn trunc(x: f32) -> f32 {
    x.trunc()
}

/// Returns the square root.
pub(crate) fn sqrt(x: f32) -> f32 {
    x.sqrt()
}

/// Returns `x * y + z` with one rounding.
pub(crate) fn fma(x: f32, y: f32, z: f32) -> f32 {
    libm::fmaf(x, y, z)
}

/// Returns `x` times a power of two.
pub(crate) fn ldexp(x: f32, exponent: i32) -> f32 {
    double::ldexp(f64::from(x), exponent) as f32
}

/// Returns a fraction from 0.5 to 1 and the exponent of the power of two that makes it `x`. Zeros, infinities and NaN have
/// the exponent 0 and are their own fraction.
pub(crate) fn frexp(x: f32) -> (f32, i32) {
    let (fraction, exponent) = double::frexp(f64::from(x));
    (fraction as f32, exponent)
}

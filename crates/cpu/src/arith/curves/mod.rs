//! `f32` functions without an exact result, such as `sin`.
//!
//! A function computes with `f64` and rounds once. It has no branches or tables, so that the compiler vectorises it.
//! The polynomials are minimax approximations of the relative error, found with the Remez algorithm. All hosts compute
//! the same bits, because no operations are fused.

mod arc;
mod circle;
pub(crate) mod each;
mod exponential;
mod logarithm;
mod polynomial;

use super::double;
pub(crate) use polynomial::ROUND;

macro_rules! rounded {
    ($($(#[$doc:meta])* $name:ident = $module:ident($($x:ident),+);)+) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name($($x: f32),+) -> f32 {
            $module::$name($(f64::from($x)),+) as f32
        }
    )+ };
}

rounded! {
    /// Returns the angle from 0 to pi whose cosine is `x`. It is NaN outside -1 to 1.
    acos = arc(x);
    /// Returns the nonnegative number whose hyperbolic cosine is `x`. It is NaN below 1.
    acosh = logarithm(x);
    /// Returns the angle from -pi/2 to pi/2 whose sine is `x`. It is NaN outside -1 to 1.
    asin = arc(x);
    /// Returns the number whose hyperbolic sine is `x`.
    asinh = logarithm(x);
    /// Returns the angle from -pi/2 to pi/2 whose tangent is `x`.
    atan = arc(x);
    /// Returns the angle of the point (`x`, `y`), from -pi to pi.
    atan2 = arc(y, x);
    /// Returns the number whose hyperbolic tangent is `x`. It is NaN outside -1 to 1.
    atanh = logarithm(x);
    /// Returns the hyperbolic cosine.
    cosh = exponential(x);
    /// Returns e to the power `x`.
    exp = exponential(x);
    /// Returns 2 to the power `x`.
    exp2 = exponential(x);
    /// Returns the natural logarithm. It is NaN below 0.
    log = logarithm(x);
    /// Returns the logarithm to base 2. It is NaN below 0.
    log2 = logarithm(x);
    /// Returns `x` to the power `y`. It is NaN if `x` is less than 0 and `y` is not an integer.
    pow = logarithm(x, y);
    /// Returns the hyperbolic sine.
    sinh = exponential(x);
    /// Returns the hyperbolic tangent.
    tanh = exponential(x);
}

macro_rules! of_angles {
    ($($(#[$doc:meta])* $name:ident;)+) => { $(
        $(#[$doc])*
        pub(crate) fn $name(x: f32) -> f32 {
            let is_far = x.abs() > circle::LARGEST;
            if is_far { double::$name(x.into()) as f32 } else { circle::$name(x.into()) as f32 }
        }
    )+ };
}

of_angles! {
    /// Returns the cosine.
    cos;
    /// Returns the sine.
    sin;
    /// Returns the tangent.
    tan;
}

//! The functions of numbers that WGSL defines by a formula of arithmetic.
//!
//! They execute the formula step by step in the type of the arguments. Compiled code that does the same gets the same bits.

use super::real::Real;

/// Returns `b` if it is less than `a`, and `a` otherwise. If one is NaN, it returns the other one.
pub(crate) fn min<R: Real>(a: R, b: R) -> R {
    if b < a || is_nan(a) { b } else { a }
}

/// Returns `b` if it is greater than `a`, and `a` otherwise. If one is NaN, it returns the other one.
pub(crate) fn max<R: Real>(a: R, b: R) -> R {
    if b > a || is_nan(a) { b } else { a }
}

/// Returns `min(max(x, low), high)`. A NaN becomes `low`.
pub(crate) fn clamp<R: Real>(x: R, low: R, high: R) -> R {
    min(max(x, low), high)
}

/// Limits a number to 0 and 1. A NaN becomes 0.
pub(crate) fn saturate<R: Real>(x: R) -> R {
    clamp(x, R::of(0.0), R::of(1.0))
}

/// Returns 1, 0 or -1, and NaN for NaN.
pub(crate) fn sign<R: Real>(x: R) -> R {
    let zero = R::of(0.0);
    match x.partial_cmp(&zero) {
        Some(order) => R::of(f64::from(order as i8)),
        None => x,
    }
}

/// Returns 1 if `edge` is at most `x`, and 0 otherwise.
pub(crate) fn step<R: Real>(edge: R, x: R) -> R {
    R::of(if edge <= x { 1.0 } else { 0.0 })
}

/// Returns `x - floor(x)`. It is 1 for some small negative numbers.
pub(crate) fn fract<R: Real>(x: R) -> R {
    x - x.floor()
}

/// Returns `x * (1 - amount) + y * amount`.
pub(crate) fn mix<R: Real>(x: R, y: R, amount: R) -> R {
    x * (R::of(1.0) - amount) + y * amount
}

/// Returns a smooth curve from 0 at `low` to 1 at `high`.
pub(crate) fn smoothstep<R: Real>(low: R, high: R, x: R) -> R {
    let t = saturate((x - low) / (high - low));
    t * t * (R::of(3.0) - R::of(2.0) * t)
}

/// Returns `x - y * trunc(x / y)`, the value of `x % y`.
pub(crate) fn remainder<R: Real>(x: R, y: R) -> R {
    x - y * (x / y).trunc()
}

/// Converts degrees to radians.
pub(crate) fn radians<R: Real>(x: R) -> R {
    x * R::of(0.017_453_292_519_943_295)
}

/// Converts radians to degrees.
pub(crate) fn degrees<R: Real>(x: R) -> R {
    x * R::of(57.295_779_513_082_32)
}

#[allow(clippy::eq_op, reason = "NaN is the number that differs from itself")]
fn is_nan<R: Real>(x: R) -> bool {
    x != x
}

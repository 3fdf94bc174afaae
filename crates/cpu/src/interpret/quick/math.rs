//! Math functions of scalars, as functions on bits.

use super::{f, i, of_f, of_i, u};
use crate::arith::{float, formula};
use crate::interpret::op::{Quick, QuickThree};
use naga::{MathFunction as Fun, Scalar};

/// Returns the quick function of a math function of one or two operands, if there is one.
pub(crate) fn math(fun: Fun, ty: Scalar) -> Option<Quick> {
    match ty {
        Scalar::F32 => of_floats(fun),
        Scalar::U32 | Scalar::I32 => of_integers(fun, ty == Scalar::I32),
        _ => None,
    }
}

/// Returns the quick function of a math function of three operands, if there is one.
pub(crate) fn math_of_three(fun: Fun, ty: Scalar) -> Option<QuickThree> {
    Some(match (fun, ty) {
        (Fun::Clamp, Scalar::F32) => |a, b, c| of_f(formula::clamp(f(a), f(b), f(c))),
        (Fun::Fma, Scalar::F32) => |a, b, c| of_f(float::fma(f(a), f(b), f(c))),
        (Fun::Mix, Scalar::F32) => |a, b, c| of_f(formula::mix(f(a), f(b), f(c))),
        (Fun::SmoothStep, Scalar::F32) => |a, b, c| of_f(formula::smoothstep(f(a), f(b), f(c))),
        (Fun::Clamp, Scalar::U32) => |a, b, c| a.max(b).min(c),
        (Fun::Clamp, Scalar::I32) => |a, b, c| of_i(i(a).max(i(b)).min(i(c))),
        _ => return None,
    })
}

fn of_floats(fun: Fun) -> Option<Quick> {
    Some(match fun {
        Fun::Abs => |a, _| a & 0x7fff_ffff,
        Fun::Floor => |a, _| of_f(f(a).floor()),
        Fun::Ceil => |a, _| of_f(f(a).ceil()),
        Fun::Trunc => |a, _| of_f(f(a).trunc()),
        Fun::Sqrt => |a, _| of_f(f(a).sqrt()),
        Fun::Round => |a, _| of_f(float::round(f(a))),
        Fun::Fract => |a, _| of_f(formula::fract(f(a))),
        Fun::Sign => |a, _| of_f(formula::sign(f(a))),
        Fun::Saturate => |a, _| of_f(formula::saturate(f(a))),
        Fun::InverseSqrt => |a, _| of_f(float::inverse_sqrt(f(a))),
        Fun::Sin => |a, _| of_f(float::sin(f(a))),
        Fun::Cos => |a, _| of_f(float::cos(f(a))),
        Fun::Tan => |a, _| of_f(float::tan(f(a))),
        Fun::Tanh => |a, _| of_f(float::tanh(f(a))),
        Fun::Exp => |a, _| of_f(float::exp(f(a))),
        Fun::Exp2 => |a, _| of_f(float::exp2(f(a))),
        Fun::Log => |a, _| of_f(float::log(f(a))),
        Fun::Log2 => |a, _| of_f(float::log2(f(a))),
        Fun::Pow => |a, b| of_f(float::pow(f(a), f(b))),
        Fun::Step => |a, b| of_f(formula::step(f(a), f(b))),
        Fun::Min => |a, b| of_f(formula::min(f(a), f(b))),
        Fun::Max => |a, b| of_f(formula::max(f(a), f(b))),
        _ => return None,
    })
}

fn of_integers(fun: Fun, signed: bool) -> Option<Quick> {
    Some(match (fun, signed) {
        (Fun::Min, false) => |a, b| a.min(b),
        (Fun::Max, false) => |a, b| a.max(b),
        (Fun::Min, true) => |a, b| of_i(i(a).min(i(b))),
        (Fun::Max, true) => |a, b| of_i(i(a).max(i(b))),
        (Fun::Abs, false) => |a, _| a,
        (Fun::Abs, true) => |a, _| of_i(i(a).wrapping_abs()),
        (Fun::CountOneBits, _) => |a, _| u64::from(u(a).count_ones()),
        _ => return None,
    })
}

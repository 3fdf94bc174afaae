//! Functions that compute each component separately.

use crate::arith::lift::Lift;
use crate::arith::{Scalar, bits, convert, double, float, formula, half};
use naga::MathFunction as Fun;

/// Calls a function on one component of each argument.
///
/// # Panics
/// Panics for types that cannot occur in a validated module, which is a bug.
pub(crate) fn component(fun: Fun, args: &[Scalar]) -> Scalar {
    let result = match (args[0], fun) {
        (Scalar::F32(x), Fun::QuantizeToF16) => Some(Scalar::F32(half::widen(half::narrow(x)))),
        (_, Fun::Ldexp) => Some(ldexp(args[0], args[1])),
        (Scalar::F32(_), _) => real(fun, args, single),
        (Scalar::F16(_) | Scalar::F64(_), _) => real(fun, args, wide),
        _ => integer(fun, args),
    };
    result.unwrap_or_else(|| unreachable!("bug: {fun:?} of {args:?}"))
}

/// Calls a function of up to three floats.
fn real<R: Lift>(fun: Fun, args: &[Scalar], call: fn(Fun, [R; 3]) -> Option<R>) -> Option<Scalar> {
    let x = [0, 1, 2].map(|i| args.get(i).map_or(R::of(0.0), |&x| R::take(x)));
    call(fun, x).map(|result| result.give(args[0]))
}

macro_rules! calls {
    ($(#[$doc:meta])* $name:ident, $ty:ident, $module:ident) => {
        $(#[$doc])*
        fn $name(fun: Fun, [x, y, z]: [$ty; 3]) -> Option<$ty> {
            Some(match fun {
                Fun::Abs => x.abs(),
                Fun::Min => formula::min(x, y),
                Fun::Max => formula::max(x, y),
                Fun::Clamp => formula::clamp(x, y, z),
                Fun::Saturate => formula::saturate(x),
                Fun::Cos => $module::cos(x),
                Fun::Cosh => $module::cosh(x),
                Fun::Sin => $module::sin(x),
                Fun::Sinh => $module::sinh(x),
                Fun::Tan => $module::tan(x),
                Fun::Tanh => $module::tanh(x),
                Fun::Acos => $module::acos(x),
                Fun::Asin => $module::asin(x),
                Fun::Atan => $module::atan(x),
                Fun::Atan2 => $module::atan2(x, y),
                Fun::Asinh => $module::asinh(x),
                Fun::Acosh => $module::acosh(x),
                Fun::Atanh => $module::atanh(x),
                Fun::Radians => formula::radians(x),
                Fun::Degrees => formula::degrees(x),
                Fun::Ceil => $module::ceil(x),
                Fun::Floor => $module::floor(x),
                Fun::Round => $module::round(x),
                Fun::Fract => formula::fract(x),
                Fun::Trunc => $module::trunc(x),
                Fun::Exp => $module::exp(x),
                Fun::Exp2 => $module::exp2(x),
                Fun::Log => $module::log(x),
                Fun::Log2 => $module::log2(x),
                Fun::Pow => $module::pow(x, y),
                Fun::Sign => formula::sign(x),
                Fun::Fma => $module::fma(x, y, z),
                Fun::Mix => formula::mix(x, y, z),
                Fun::Step => formula::step(x, y),
                Fun::SmoothStep => formula::smoothstep(x, y, z),
                Fun::Sqrt => $module::sqrt(x),
                Fun::InverseSqrt => $module::inverse_sqrt(x),
                _ => return None,
            })
        }
    };
}

calls! {
    /// Calls a function of `f32`.
    single, f32, float
}

calls! {
    /// Calls a function of `f64`.
    wide, f64, double
}

fn ldexp(x: Scalar, exponent: Scalar) -> Scalar {
    let exponent = convert::to_integer(exponent, i32::MIN.into(), i32::MAX.into()) as i32;
    match x {
        Scalar::F32(x) => Scalar::F32(float::ldexp(x, exponent)),
        _ => double::ldexp(f64::take(x), exponent).give(x),
    }
}

/// Calls a function of integers. The absolute value of the least integer is itself.
fn integer(fun: Fun, args: &[Scalar]) -> Option<Scalar> {
    let x = |index: usize| convert::to_integer(args[index], i64::MIN.into(), u64::MAX.into());
    let result = match fun {
        Fun::Abs => x(0).abs(),
        Fun::Min => x(0).min(x(1)),
        Fun::Max => x(0).max(x(1)),
        Fun::Clamp => x(0).max(x(1)).min(x(2)),
        Fun::Sign => x(0).signum(),
        _ => return bitwise(fun, args),
    };
    Some(Scalar::from_bits(args[0].ty(), result as u64))
}

fn bitwise(fun: Fun, args: &[Scalar]) -> Option<Scalar> {
    let ty = args[0].ty();
    let width = u32::from(ty.width) * 8;
    let signed = ty.kind == naga::ScalarKind::Sint;
    let x = args[0].bits();
    let amount = |index: usize| args[index].bits() as u32;
    let result = match fun {
        Fun::CountTrailingZeros => bits::count_trailing_zeros(x, width),
        Fun::CountLeadingZeros => bits::count_leading_zeros(x, width),
        Fun::CountOneBits => bits::count_one_bits(x),
        Fun::ReverseBits => bits::reverse_bits(x, width),
        Fun::ExtractBits => bits::extract_bits(x, width, signed, amount(1), amount(2)),
        Fun::InsertBits => bits::insert_bits(x, args[1].bits(), width, amount(2), amount(3)),
        Fun::FirstTrailingBit => bits::first_trailing_bit(x, width),
        Fun::FirstLeadingBit => bits::first_leading_bit(x, width, signed),
        _ => return None,
    };
    Some(Scalar::from_bits(ty, result))
}

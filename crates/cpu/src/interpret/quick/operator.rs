//! Operators and conversions, as functions on bits.

use super::{f, i, of_f, of_i, of_u, u};
use crate::arith::formula;
use crate::interpret::op::Quick;
use naga::{BinaryOperator as Op, Scalar, UnaryOperator};

/// Returns the quick function of a unary operator, if there is one.
pub(crate) fn unary(op: UnaryOperator, ty: Scalar) -> Option<Quick> {
    Some(match (op, ty) {
        (UnaryOperator::Negate, Scalar::F32) => |a, _| a ^ 1 << 31,
        (UnaryOperator::Negate, Scalar::I32) => |a, _| of_i(i(a).wrapping_neg()),
        (UnaryOperator::LogicalNot, Scalar::BOOL) => |a, _| a ^ 1,
        (UnaryOperator::BitwiseNot, Scalar::U32 | Scalar::I32) => |a, _| u64::from(!u(a)),
        _ => return None,
    })
}

/// Returns the quick function of a conversion, if there is one.
pub(crate) fn conversion(from: Scalar, to: Scalar) -> Option<Quick> {
    Some(match (from, to) {
        (Scalar::U32 | Scalar::I32, Scalar::U32 | Scalar::I32)
        | (Scalar::BOOL, Scalar::U32 | Scalar::I32) => |a, _| a,
        (Scalar::U32, Scalar::F32) => |a, _| of_f(u(a) as f32),
        (Scalar::I32, Scalar::F32) => |a, _| of_f(i(a) as f32),
        (Scalar::F32, Scalar::U32) => |a, _| u64::from((f(a) as u32).min(LAST_U32)),
        (Scalar::F32, Scalar::I32) => |a, _| of_i((f(a) as i32).min(LAST_I32)),
        _ => return None,
    })
}

/// Greatest `u32` that is an `f32`.
const LAST_U32: u32 = 0xffff_ff00;
/// Greatest `i32` that is an `f32`.
const LAST_I32: i32 = 0x7fff_ff80;

/// Returns the quick function of a binary operator, if there is one.
pub(crate) fn binary(op: Op, ty: Scalar) -> Option<Quick> {
    match ty {
        Scalar::U32 => u32_function(op),
        Scalar::I32 => i32_function(op),
        Scalar::U64 => u64_function(op),
        Scalar::I64 => i64_function(op),
        Scalar::F32 => f32_function(op),
        Scalar::F64 => f64_function(op),
        Scalar::BOOL => bool_function(op),
        _ => None,
    }
}

fn long(bits: u64) -> u64 {
    bits
}

fn signed_long(bits: u64) -> i64 {
    bits as i64
}

fn of_signed_long(value: i64) -> u64 {
    value as u64
}

fn double(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn of_double(value: f64) -> u64 {
    value.to_bits()
}

macro_rules! integer {
    ($name:ident, $from:ident, $of:ident) => {
        fn $name(op: Op) -> Option<Quick> {
            Some(match op {
                Op::Add => |a, b| $of($from(a).wrapping_add($from(b))),
                Op::Subtract => |a, b| $of($from(a).wrapping_sub($from(b))),
                Op::Multiply => |a, b| $of($from(a).wrapping_mul($from(b))),
                Op::Divide => |a, b| if b == 0 { a } else { $of($from(a).wrapping_div($from(b))) },
                Op::Modulo => |a, b| if b == 0 { 0 } else { $of($from(a).wrapping_rem($from(b))) },
                Op::Equal => |a, b| u64::from(a == b),
                Op::NotEqual => |a, b| u64::from(a != b),
                Op::Less => |a, b| u64::from($from(a) < $from(b)),
                Op::LessEqual => |a, b| u64::from($from(a) <= $from(b)),
                Op::Greater => |a, b| u64::from($from(a) > $from(b)),
                Op::GreaterEqual => |a, b| u64::from($from(a) >= $from(b)),
                Op::And => |a, b| a & b,
                Op::InclusiveOr => |a, b| a | b,
                Op::ExclusiveOr => |a, b| a ^ b,
                Op::ShiftLeft => |a, b| $of($from(a).wrapping_shl(u(b))),
                Op::ShiftRight => |a, b| $of($from(a).wrapping_shr(u(b))),
                _ => return None,
            })
        }
    };
}

integer!(u32_function, u, of_u);
integer!(i32_function, i, of_i);
integer!(u64_function, long, long);
integer!(i64_function, signed_long, of_signed_long);

macro_rules! float {
    ($name:ident, $from:ident, $of:ident) => {
        fn $name(op: Op) -> Option<Quick> {
            Some(match op {
                Op::Add => |a, b| $of($from(a) + $from(b)),
                Op::Subtract => |a, b| $of($from(a) - $from(b)),
                Op::Multiply => |a, b| $of($from(a) * $from(b)),
                Op::Divide => |a, b| $of($from(a) / $from(b)),
                Op::Modulo => |a, b| $of(formula::remainder($from(a), $from(b))),
                Op::Equal => |a, b| u64::from($from(a) == $from(b)),
                Op::NotEqual => |a, b| u64::from($from(a) != $from(b)),
                Op::Less => |a, b| u64::from($from(a) < $from(b)),
                Op::LessEqual => |a, b| u64::from($from(a) <= $from(b)),
                Op::Greater => |a, b| u64::from($from(a) > $from(b)),
                Op::GreaterEqual => |a, b| u64::from($from(a) >= $from(b)),
                _ => return None,
            })
        }
    };
}

float!(f32_function, f, of_f);
float!(f64_function, double, of_double);

fn bool_function(op: Op) -> Option<Quick> {
    Some(match op {
        Op::Equal => |a, b| u64::from(a == b),
        Op::NotEqual => |a, b| a ^ b,
        Op::And | Op::LogicalAnd => |a, b| a & b,
        Op::InclusiveOr | Op::LogicalOr => |a, b| a | b,
        _ => return None,
    })
}

//! The operators and the conversions as functions of bits.

use super::{f, i, of_f, of_i, u};
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

/// Is the greatest `u32` that is an `f32`.
const LAST_U32: u32 = 0xffff_ff00;
/// Is the greatest `i32` that is an `f32`.
const LAST_I32: i32 = 0x7fff_ff80;

/// Returns the quick function of a binary operator, if there is one.
pub(crate) fn binary(op: Op, ty: Scalar) -> Option<Quick> {
    match ty {
        Scalar::U32 => u32_function(op),
        Scalar::I32 => i32_function(op),
        Scalar::F32 => f32_function(op),
        Scalar::BOOL => bool_function(op),
        _ => None,
    }
}

fn u32_function(op: Op) -> Option<Quick> {
    Some(match op {
        Op::Add => |a, b| u64::from(u(a).wrapping_add(u(b))),
        Op::Subtract => |a, b| u64::from(u(a).wrapping_sub(u(b))),
        Op::Multiply => |a, b| u64::from(u(a).wrapping_mul(u(b))),
        Op::Divide => |a, b| u64::from(u(a).checked_div(u(b)).unwrap_or(u(a))),
        Op::Modulo => |a, b| u64::from(u(a).checked_rem(u(b)).unwrap_or(0)),
        Op::Less => |a, b| u64::from(u(a) < u(b)),
        Op::LessEqual => |a, b| u64::from(u(a) <= u(b)),
        Op::Greater => |a, b| u64::from(u(a) > u(b)),
        Op::GreaterEqual => |a, b| u64::from(u(a) >= u(b)),
        Op::ShiftRight => |a, b| u64::from(u(a).wrapping_shr(u(b))),
        _ => return bits_function(op),
    })
}

fn i32_function(op: Op) -> Option<Quick> {
    Some(match op {
        Op::Add => |a, b| of_i(i(a).wrapping_add(i(b))),
        Op::Subtract => |a, b| of_i(i(a).wrapping_sub(i(b))),
        Op::Multiply => |a, b| of_i(i(a).wrapping_mul(i(b))),
        Op::Divide => |a, b| of_i(if i(b) == 0 { i(a) } else { i(a).wrapping_div(i(b)) }),
        Op::Modulo => |a, b| of_i(if i(b) == 0 { 0 } else { i(a).wrapping_rem(i(b)) }),
        Op::Less => |a, b| u64::from(i(a) < i(b)),
        Op::LessEqual => |a, b| u64::from(i(a) <= i(b)),
        Op::Greater => |a, b| u64::from(i(a) > i(b)),
        Op::GreaterEqual => |a, b| u64::from(i(a) >= i(b)),
        Op::ShiftRight => |a, b| of_i(i(a).wrapping_shr(u(b))),
        _ => return bits_function(op),
    })
}

/// Returns the functions that signed and unsigned integers share.
fn bits_function(op: Op) -> Option<Quick> {
    Some(match op {
        Op::Equal => |a, b| u64::from(u(a) == u(b)),
        Op::NotEqual => |a, b| u64::from(u(a) != u(b)),
        Op::And => |a, b| a & b,
        Op::InclusiveOr => |a, b| a | b,
        Op::ExclusiveOr => |a, b| a ^ b,
        Op::ShiftLeft => |a, b| u64::from(u(a).wrapping_shl(u(b))),
        _ => return None,
    })
}

fn f32_function(op: Op) -> Option<Quick> {
    Some(match op {
        Op::Add => |a, b| of_f(f(a) + f(b)),
        Op::Subtract => |a, b| of_f(f(a) - f(b)),
        Op::Multiply => |a, b| of_f(f(a) * f(b)),
        Op::Divide => |a, b| of_f(f(a) / f(b)),
        Op::Equal => |a, b| u64::from(f(a) == f(b)),
        Op::NotEqual => |a, b| u64::from(f(a) != f(b)),
        Op::Less => |a, b| u64::from(f(a) < f(b)),
        Op::LessEqual => |a, b| u64::from(f(a) <= f(b)),
        Op::Greater => |a, b| u64::from(f(a) > f(b)),
        Op::GreaterEqual => |a, b| u64::from(f(a) >= f(b)),
        _ => return None,
    })
}

fn bool_function(op: Op) -> Option<Quick> {
    Some(match op {
        Op::Equal => |a, b| u64::from(a == b),
        Op::NotEqual => |a, b| a ^ b,
        Op::And | Op::LogicalAnd => |a, b| a & b,
        Op::InclusiveOr | Op::LogicalOr => |a, b| a | b,
        _ => return None,
    })
}

//! Operators on the common types, as functions of bits.
//!
//! They compute what [`arith::binary`](crate::arith::binary) does, without a choice of the type for each operation.

use super::op::Quick;
use naga::{BinaryOperator as Op, Scalar};

/// Returns the quick function of an operator, if there is one.
pub(super) fn quick(op: Op, ty: Scalar) -> Option<Quick> {
    match ty {
        Scalar::U32 => u32_function(op),
        Scalar::I32 => i32_function(op),
        Scalar::F32 => f32_function(op),
        Scalar::BOOL => bool_function(op),
        _ => None,
    }
}

fn u(bits: u64) -> u32 {
    bits as u32
}

fn i(bits: u64) -> i32 {
    bits as u32 as i32
}

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn of_i(value: i32) -> u64 {
    u64::from(value as u32)
}

fn of_f(value: f32) -> u64 {
    u64::from(value.to_bits())
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

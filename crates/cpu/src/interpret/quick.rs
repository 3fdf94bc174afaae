//! Operators and functions on the common types, as functions of bits.
//!
//! They compute what [`arith`](crate::arith) does, without a choice of the type for each operation. A function of one operand
//! ignores the second one.

use super::op::Quick;
use naga::{BinaryOperator as Op, MathFunction as Fun, Scalar, UnaryOperator};

/// Returns the quick function of a unary operator, if there is one.
pub(super) fn unary(op: UnaryOperator, ty: Scalar) -> Option<Quick> {
    Some(match (op, ty) {
        (UnaryOperator::Negate, Scalar::F32) => |a, _| a ^ 1 << 31,
        (UnaryOperator::Negate, Scalar::I32) => |a, _| of_i(i(a).wrapping_neg()),
        (UnaryOperator::LogicalNot, Scalar::BOOL) => |a, _| a ^ 1,
        (UnaryOperator::BitwiseNot, Scalar::U32 | Scalar::I32) => |a, _| u64::from(!u(a)),
        _ => return None,
    })
}

/// Returns the quick function of a conversion, if there is one.
pub(super) fn conversion(from: Scalar, to: Scalar) -> Option<Quick> {
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

/// Returns the quick function of a math function of one or two operands, if there is one.
pub(super) fn math(fun: Fun, ty: Scalar) -> Option<Quick> {
    Some(match (fun, ty) {
        (Fun::Abs, Scalar::F32) => |a, _| a & 0x7fff_ffff,
        (Fun::Floor, Scalar::F32) => |a, _| of_f(f(a).floor()),
        (Fun::Ceil, Scalar::F32) => |a, _| of_f(f(a).ceil()),
        (Fun::Trunc, Scalar::F32) => |a, _| of_f(f(a).trunc()),
        (Fun::Sqrt, Scalar::F32) => |a, _| of_f(f(a).sqrt()),
        (Fun::Min, Scalar::U32) => |a, b| a.min(b),
        (Fun::Max, Scalar::U32) => |a, b| a.max(b),
        (Fun::Min, Scalar::I32) => |a, b| of_i(i(a).min(i(b))),
        (Fun::Max, Scalar::I32) => |a, b| of_i(i(a).max(i(b))),
        (Fun::Abs, Scalar::U32) => |a, _| a,
        (Fun::Abs, Scalar::I32) => |a, _| of_i(i(a).wrapping_abs()),
        (Fun::CountOneBits, Scalar::U32 | Scalar::I32) => |a, _| u64::from(u(a).count_ones()),
        _ => return None,
    })
}

/// Returns the quick function of a binary operator, if there is one.
pub(super) fn binary(op: Op, ty: Scalar) -> Option<Quick> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::{self, Operand, Outcome, Scalar as Value};

    /// Returns numbers of a type: the edges, and random bits.
    fn numbers(ty: Scalar) -> Vec<u64> {
        if ty == Scalar::BOOL {
            return vec![0, 1];
        }
        let floats = [0.0, -0.0, 0.5, 1.5, -2.5, 3e9, 5e9, -3e9, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE];
        let edges = [0, 1, 2, 31, 32, 33, i32::MAX as u32, i32::MIN as u32, u32::MAX];
        let mut random = fastrand::Rng::with_seed(7);
        let mixed = (0..40).map(|_| random.u32(..)).chain(floats.map(f32::to_bits)).chain(edges);
        mixed.map(u64::from).collect()
    }

    fn same(ty: Scalar, a: u64, b: u64) -> bool {
        a == b || (ty == Scalar::F32 && f(a).is_nan() && f(b).is_nan())
    }

    /// Compares a quick function with the function of `arith` on all pairs of numbers.
    fn agree(name: &str, quick: Quick, ty: Scalar, slow: impl Fn(Value, Value) -> Value) {
        for a in numbers(ty) {
            for b in numbers(ty) {
                let expected = slow(Value::from_bits(ty, a), Value::from_bits(ty, b));
                let found = quick(a, b);
                assert!(
                    same(expected.ty(), expected.bits(), found),
                    "{name} of {ty:?} {a:x} {b:x}: {found:x}"
                );
            }
        }
    }

    const TYPES: [Scalar; 4] = [Scalar::U32, Scalar::I32, Scalar::F32, Scalar::BOOL];

    #[test]
    fn quick_operators_compute_what_the_slow_ones_compute() {
        use naga::BinaryOperator::*;
        let arithmetic = [Add, Subtract, Multiply, Divide, Modulo, Equal, NotEqual, Less, LessEqual];
        let others = [Greater, GreaterEqual, And, ExclusiveOr, InclusiveOr, LogicalAnd, LogicalOr];
        for ty in TYPES {
            for op in arithmetic.into_iter().chain(others) {
                if let Some(quick) = binary(op, ty) {
                    agree(&format!("{op:?}"), quick, ty, |a, b| arith::binary(op, a, b));
                }
            }
            for op in [ShiftLeft, ShiftRight] {
                let slow = |a, b: Value| arith::binary(op, a, Value::U32(b.bits() as u32));
                binary(op, ty).inspect(|&quick| agree(&format!("{op:?}"), quick, ty, slow));
            }
            for op in [UnaryOperator::Negate, UnaryOperator::LogicalNot, UnaryOperator::BitwiseNot] {
                unary(op, ty)
                    .inspect(|&quick| agree(&format!("{op:?}"), quick, ty, |a, _| arith::unary(op, a)));
            }
        }
    }

    #[test]
    fn quick_conversions_compute_what_the_slow_ones_compute() {
        for from in TYPES {
            for to in TYPES {
                let slow = |a, _| arith::convert(a, to.kind, Some(to.width));
                conversion(from, to).inspect(|&quick| agree(&format!("to {to:?}"), quick, from, slow));
            }
        }
    }

    #[test]
    fn quick_functions_compute_what_the_slow_ones_compute() {
        let one = [Fun::Abs, Fun::Floor, Fun::Ceil, Fun::Trunc, Fun::Sqrt, Fun::CountOneBits];
        for ty in TYPES {
            for fun in one.into_iter().chain([Fun::Min, Fun::Max]) {
                let Some(quick) = math(fun, ty) else { continue };
                agree(&format!("{fun:?}"), quick, ty, |a, b| {
                    let count = if one.contains(&fun) { 1 } else { 2 };
                    let outcome = arith::math(fun, &[Operand::Scalar(a), Operand::Scalar(b)][..count]);
                    let Outcome::Scalar(value) = outcome else { panic!("{outcome:?} is no scalar") };
                    value
                });
            }
        }
    }
}

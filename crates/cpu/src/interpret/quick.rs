//! Operators and conversions on the common types, as functions of bits.
//!
//! They compute the same as [`arith`](crate::arith), without choosing the type for each operation. A function of one
//! operand ignores the second one.

use super::op::Quick;
use crate::arith::formula;
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

fn u(bits: u64) -> u32 {
    bits as u32
}

fn i(bits: u64) -> i32 {
    bits as u32 as i32
}

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn of_u(value: u32) -> u64 {
    u64::from(value)
}

fn of_i(value: i32) -> u64 {
    u64::from(value as u32)
}

fn of_f(value: f32) -> u64 {
    u64::from(value.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::{self, Scalar as Value};

    /// Returns numbers of a type: the edges, and random bits.
    fn numbers(ty: Scalar) -> Vec<u64> {
        if ty == Scalar::BOOL {
            return vec![0, 1];
        }
        let floats = [0.0, -0.0, 0.5, 1.5, -2.5, 3e9, 5e9, -3e9, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE];
        let edges = [0, 1, 2, 31, 32, 33, i32::MAX as u32, i32::MIN as u32, u32::MAX];
        let mut random = fastrand::Rng::with_seed(7);
        let mixed = (0..40).map(|_| random.u32(..)).chain(floats.map(f32::to_bits)).chain(edges);
        if ty.width == 4 {
            return mixed.map(u64::from).collect();
        }
        let doubles = floats.map(|x| f64::from(x).to_bits());
        let longs = mixed.zip(0..).map(|(low, high)| u64::from(low) | (high % 3) << 62);
        longs.chain(doubles).chain([u64::MAX, 1 << 63, 64]).collect()
    }

    /// Compares results. All NaNs count as equal.
    fn same(ty: Scalar, a: u64, b: u64) -> bool {
        let nan = |bits| match ty {
            Scalar::F32 => f(bits).is_nan(),
            Scalar::F64 => f64::from_bits(bits).is_nan(),
            _ => false,
        };
        a == b || (nan(a) && nan(b))
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

    const TYPES: [Scalar; 7] =
        [Scalar::U32, Scalar::I32, Scalar::F32, Scalar::BOOL, Scalar::U64, Scalar::I64, Scalar::F64];

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
}

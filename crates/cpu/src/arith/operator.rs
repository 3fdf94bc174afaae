//! The operators on scalars.

use super::Scalar;
use super::formula::remainder;
use super::narrow::narrow;
use naga::{BinaryOperator, UnaryOperator};
use std::ops::{BitAnd, BitOr, BitXor};

/// Applies a unary operator. The negative of the least integer is itself.
///
/// # Panics
/// Panics for a type that the operator does not take in a validated module, which is a bug.
pub(crate) fn unary(op: UnaryOperator, x: Scalar) -> Scalar {
    match (op, x) {
        (UnaryOperator::Negate, Scalar::I32(x)) => Scalar::I32(x.wrapping_neg()),
        (UnaryOperator::Negate, Scalar::I64(x)) => Scalar::I64(x.wrapping_neg()),
        (UnaryOperator::Negate, Scalar::F16(x)) => Scalar::F16(-x),
        (UnaryOperator::Negate, Scalar::F32(x)) => Scalar::F32(-x),
        (UnaryOperator::Negate, Scalar::F64(x)) => Scalar::F64(-x),
        (UnaryOperator::LogicalNot, Scalar::Bool(x)) => Scalar::Bool(!x),
        (UnaryOperator::BitwiseNot, Scalar::I32(x)) => Scalar::I32(!x),
        (UnaryOperator::BitwiseNot, Scalar::U32(x)) => Scalar::U32(!x),
        (UnaryOperator::BitwiseNot, Scalar::I64(x)) => Scalar::I64(!x),
        (UnaryOperator::BitwiseNot, Scalar::U64(x)) => Scalar::U64(!x),
        _ => unreachable!("bug: {op:?} of {x:?}"),
    }
}

/// Applies a binary operator to two scalars of one type. The amount of a shift is a `u32` beside any integer.
///
/// Integers wrap. A division by zero gives the dividend, and a remainder by zero gives zero. The least integer divided
/// by -1 gives itself, with the remainder zero. A shift uses its amount modulo the number of bits. The remainder of floats
/// is `x - y * trunc(x / y)`, step by step. Operations on `f16` round once.
///
/// # Panics
/// Panics for types that the operator does not take in a validated module, which is a bug.
pub(crate) fn binary(op: BinaryOperator, a: Scalar, b: Scalar) -> Scalar {
    let result = match (op, a, b) {
        (BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight, ..) => shift(op, a, b),
        (_, Scalar::Bool(a), Scalar::Bool(b)) => logical(op, a, b).map(Scalar::Bool),
        (_, Scalar::I32(a), Scalar::I32(b)) => i32::apply(op, a, b, Scalar::I32),
        (_, Scalar::U32(a), Scalar::U32(b)) => u32::apply(op, a, b, Scalar::U32),
        (_, Scalar::I64(a), Scalar::I64(b)) => i64::apply(op, a, b, Scalar::I64),
        (_, Scalar::U64(a), Scalar::U64(b)) => u64::apply(op, a, b, Scalar::U64),
        (_, Scalar::F16(a), Scalar::F16(b)) => f64::apply(op, a.into(), b.into(), |x| Scalar::F16(narrow(x))),
        (_, Scalar::F32(a), Scalar::F32(b)) => f32::apply(op, a, b, Scalar::F32),
        (_, Scalar::F64(a), Scalar::F64(b)) => f64::apply(op, a, b, Scalar::F64),
        _ => None,
    };
    result.unwrap_or_else(|| unreachable!("bug: {a:?} {op:?} {b:?}"))
}

/// Is a type whose two operands have one type. An operator that it does not have gives `None`.
trait Arithmetic: Copy + PartialOrd {
    /// Returns the result of an operator that gives a number of the type.
    fn number(op: BinaryOperator, a: Self, b: Self) -> Option<Self>;

    /// Returns the result of any operator.
    fn apply(op: BinaryOperator, a: Self, b: Self, scalar: fn(Self) -> Scalar) -> Option<Scalar> {
        let compared = compare(op, a, b).map(Scalar::Bool);
        compared.or_else(|| Self::number(op, a, b).map(scalar))
    }
}

macro_rules! integer {
    ($($ty:ident)+) => { $(
        impl Arithmetic for $ty {
            fn number(op: BinaryOperator, a: Self, b: Self) -> Option<Self> {
                Some(match op {
                    BinaryOperator::Add => a.wrapping_add(b),
                    BinaryOperator::Subtract => a.wrapping_sub(b),
                    BinaryOperator::Multiply => a.wrapping_mul(b),
                    BinaryOperator::Divide => if b == 0 { a } else { a.wrapping_div(b) },
                    BinaryOperator::Modulo => if b == 0 { 0 } else { a.wrapping_rem(b) },
                    _ => return bitwise(op, a, b),
                })
            }
        }
    )+ };
}

integer!(i32 u32 i64 u64);

macro_rules! float {
    ($($ty:ident)+) => { $(
        impl Arithmetic for $ty {
            fn number(op: BinaryOperator, a: Self, b: Self) -> Option<Self> {
                Some(match op {
                    BinaryOperator::Add => a + b,
                    BinaryOperator::Subtract => a - b,
                    BinaryOperator::Multiply => a * b,
                    BinaryOperator::Divide => a / b,
                    BinaryOperator::Modulo => remainder(a, b),
                    _ => return None,
                })
            }
        }
    )+ };
}

float!(f32 f64);

fn compare<T: PartialOrd>(op: BinaryOperator, a: T, b: T) -> Option<bool> {
    Some(match op {
        BinaryOperator::Equal => a == b,
        BinaryOperator::NotEqual => a != b,
        BinaryOperator::Less => a < b,
        BinaryOperator::LessEqual => a <= b,
        BinaryOperator::Greater => a > b,
        BinaryOperator::GreaterEqual => a >= b,
        _ => return None,
    })
}

fn bitwise<T: BitAnd<Output = T> + BitOr<Output = T> + BitXor<Output = T>>(
    op: BinaryOperator,
    a: T,
    b: T,
) -> Option<T> {
    Some(match op {
        BinaryOperator::And => a & b,
        BinaryOperator::ExclusiveOr => a ^ b,
        BinaryOperator::InclusiveOr => a | b,
        _ => return None,
    })
}

fn logical(op: BinaryOperator, a: bool, b: bool) -> Option<bool> {
    match op {
        BinaryOperator::LogicalAnd => Some(a && b),
        BinaryOperator::LogicalOr => Some(a || b),
        _ => compare(op, a, b).or_else(|| bitwise(op, a, b)),
    }
}

/// Shifts any integer by an amount modulo its number of bits.
fn shift(op: BinaryOperator, a: Scalar, b: Scalar) -> Option<Scalar> {
    let amount = b.bits() as u32;
    let left = op == BinaryOperator::ShiftLeft;
    Some(match a {
        Scalar::I32(a) => Scalar::I32(if left { a.wrapping_shl(amount) } else { a.wrapping_shr(amount) }),
        Scalar::U32(a) => Scalar::U32(if left { a.wrapping_shl(amount) } else { a.wrapping_shr(amount) }),
        Scalar::I64(a) => Scalar::I64(if left { a.wrapping_shl(amount) } else { a.wrapping_shr(amount) }),
        Scalar::U64(a) => Scalar::U64(if left { a.wrapping_shl(amount) } else { a.wrapping_shr(amount) }),
        _ => return None,
    })
}

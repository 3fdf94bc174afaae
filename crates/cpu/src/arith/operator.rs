//! The operators on scalars.

use super::Scalar;
use super::formula::remainder;
use super::narrow::narrow;
use naga::{BinaryOperator, UnaryOperator};
use std::ops::{BitAnd, BitOr, BitXor};

/// Applies a unary operator. The negative of the least integer is itself.
///
/// # Panics
/// Panics for a type that cannot occur in a validated module, which is a bug.
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

/// Applies a binary operator to two scalars of one type. The amount of a shift is a `u32` for every type.
///
/// Integers wrap. A division by zero gives the dividend, and a remainder by zero gives zero. The least integer divided
/// by -1 gives itself, with the remainder zero. A shift uses its amount modulo the number of bits. The remainder of
/// floats is `x - y * trunc(x / y)`, step by step. Operations on `f16` round once.
///
/// # Panics
/// Panics for types that cannot occur in a validated module, which is a bug.
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

/// Operand type of the binary operators. An operator that the type lacks returns `None`.
trait Arithmetic: Copy + PartialOrd {
    /// Returns the result of an operator with a result of the operand type.
    fn number(op: BinaryOperator, a: Self, b: Self) -> Option<Self>;

    /// Returns the result of any operator, also of comparisons.
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

#[cfg(test)]
mod tests {
    use super::{binary, unary};
    use crate::arith::Scalar;
    use crate::arith::tests::edges::{self, INTEGERS, integers, nearest_half, range, same, value, wrapped};
    use naga::{BinaryOperator as Op, UnaryOperator};

    /// Returns the exact result of an integer operation, before it wraps.
    fn exact(op: Op, a: i128, b: i128) -> i128 {
        match op {
            Op::Add => a + b,
            Op::Subtract => a - b,
            Op::Multiply => a.wrapping_mul(b),
            Op::Divide if b == 0 => a,
            Op::Divide => a / b,
            Op::Modulo if b == 0 => 0,
            Op::Modulo => a - b * (a / b),
            Op::And => a & b,
            Op::ExclusiveOr => (a | b) - (a & b),
            Op::InclusiveOr => a + b - (a & b),
            _ => panic!("{op:?} is not in the test"),
        }
    }

    #[test]
    fn arithmetic_of_integers_is_exact_and_wraps() {
        let operators = [Op::Add, Op::Subtract, Op::Multiply, Op::Divide, Op::Modulo];
        let bitwise = [Op::And, Op::ExclusiveOr, Op::InclusiveOr];
        for ty in INTEGERS {
            for a in integers(ty) {
                for b in integers(ty) {
                    for op in operators.into_iter().chain(bitwise) {
                        let got = binary(op, wrapped(ty, a), wrapped(ty, b));
                        assert_eq!(got, wrapped(ty, exact(op, a, b)), "{a} {op:?} {b} of {ty:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_least_integer_survives_a_division_by_minus_one() {
        for (least, minus) in
            [(Scalar::I32(i32::MIN), Scalar::I32(-1)), (Scalar::I64(i64::MIN), Scalar::I64(-1))]
        {
            assert_eq!(binary(Op::Divide, least, minus), least);
            assert_eq!(value(binary(Op::Modulo, least, minus)), 0);
            assert_eq!(unary(UnaryOperator::Negate, least), least);
        }
    }

    #[test]
    fn comparisons_of_integers_are_those_of_their_values() {
        for ty in INTEGERS {
            for a in integers(ty) {
                for b in integers(ty) {
                    let got = |op| binary(op, wrapped(ty, a), wrapped(ty, b)) == Scalar::Bool(true);
                    let less = a < b;
                    let equal = a == b;
                    let both = [got(Op::Less), got(Op::LessEqual), got(Op::Greater), got(Op::GreaterEqual)];
                    assert_eq!(both, [less, less || equal, !less && !equal, !less], "{a} and {b} of {ty:?}");
                    assert_eq!([got(Op::Equal), got(Op::NotEqual)], [equal, !equal], "{a} and {b} of {ty:?}");
                }
            }
        }
    }

    #[test]
    fn a_shift_multiplies_or_divides_by_a_power_of_two_modulo_the_width() {
        for ty in INTEGERS {
            let width = u32::from(ty.width) * 8;
            for a in integers(ty) {
                for amount in (0..70).chain([95, 96, 128, u32::MAX]) {
                    let power = 1_i128 << (amount % width);
                    let left = binary(Op::ShiftLeft, wrapped(ty, a), Scalar::U32(amount));
                    assert_eq!(left, wrapped(ty, a.wrapping_mul(power)), "{a} << {amount} of {ty:?}");
                    let right = binary(Op::ShiftRight, wrapped(ty, a), Scalar::U32(amount));
                    assert_eq!(value(right), a.div_euclid(power), "{a} >> {amount} of {ty:?}");
                }
            }
        }
    }

    #[test]
    fn complements_and_negatives_of_integers_add_up_with_the_integer() {
        for ty in INTEGERS {
            for a in integers(ty) {
                let x = wrapped(ty, a);
                assert_eq!(unary(UnaryOperator::BitwiseNot, x), wrapped(ty, -a - 1), "{a} of {ty:?}");
                if range(ty).0 < 0 {
                    assert_eq!(unary(UnaryOperator::Negate, x), wrapped(ty, -a), "{a} of {ty:?}");
                }
            }
        }
    }

    #[test]
    fn operators_of_bool_have_their_truth_tables() {
        // Each row has the results for (false, false), (false, true), (true, false) and (true, true).
        let tables = [
            (Op::And, [false, false, false, true]),
            (Op::LogicalAnd, [false, false, false, true]),
            (Op::InclusiveOr, [false, true, true, true]),
            (Op::LogicalOr, [false, true, true, true]),
            (Op::ExclusiveOr, [false, true, true, false]),
            (Op::Equal, [true, false, false, true]),
            (Op::NotEqual, [false, true, true, false]),
        ];
        for (op, results) in tables {
            for (number, expected) in results.into_iter().enumerate() {
                let a = Scalar::Bool(number & 2 != 0);
                let b = Scalar::Bool(number & 1 != 0);
                assert_eq!(binary(op, a, b), Scalar::Bool(expected), "{a:?} {op:?} {b:?}");
            }
        }
        assert_eq!(unary(UnaryOperator::LogicalNot, Scalar::Bool(true)), Scalar::Bool(false));
        assert_eq!(unary(UnaryOperator::LogicalNot, Scalar::Bool(false)), Scalar::Bool(true));
    }

    /// Returns the result in `f64`, which is precise enough for a second rounding to `f32` or `f16`.
    fn wide(op: Op, a: f64, b: f64) -> f64 {
        match op {
            Op::Add => a + b,
            Op::Subtract => a - b,
            Op::Multiply => a * b,
            _ => a / b,
        }
    }

    #[test]
    fn arithmetic_of_floats_rounds_once_to_the_nearest_number() {
        for op in [Op::Add, Op::Subtract, Op::Multiply, Op::Divide] {
            for a in edges::floats() {
                for b in edges::floats() {
                    let got = binary(op, Scalar::F32(a), Scalar::F32(b));
                    let expected = Scalar::F32(wide(op, a.into(), b.into()) as f32);
                    assert!(same(got, expected), "{a:e} {op:?} {b:e}: {got:?}, not {expected:?}");
                }
            }
            for a in edges::halves() {
                for b in edges::halves() {
                    let got = binary(op, Scalar::F16(a), Scalar::F16(b));
                    let expected = Scalar::F16(nearest_half(wide(op, a.into(), b.into())));
                    assert!(same(got, expected), "{a:e} {op:?} {b:e}: {got:?}, not {expected:?}");
                }
            }
        }
    }

    #[test]
    fn comparisons_with_nan_are_false_except_inequality() {
        let types: [fn(f32) -> Scalar; 2] = [Scalar::F32, |x| Scalar::F64(x.into())];
        for make in types {
            for x in edges::floats() {
                for op in [Op::Less, Op::LessEqual, Op::Greater, Op::GreaterEqual, Op::Equal, Op::NotEqual] {
                    let expected = Scalar::Bool(op == Op::NotEqual);
                    assert_eq!(binary(op, make(x), make(f32::NAN)), expected);
                    assert_eq!(binary(op, make(f32::NAN), make(x)), expected);
                }
            }
            assert_eq!(binary(Op::Equal, make(0.0), make(-0.0)), Scalar::Bool(true));
            assert_eq!(binary(Op::Less, make(-1.0), make(0.5)), Scalar::Bool(true));
            assert_eq!(binary(Op::Greater, make(f32::INFINITY), make(f32::MAX)), Scalar::Bool(true));
        }
    }

    #[test]
    fn the_negative_of_a_float_differs_in_the_highest_bit_alone() {
        for x in edges::floats() {
            let got = unary(UnaryOperator::Negate, Scalar::F32(x));
            assert_eq!(got.bits(), u64::from(x.to_bits() ^ 0x8000_0000));
            let got = unary(UnaryOperator::Negate, Scalar::F64(x.into()));
            assert_eq!(got.bits(), f64::from(x).to_bits() ^ 1 << 63);
        }
        for x in edges::halves() {
            assert_eq!(unary(UnaryOperator::Negate, Scalar::F16(x)).bits(), u64::from(x.to_bits() ^ 0x8000));
        }
    }

    #[test]
    fn the_remainder_of_whole_floats_is_that_of_integers() {
        for a in -50_i16..50 {
            for b in (-20_i16..20).filter(|&b| b != 0) {
                let x = f32::from(a);
                let y = f32::from(b);
                let single = f32::from(a % b);
                let double = f64::from(a % b);
                assert_eq!(binary(Op::Modulo, Scalar::F32(x), Scalar::F32(y)), Scalar::F32(single));
                assert_eq!(
                    binary(Op::Modulo, Scalar::F64(x.into()), Scalar::F64(y.into())),
                    Scalar::F64(double)
                );
                let half = |x: f32| Scalar::F16(half::f16::from_f32(x));
                assert_eq!(binary(Op::Modulo, half(x), half(y)), half(single), "{a} % {b}");
            }
        }
    }
}

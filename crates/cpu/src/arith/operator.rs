//! The operators on scalars, as functions of bits.

use super::Scalar;
use super::formula::remainder;
use super::narrow::narrow;
use half::f16;
use naga::{BinaryOperator as Op, Scalar as Type, UnaryOperator};

/// Function from the bits of two operands to the bits of a result. A function of one operand ignores the second one.
pub(crate) type Operator = fn(u64, u64) -> u64;

/// Applies a binary operator to two scalars of one type. The amount of a shift is a `u32` for every type.
///
/// Integers wrap. A division by zero gives the dividend, and a remainder by zero gives zero. The least integer divided
/// by -1 gives itself, with the remainder zero. A shift uses its amount modulo the number of bits. The remainder of
/// floats is `x - y * trunc(x / y)`, step by step. Operations on `f16` round once.
///
/// # Panics
/// Panics for types that cannot occur in a validated module, which is a bug.
pub(crate) fn binary(op: Op, a: Scalar, b: Scalar) -> Scalar {
    let fits = matches!(op, Op::ShiftLeft | Op::ShiftRight) || a.ty() == b.ty();
    let function = binary_of(op, a.ty()).filter(|_| fits);
    let function = function.unwrap_or_else(|| unreachable!("bug: {a:?} {op:?} {b:?}"));
    let ty = match op {
        Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => Type::BOOL,
        _ => a.ty(),
    };
    Scalar::from_bits(ty, function(a.bits(), b.bits()))
}

/// Returns a unary operator on operands of a type, or `None` if the type does not have it. The negative of the least
/// integer is itself.
pub(crate) fn unary_of(op: UnaryOperator, ty: Type) -> Option<Operator> {
    Some(match (op, ty) {
        (UnaryOperator::Negate, Type::I32) => |a, _| of_i(i(a).wrapping_neg()),
        (UnaryOperator::Negate, Type::I64) => |a, _| a.wrapping_neg(),
        (UnaryOperator::Negate, Type::F16) => |a, _| a ^ 1 << 15,
        (UnaryOperator::Negate, Type::F32) => |a, _| a ^ 1 << 31,
        (UnaryOperator::Negate, Type::F64) => |a, _| a ^ 1 << 63,
        (UnaryOperator::LogicalNot, Type::BOOL) => |a, _| a ^ 1,
        (UnaryOperator::BitwiseNot, Type::U32 | Type::I32) => |a, _| of_u(!u(a)),
        (UnaryOperator::BitwiseNot, Type::U64 | Type::I64) => |a, _| !a,
        _ => return None,
    })
}

/// Returns a binary operator on operands of a type, or `None` if the type does not have it. A comparison returns the
/// bits of a bool.
pub(crate) fn binary_of(op: Op, ty: Type) -> Option<Operator> {
    match ty {
        Type::U32 => u32_function(op),
        Type::I32 => i32_function(op),
        Type::U64 => u64_function(op),
        Type::I64 => i64_function(op),
        Type::F16 => f16_function(op),
        Type::F32 => f32_function(op),
        Type::F64 => f64_function(op),
        Type::BOOL => bool_function(op),
        _ => None,
    }
}

macro_rules! integer {
    ($name:ident, $from:ident, $of:ident) => {
        fn $name(op: Op) -> Option<Operator> {
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
        fn $name(op: Op) -> Option<Operator> {
            Some(match op {
                Op::Add => |a, b| $of($from(a) + $from(b)),
                Op::Subtract => |a, b| $of($from(a) - $from(b)),
                Op::Multiply => |a, b| $of($from(a) * $from(b)),
                Op::Divide => |a, b| $of($from(a) / $from(b)),
                Op::Modulo => |a, b| $of(remainder($from(a), $from(b))),
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

float!(f16_function, h, of_h);
float!(f32_function, f, of_f);
float!(f64_function, double, of_double);

fn bool_function(op: Op) -> Option<Operator> {
    Some(match op {
        Op::Equal => |a, b| u64::from(a == b),
        Op::NotEqual | Op::ExclusiveOr => |a, b| a ^ b,
        Op::And | Op::LogicalAnd => |a, b| a & b,
        Op::InclusiveOr | Op::LogicalOr => |a, b| a | b,
        _ => return None,
    })
}

pub(super) fn u(bits: u64) -> u32 {
    bits as u32
}

pub(super) fn i(bits: u64) -> i32 {
    bits as u32 as i32
}

pub(super) fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn long(bits: u64) -> u64 {
    bits
}

fn signed_long(bits: u64) -> i64 {
    bits as i64
}

/// Operations on `f16` compute with `f64`.
fn h(bits: u64) -> f64 {
    f16::from_bits(bits as u16).to_f64()
}

fn double(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn of_u(value: u32) -> u64 {
    u64::from(value)
}

pub(super) fn of_i(value: i32) -> u64 {
    u64::from(value as u32)
}

pub(super) fn of_f(value: f32) -> u64 {
    u64::from(value.to_bits())
}

fn of_signed_long(value: i64) -> u64 {
    value as u64
}

fn of_h(value: f64) -> u64 {
    u64::from(narrow(value).to_bits())
}

fn of_double(value: f64) -> u64 {
    value.to_bits()
}

#[cfg(test)]
mod tests {
    use super::{binary, unary_of};
    use crate::arith::Scalar;
    use crate::arith::tests::edges::{self, INTEGERS, integers, nearest_half, range, same, value, wrapped};
    use naga::{BinaryOperator as Op, UnaryOperator};

    fn unary(op: UnaryOperator, x: Scalar) -> Scalar {
        let function = unary_of(op, x.ty()).expect("the type has the operator");
        Scalar::from_bits(x.ty(), function(x.bits(), 0))
    }

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
    fn arithmetic_of_f64_is_that_of_the_host() {
        for op in [Op::Add, Op::Subtract, Op::Multiply, Op::Divide] {
            for a in edges::doubles() {
                for b in edges::doubles() {
                    let got = binary(op, Scalar::F64(a), Scalar::F64(b));
                    assert!(same(got, Scalar::F64(wide(op, a, b))), "{a:e} {op:?} {b:e}: {got:?}");
                }
            }
        }
    }

    #[test]
    fn comparisons_of_floats_are_those_of_their_values_and_with_nan_false_except_inequality() {
        let halves = edges::halves().into_iter().map(Scalar::F16);
        let others = edges::floats().into_iter().flat_map(|x| [Scalar::F32(x), Scalar::F64(x.into())]);
        let all: Vec<Scalar> = halves.chain(others).collect();
        for &a in &all {
            for &b in all.iter().filter(|b| b.ty() == a.ty()) {
                let x = edges::real(a);
                let y = edges::real(b);
                let expected = [
                    (Op::Equal, x == y),
                    (Op::NotEqual, x != y),
                    (Op::Less, x < y),
                    (Op::LessEqual, x <= y),
                    (Op::Greater, x > y),
                    (Op::GreaterEqual, x >= y),
                ];
                for (op, expected) in expected {
                    assert_eq!(binary(op, a, b), Scalar::Bool(expected), "{a:?} {op:?} {b:?}");
                }
            }
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

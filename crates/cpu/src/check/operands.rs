//! Invalid operands of operations.

use super::finding::{Mistake, Step};
use crate::arith::Scalar;
use crate::program::Program;
use naga::valid::FunctionInfo;
use naga::{BinaryOperator, Expression, Function, Handle, ScalarKind};

/// Check of an instruction's operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Check {
    /// All operands are valid.
    None,
    /// A division or a remainder of integers.
    Divide { sign: &'static str, ty: naga::Scalar },
    /// A shift.
    Shift { sign: &'static str, ty: naga::Scalar },
    /// A conversion of a float to an integer.
    ToInteger { from: naga::Scalar, to: naga::Scalar },
    /// Another operation on floats, which may make a NaN.
    Float,
}

impl Check {
    /// Returns the check of an expression.
    pub(super) fn new(
        program: &Program,
        function: &Function,
        info: &FunctionInfo,
        expression: Handle<Expression>,
    ) -> Self {
        let scalar =
            |handle: Handle<Expression>| info[handle].ty.inner_with(&program.module().types).scalar();
        let is_float = |ty: naga::Scalar| ty.kind == ScalarKind::Float;
        match function.expressions[expression] {
            Expression::Binary { op, left, .. } => match (op, scalar(left)) {
                (_, None) => Self::None,
                (_, Some(ty)) if is_float(ty) => Self::Float,
                (BinaryOperator::Divide, Some(ty)) => Self::Divide { sign: "/", ty },
                (BinaryOperator::Modulo, Some(ty)) => Self::Divide { sign: "%", ty },
                (BinaryOperator::ShiftLeft, Some(ty)) => Self::Shift { sign: "<<", ty },
                (BinaryOperator::ShiftRight, Some(ty)) => Self::Shift { sign: ">>", ty },
                _ => Self::None,
            },
            Expression::As { expr, kind, convert: Some(width) } => match scalar(expr) {
                Some(from) if is_float(from) && matches!(kind, ScalarKind::Sint | ScalarKind::Uint) => {
                    Self::ToInteger { from, to: naga::Scalar { kind, width } }
                }
                _ => Self::None,
            },
            // A function whose result is neither a scalar nor a vector returns a struct of floats.
            Expression::Math { arg, .. }
                if scalar(arg).is_some_and(is_float) && scalar(expression).is_none_or(is_float) =>
            {
                Self::Float
            }
            _ => Self::None,
        }
    }

    /// Returns the mistake of the operands, if there is one.
    pub(super) fn find(self, operands: &[u64]) -> Option<Wrong> {
        let &[a, b] = operands else { return None };
        match self {
            Self::None | Self::Float => None,
            Self::Divide { sign, ty } => {
                let dividend = integer(ty, a);
                let divisor = integer(ty, b);
                let kind = match divisor {
                    0 => Kind::DivisionByZero,
                    -1 if dividend == least(ty) => Kind::DivisionOverflow,
                    _ => return None,
                };
                Some(Wrong { kind, operation: Operation::Integers(dividend, sign, divisor) })
            }
            Self::Shift { sign, ty } => {
                let amount = i128::from(b as u32);
                let operation = Operation::Integers(integer(ty, a), sign, amount);
                (amount >= 8 * i128::from(ty.width))
                    .then_some(Wrong { kind: Kind::ShiftOutOfRange, operation })
            }
            Self::ToInteger { from, to } => {
                let value = float(Scalar::from_bits(from, a));
                let bits = 8 * i32::from(to.width);
                let (least, end) = match to.kind {
                    ScalarKind::Sint => (-f64::exp2((bits - 1).into()), f64::exp2((bits - 1).into())),
                    _ => (0.0, f64::exp2(bits.into())),
                };
                let fits = (least..end).contains(&value.trunc());
                let kind = Kind::ConversionOutOfRange;
                let operation = Operation::Conversion(to, value);
                (!fits).then_some(Wrong { kind, operation })
            }
        }
    }
}

/// Kind of mistake in operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    DivisionByZero,
    DivisionOverflow,
    ShiftOutOfRange,
    ConversionOutOfRange,
}

/// An operation with its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operation {
    Integers(i128, &'static str, i128),
    Conversion(naga::Scalar, f64),
}

/// An operation with invalid operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wrong {
    pub(super) kind: Kind,
    operation: Operation,
}

impl Wrong {
    /// Returns the mistake at a step.
    pub(super) fn mistake(&self, step: Step) -> Mistake {
        let operation = match self.operation {
            Operation::Integers(a, sign, b) => format!("{a} {sign} {b}"),
            Operation::Conversion(to, value) => {
                let letter = if to.kind == ScalarKind::Sint { 'i' } else { 'u' };
                format!("{letter}{}({value:?})", 8 * to.width)
            }
        };
        match self.kind {
            Kind::DivisionByZero => Mistake::DivisionByZero { step, operation },
            Kind::DivisionOverflow => Mistake::DivisionOverflow { step, operation },
            Kind::ShiftOutOfRange => Mistake::ShiftOutOfRange { step, operation },
            Kind::ConversionOutOfRange => Mistake::ConversionOutOfRange { step, operation },
        }
    }
}

/// Returns the value of an integer. It is never -1 for an unsigned one.
pub(super) fn integer(ty: naga::Scalar, bits: u64) -> i128 {
    match Scalar::from_bits(ty, bits) {
        Scalar::Bool(value) => value.into(),
        Scalar::I32(value) => value.into(),
        Scalar::U32(value) => value.into(),
        Scalar::I64(value) => value.into(),
        _ => bits.into(),
    }
}

/// Returns the least value of a type of integers.
fn least(ty: naga::Scalar) -> i128 {
    if ty.kind == ScalarKind::Sint { -1 << (8 * ty.width - 1) } else { 0 }
}

/// Returns the value of a float.
pub(super) fn float(value: Scalar) -> f64 {
    match value {
        Scalar::F16(value) => value.to_f64(),
        Scalar::F32(value) => value.into(),
        Scalar::F64(value) => value,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Converts the bits of an `f32`.
    fn converts(value: f32, to: naga::Scalar) -> bool {
        let bits = u64::from(value.to_bits());
        Check::ToInteger { from: naga::Scalar::F32, to }.find(&[bits, bits]).is_none()
    }

    #[test]
    fn a_conversion_fits_up_to_the_edges_of_its_type() {
        let i32 = naga::Scalar::I32;
        let u32 = naga::Scalar::U32;
        assert!(converts(-0.99, u32) && converts(4_294_967_040.0, u32));
        assert!(!converts(-1.0, u32) && !converts(4_294_967_296.0, u32) && !converts(f32::NAN, u32));
        assert!(converts(-2_147_483_648.0, i32) && converts(2_147_483_520.0, i32));
        assert!(!converts(-2_147_483_904.0, i32) && !converts(2_147_483_648.0, i32));
        assert!(!converts(f32::INFINITY, i32) && !converts(f32::NEG_INFINITY, u32));
    }

    #[test]
    fn a_division_overflows_only_for_the_least_integer_and_minus_one() {
        let check = Check::Divide { sign: "/", ty: naga::Scalar::I32 };
        let kind =
            |a: i32, b: i32| check.find(&[u64::from(a as u32), u64::from(b as u32)]).map(|wrong| wrong.kind);
        assert_eq!(kind(i32::MIN, -1), Some(Kind::DivisionOverflow));
        assert_eq!(kind(i32::MIN, 0), Some(Kind::DivisionByZero));
        assert_eq!([kind(i32::MIN, 1), kind(i32::MAX, -1)], [None; 2]);
        let check = Check::Divide { sign: "%", ty: naga::Scalar::U32 };
        assert_eq!(check.find(&[1 << 31, 0xffff_ffff]), None);
    }
}

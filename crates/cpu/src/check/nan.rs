//! Operations that make a NaN.

use super::operands::float;
use crate::arith::{self, Operand, Outcome, Reference, Scalar, builtin};
use naga::valid::FunctionInfo;
use naga::{BinaryOperator, Expression, Function, Handle, Module, TypeInner};

/// An operand with all of its components.
struct Value {
    columns: usize,
    rows: usize,
    scalars: Vec<Scalar>,
}

impl Value {
    fn new(inner: &TypeInner, bits: &[u64]) -> Option<Self> {
        let (columns, rows) = match *inner {
            TypeInner::Vector { size, .. } => (0, size as usize),
            TypeInner::Matrix { columns, rows, .. } => (columns as usize, rows as usize),
            _ => (0, 0),
        };
        let ty = inner.scalar()?;
        let scalars = bits.iter().map(|&bits| Scalar::from_bits(ty, bits)).collect();
        Some(Self { columns, rows, scalars })
    }

    fn operand(&self) -> Operand<'_> {
        match (self.columns, self.rows) {
            (0, 0) => Operand::Scalar(self.scalars[0]),
            (0, _) => Operand::Vector(&self.scalars),
            (columns, rows) => Operand::Matrix { columns, rows, values: &self.scalars },
        }
    }

    fn text(&self) -> String {
        let scalars = self.scalars.iter().map(|&scalar| match scalar {
            Scalar::F16(_) | Scalar::F32(_) | Scalar::F64(_) => format!("{:?}", float(scalar)),
            _ => scalar.bits().to_string(),
        });
        let scalars: Vec<String> = scalars.collect();
        if scalars.len() == 1 { scalars.concat() } else { format!("({})", scalars.join(", ")) }
    }
}

/// Returns the text of an operation that makes a NaN from operands that are not NaN.
///
/// `bits` are the operands that an observer gets: of one component, or whole arguments.
pub(super) fn new_nan(
    module: &Module,
    function: &Function,
    info: &FunctionInfo,
    expression: Handle<Expression>,
    bits: &[u64],
) -> Option<String> {
    let inner = |handle: Handle<Expression>| info[handle].ty.inner_with(&module.types);
    match function.expressions[expression] {
        Expression::Binary { op, left, right } => {
            use BinaryOperator::{Add, Divide, Modulo, Multiply, Subtract};
            if !matches!(op, Add | Subtract | Multiply | Divide | Modulo) {
                return None;
            }
            let values = values(&[inner(left), inner(right)], bits, false)?;
            let outcome = match &values[..] {
                [a, b] if a.rows + b.rows == 0 => {
                    Outcome::Scalar(arith::binary(op, a.scalars[0], b.scalars[0]))
                }
                [a, b] => arith::binary_whole(op, a.operand(), b.operand()),
                _ => return None,
            };
            let sign = match op {
                Add => '+',
                Subtract => '-',
                Multiply => '*',
                Divide => '/',
                _ => '%',
            };
            is_nan(&outcome).then(|| format!("{} {sign} {}", values[0].text(), values[1].text()))
        }
        Expression::Math { fun, arg, arg1, arg2, arg3 } => {
            let arguments = [Some(arg), arg1, arg2, arg3];
            let inners: Vec<&TypeInner> = arguments.into_iter().flatten().map(inner).collect();
            let each = inners.len() == 1 && matches!(builtin(fun).reference, Reference::Numbers(_));
            let values = values(&inners, bits, each)?;
            let operands: Vec<Operand<'_>> = values.iter().map(Value::operand).collect();
            let name = format!("{fun:?}");
            let texts: Vec<String> = values.iter().map(Value::text).collect();
            let name = name[..1].to_lowercase() + &name[1..];
            is_nan(&arith::math(fun, &operands)).then(|| format!("{name}({})", texts.join(", ")))
        }
        _ => None,
    }
}

/// Returns the operands, or `None` if one of them is NaN. For a function that computes each component separately, two
/// equal words count as one operand.
fn values(inners: &[&TypeInner], bits: &[u64], each: bool) -> Option<Vec<Value>> {
    let count = |inner: &TypeInner| match *inner {
        TypeInner::Vector { size, .. } => size as usize,
        TypeInner::Matrix { columns, rows, .. } => columns as usize * rows as usize,
        _ => 1,
    };
    let same = each && bits.len() == 2 && bits[0] == bits[1];
    let whole = !same && inners.iter().map(|inner| count(inner)).sum::<usize>() == bits.len();
    let mut values = Vec::new();
    let mut rest = bits;
    for inner in inners {
        let scalar = TypeInner::Scalar(inner.scalar()?);
        let inner = if whole { inner } else { &scalar };
        let (own, others) = rest.split_at_checked(count(inner))?;
        values.push(Value::new(inner, own)?);
        rest = others;
    }
    let scalars = values.iter().flat_map(|value| &value.scalars);
    let nan = scalars.into_iter().any(|&scalar| float(scalar).is_nan());
    (!nan).then_some(values)
}

fn is_nan(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Scalar(value) => float(*value).is_nan(),
        Outcome::Vector(values) | Outcome::Matrix { values, .. } => {
            values.iter().any(|&value| float(value).is_nan())
        }
        Outcome::Pair(pair) => pair.iter().any(is_nan),
    }
}

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
        let (columns, rows) = Operand::shape(inner);
        let ty = inner.scalar()?;
        let scalars = bits.iter().map(|&bits| Scalar::from_bits(ty, bits)).collect();
        Some(Self { columns, rows, scalars })
    }

    fn operand(&self) -> Operand<'_> {
        Operand::new(self.columns, self.rows, &self.scalars)
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
    let count = |inner: &TypeInner| {
        let (columns, rows) = Operand::shape(inner);
        columns.max(1) * rows.max(1)
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
    let mut found = false;
    outcome.each(&mut |value| found |= float(value).is_nan());
    found
}

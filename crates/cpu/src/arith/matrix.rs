//! The binary operators on vectors and matrices.

use super::geometry::{Vector, dot};
use super::lift::Lift;
use super::operator::binary;
use super::{Components, Operand, Outcome, Scalar, linear};
use naga::BinaryOperator;

/// Applies a binary operator to two values. A scalar beside a vector or a matrix stands for one with equal components.
/// Products of two matrices, or of a matrix and a vector, are those of linear algebra. Each of their components is a sum of
/// products that are added from the first one on.
pub(crate) fn binary_whole(op: BinaryOperator, a: Operand<'_>, b: Operand<'_>) -> Outcome {
    if op == BinaryOperator::Multiply
        && let Some(product) = product(&a, &b)
    {
        return product;
    }
    let shape = if let Operand::Scalar(_) = a { &b } else { &a };
    let count = shape.components().len();
    Outcome::shaped_like(shape, (0..count).map(|i| binary(op, a.component(i), b.component(i))).collect())
}

/// Returns the product of linear algebra, if at least one operand is a matrix and none is a scalar.
fn product(a: &Operand<'_>, b: &Operand<'_>) -> Option<Outcome> {
    // A vector on the left is a matrix of one row.
    let (rows, columns) = match (a, b) {
        (&Operand::Matrix { rows, .. }, Operand::Vector(_)) => (rows, None),
        (Operand::Vector(_), Operand::Matrix { .. }) => (1, None),
        (&Operand::Matrix { rows, .. }, &Operand::Matrix { columns, .. }) => (rows, Some(columns)),
        _ => return None,
    };
    let (a, b) = (a.components(), b.components());
    let values = match a[0] {
        Scalar::F32(_) => multiply::<f32>(rows, a, b),
        _ => multiply::<f64>(rows, a, b),
    };
    Some(match columns {
        Some(columns) => Outcome::Matrix { columns, rows, values },
        None => Outcome::Vector(values),
    })
}

/// Returns the columns of the product of two matrices, one after the other. `a` has so many rows.
fn multiply<R: Lift>(rows: usize, a: &[Scalar], b: &[Scalar]) -> Components {
    let lines: Vector<R> = linear::transpose(rows, a).map(R::take).collect();
    let columns: Vector<R> = b.iter().map(|&x| R::take(x)).collect();
    let inner = a.len() / rows;
    let products = |column: &[R]| -> Components {
        lines.chunks_exact(inner).map(|line| dot(line, column).give(a[0])).collect()
    };
    columns.chunks_exact(inner).flat_map(products).collect()
}

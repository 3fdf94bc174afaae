//! The functions of whole arguments.

use crate::arith::geometry::{self, Vector};
use crate::arith::lift::Lift;
use crate::arith::{Components, Operand, Outcome, Scalar, binary, convert, double, linear};
use naga::{BinaryOperator, ScalarKind};
use smallvec::SmallVec;

/// Returns `x - trunc(x)` and `trunc(x)`.
pub(super) fn modf(args: &[Operand<'_>]) -> Outcome {
    pair(&args[0], |x| {
        let whole = narrowed(convert::to_f64(x).trunc(), x);
        [binary(BinaryOperator::Subtract, x, whole), whole]
    })
}

/// Returns the fraction and the exponent. naga declares the exponent of `f64` as `i64`. naga declares the exponent of
/// `f16` as `i16`, which is not a [`Scalar`]; WGSL declares it as `i32`.
pub(super) fn frexp(args: &[Operand<'_>]) -> Outcome {
    pair(&args[0], |x| {
        let (fraction, exponent) = double::frexp(convert::to_f64(x));
        let width = x.ty().width.max(4);
        [narrowed(fraction, x), convert(Scalar::I32(exponent), ScalarKind::Sint, Some(width))]
    })
}

/// Calls a function with two results for each component.
fn pair(x: &Operand<'_>, f: fn(Scalar) -> [Scalar; 2]) -> Outcome {
    let results: SmallVec<[[Scalar; 2]; 4]> = x.components().iter().map(|&x| f(x)).collect();
    let member = |index: usize| Outcome::shaped_like(x, results.iter().map(|result| result[index]).collect());
    Outcome::Pair(Box::new([member(0), member(1)]))
}

/// Returns the sum of the products of components. A sum of integers wraps.
pub(super) fn dot(args: &[Operand<'_>]) -> Outcome {
    let [a, b] = [0, 1].map(|at| args[at].components());
    Outcome::Scalar(match a[0] {
        Scalar::F32(_) => geometry::dot(&lift::<f32>(a), &lift(b)).give(a[0]),
        Scalar::F16(_) | Scalar::F64(_) => geometry::dot(&lift::<f64>(a), &lift(b)).give(a[0]),
        _ => {
            let products = a.iter().zip(b).map(|(&a, &b)| binary(BinaryOperator::Multiply, a, b));
            let sum = products.reduce(|sum, product| binary(BinaryOperator::Add, sum, product));
            sum.expect("bug: a vector has components")
        }
    })
}

/// Returns the numbers with which formulas compute.
pub(super) fn lift<R: Lift>(x: &[Scalar]) -> Vector<R> {
    x.iter().map(|&x| R::take(x)).collect()
}

/// Returns the products of each component of one vector with each component of another. The products with one component
/// of the second one are a column.
pub(super) fn outer(args: &[Operand<'_>]) -> Outcome {
    let [column, row] = [0, 1].map(|at| args[at].components());
    let products = |&b: &Scalar| column.iter().map(move |&a| binary(BinaryOperator::Multiply, a, b));
    let values: Components = row.iter().flat_map(products).collect();
    Outcome::Matrix { columns: row.len(), rows: column.len(), values }
}

/// Returns the matrix whose columns are the rows of another one.
pub(super) fn transpose(args: &[Operand<'_>]) -> Outcome {
    let (columns, rows, values) = matrix(&args[0]);
    Outcome::Matrix { columns: rows, rows: columns, values: linear::transpose(rows, values).collect() }
}

/// Returns the determinant of a matrix.
pub(super) fn determinant(args: &[Operand<'_>]) -> Outcome {
    let (_, rows, values) = matrix(&args[0]);
    Outcome::Scalar(narrowed(linear::determinant(rows, &widened(values)), values[0]))
}

/// Returns the inverse of a matrix.
pub(super) fn inverse(args: &[Operand<'_>]) -> Outcome {
    let (columns, rows, values) = matrix(&args[0]);
    let inverse = linear::inverse(rows, &widened(values)).into_iter();
    Outcome::Matrix { columns, rows, values: inverse.map(|x| narrowed(x, values[0])).collect() }
}

/// Returns the columns, the rows and the components of a matrix.
fn matrix<'a>(x: &Operand<'a>) -> (usize, usize, &'a [Scalar]) {
    match *x {
        Operand::Matrix { columns, rows, values } => (columns, rows, values),
        _ => unreachable!("bug: {x:?} is not a matrix"),
    }
}

fn widened(values: &[Scalar]) -> SmallVec<[f64; 16]> {
    values.iter().map(|&x| convert::to_f64(x)).collect()
}

/// Returns the nearest float of a sample's type.
fn narrowed(x: f64, sample: Scalar) -> Scalar {
    convert(Scalar::F64(x), ScalarKind::Float, Some(sample.ty().width))
}

//! The calls of functions on whole vectors.

use crate::arith::geometry::{self, Vector};
use crate::arith::lift::Lift;
use crate::arith::{Components, Operand, Outcome, Scalar, binary};
use naga::{BinaryOperator, MathFunction as Fun};

/// Calls a function of vectors. Returns `None` for another function.
pub(crate) fn call(fun: Fun, args: &[Operand<'_>]) -> Option<Outcome> {
    match args[0].component(0) {
        Scalar::F32(_) => floats::<f32>(fun, args),
        Scalar::F16(_) | Scalar::F64(_) => floats::<f64>(fun, args),
        _ if fun == Fun::Dot => Some(Outcome::Scalar(integer_dot(&args[0], &args[1]))),
        _ => None,
    }
}

/// Returns the sum of the products of components. It wraps.
fn integer_dot(a: &Operand<'_>, b: &Operand<'_>) -> Scalar {
    let pairs = a.components().iter().zip(b.components());
    let products = pairs.map(|(&a, &b)| binary(BinaryOperator::Multiply, a, b));
    let sum = products.reduce(|sum, product| binary(BinaryOperator::Add, sum, product));
    sum.expect("bug: a vector has components")
}

fn floats<R: Lift>(fun: Fun, args: &[Operand<'_>]) -> Option<Outcome> {
    let sample = args[0].component(0);
    let x = |index: usize| lift::<R>(&args[index]);
    let number = |x: R| Outcome::Scalar(x.give(sample));
    let list = |x: Vector<R>| Outcome::Vector(x.into_iter().map(|x| x.give(sample)).collect());
    Some(match fun {
        Fun::Dot => number(geometry::dot(&x(0), &x(1))),
        Fun::Length => number(geometry::length(&x(0))),
        Fun::Distance => number(geometry::distance(&x(0), &x(1))),
        Fun::Normalize => list(geometry::normalize(&x(0))),
        Fun::Cross => list(geometry::cross(&x(0), &x(1))),
        Fun::FaceForward => list(geometry::face_forward(&x(0), &x(1), &x(2)).collect()),
        Fun::Reflect => list(geometry::reflect(&x(0), &x(1))),
        Fun::Refract => list(geometry::refract(&x(0), &x(1), x(2)[0]).collect()),
        Fun::Outer => outer(&args[0], &args[1]),
        _ => return None,
    })
}

fn lift<R: Lift>(x: &Operand<'_>) -> Vector<R> {
    x.components().iter().map(|&x| R::take(x)).collect()
}

/// Returns the outer product of two vectors. Each component of `row` gives a column.
fn outer(column: &Operand<'_>, row: &Operand<'_>) -> Outcome {
    let row = row.components();
    let column = column.components();
    let products = |&b: &Scalar| column.iter().map(move |&a| binary(BinaryOperator::Multiply, a, b));
    let values: Components = row.iter().flat_map(products).collect();
    Outcome::Matrix { columns: row.len(), rows: column.len(), values }
}

//! References on `f64`, and the errors that WGSL allows.

use crate::arith::tests::accuracy::{PAIRS, TABLE, ulp};
use naga::MathFunction as Fun;

/// Computes the components of a result from those of the arguments. A NaN stands for a result without a bound.
pub(super) type Reference = Box<dyn Fn(&[Vec<f64>]) -> Vec<f64>>;

/// Returns the error that is allowed for a component of a result, from the arguments and the exact component.
pub(super) type Bound = Box<dyn Fn(&[Vec<f64>], usize, f64) -> f64>;

/// Applies a function to each component. An argument with one component has it for all.
pub(super) fn each(f: impl Fn(&[f64]) -> f64 + 'static) -> Reference {
    Box::new(move |arguments| {
        let count = arguments.iter().map(Vec::len).max().expect("there is an argument");
        (0..count).map(|at| f(&components(arguments, at))).collect()
    })
}

/// Applies a function to whole arguments.
pub(super) fn whole(f: impl Fn(&[Vec<f64>]) -> Vec<f64> + 'static) -> Reference {
    Box::new(f)
}

fn components(arguments: &[Vec<f64>], at: usize) -> Vec<f64> {
    arguments.iter().map(|argument| argument[if argument.len() == 1 { 0 } else { at }]).collect()
}

pub(super) fn exact() -> Bound {
    Box::new(|_, _, _| 0.0)
}

/// Allows units in the last place of the result.
pub(super) fn ulps(count: f64) -> Bound {
    Box::new(move |_, _, exact| count * ulp(exact))
}

/// Allows an error that depends on the components of the arguments.
pub(super) fn of_components(f: impl Fn(&[f64], f64) -> f64 + 'static) -> Bound {
    Box::new(move |arguments, at, exact| f(&components(arguments, at), exact))
}

/// Allows an error in units in the last place of a number that the arguments bound.
pub(super) fn ulps_of(count: f64, scale: impl Fn(&[Vec<f64>]) -> f64 + 'static) -> Bound {
    Box::new(move |arguments, _, _| count * ulp(scale(arguments)))
}

/// Returns the reference and the bound of a function of one number.
pub(super) fn of_one(fun: Fun) -> (Reference, Bound) {
    let row = TABLE.into_iter().find(|row| row.fun == fun).expect("the table has the function");
    (each(move |x| (row.reference)(x[0])), of_components(move |x, exact| (row.allowed)(x[0], exact)))
}

/// Returns the reference and the bound of a function of two numbers.
pub(super) fn of_two(fun: Fun) -> (Reference, Bound) {
    let row = PAIRS.into_iter().find(|row| row.fun == fun).expect("the table has the function");
    (
        each(move |x| (row.reference)(x[0], x[1])),
        of_components(move |x, exact| (row.allowed)(x[0], x[1], exact)),
    )
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn length(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Returns the sum of the sizes of the products of a dot product.
pub(super) fn products(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a * b).abs()).sum()
}

/// Returns the determinant of a matrix of columns, with a sign for the terms of odd permutations.
pub(super) fn determinant(values: &[f64], odd: f64) -> f64 {
    let size = values.len().isqrt();
    if size == 1 {
        return values[0];
    }
    let minor = |without: usize| -> Vec<f64> {
        (1..size)
            .flat_map(|column| {
                (0..size).filter(move |&row| row != without).map(move |row| column * size + row)
            })
            .map(|at| values[at])
            .collect()
    };
    let sign = |row: usize| if row.is_multiple_of(2) { 1.0 } else { odd };
    (0..size).map(|row| sign(row) * values[row] * determinant(&minor(row), odd)).sum()
}

/// Returns the fraction from one half on and the exponent of a number.
pub(super) fn frexp(x: f64) -> (f64, f64) {
    if x == 0.0 {
        return (x, 0.0);
    }
    let exponent = x.abs().log2().floor() + 1.0;
    let fraction = x / exponent.exp2();
    match fraction.abs() {
        size if size >= 1.0 => (fraction / 2.0, exponent + 1.0),
        size if size < 0.5 => (fraction * 2.0, exponent - 1.0),
        _ => (fraction, exponent),
    }
}

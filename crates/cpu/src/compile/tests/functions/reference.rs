//! References on `f64` and on exact integers, and the errors that WGSL allows.

use super::types::Width;
use crate::arith::tests::accuracy::{Format, PAIRS, TABLE};
use naga::MathFunction as Fun;

/// Function from the components of the arguments to the components of a result. A NaN means that any result is allowed.
pub(super) type Reference = Box<dyn Fn(&[Vec<f64>]) -> Vec<f64>>;

/// Function from the components of the arguments and the integer width to the components of the result, which wrap.
pub(super) type Integers = Box<dyn Fn(&[Vec<i128>], u32) -> Vec<i128>>;

/// Function that returns the error that is allowed for a component of a result.
pub(super) type Bound = Box<dyn Fn(&Place<'_>) -> f64>;

/// A component of a result.
pub(super) struct Place<'a> {
    /// Width of the numbers. Functions of `f16` compute with `f64`, and have its bound.
    pub(super) width: Width,
    pub(super) arguments: &'a [Vec<f64>],
    /// Index of the component.
    pub(super) at: usize,
    /// Result of the reference.
    pub(super) exact: f64,
}

impl Place<'_> {
    /// Returns the format of the computation.
    pub(super) fn format(&self) -> Format {
        if self.width == Width::Word { Format::F32 } else { Format::F64 }
    }

    /// Returns the distance between adjacent numbers near a number, in the format of the computation.
    pub(super) fn ulp(&self, x: f64) -> f64 {
        self.format().ulp(x)
    }
}

/// Applies a function to each component. An argument with one component is used for all of them.
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

/// Applies a function of integers and of their number of bits to each component.
pub(super) fn each_integer(f: impl Fn(&[i128], u32) -> i128 + 'static) -> Integers {
    Box::new(move |arguments, width| {
        (0..arguments[0].len()).map(|at| f(&components(arguments, at), width)).collect()
    })
}

fn components<T: Copy>(arguments: &[Vec<T>], at: usize) -> Vec<T> {
    arguments.iter().map(|argument| argument[if argument.len() == 1 { 0 } else { at }]).collect()
}

pub(super) fn exact() -> Bound {
    Box::new(|_| 0.0)
}

/// Allows units in the last place of the result.
pub(super) fn ulps(count: f64) -> Bound {
    Box::new(move |place| count * place.ulp(place.exact))
}

/// Allows an error that depends on the components of the arguments.
pub(super) fn of_components(f: impl Fn(&Place<'_>, &[f64]) -> f64 + 'static) -> Bound {
    Box::new(move |place| f(place, &components(place.arguments, place.at)))
}

/// Allows an error in units in the last place of a number computed from the arguments.
pub(super) fn ulps_of(count: f64, scale: impl Fn(&[Vec<f64>]) -> f64 + 'static) -> Bound {
    Box::new(move |place| count * place.ulp(scale(place.arguments)))
}

/// Greatest difference between an `f64` function and the standard library, in units in the last place.
const OF_LIBRARY: f64 = 4.0;

/// Returns the error that WGSL allows for a function of `f32`, or the error of the computation with `f64`.
fn of_table(allowed: impl Fn(&[f64], f64) -> f64 + 'static) -> Bound {
    of_components(move |place, x| match place.width {
        Width::Word => allowed(x, place.exact),
        Width::Half | Width::Double => OF_LIBRARY * place.ulp(place.exact),
    })
}

/// Returns the reference and the bound of a function of one number.
pub(super) fn of_one(fun: Fun) -> (Reference, Bound) {
    let row = TABLE.into_iter().find(|row| row.fun == fun).expect("the table has the function");
    (each(move |x| (row.reference)(x[0])), of_table(move |x, exact| (row.allowed)(x[0], exact)))
}

/// Returns the reference and the bound of a function of two numbers.
pub(super) fn of_two(fun: Fun) -> (Reference, Bound) {
    let row = PAIRS.into_iter().find(|row| row.fun == fun).expect("the table has the function");
    (each(move |x| (row.reference)(x[0], x[1])), of_table(move |x, exact| (row.allowed)(x[0], x[1], exact)))
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn length(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Returns the sum of the absolute products of a dot product.
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

/// Returns the fraction, which is at least one half, and the exponent of a number.
pub(super) fn frexp(x: f64) -> (f64, f64) {
    let mut fraction = x;
    let mut exponent = 0.0;
    while fraction.abs() >= 1.0 {
        (fraction, exponent) = (fraction / 2.0, exponent + 1.0);
    }
    while fraction != 0.0 && fraction.abs() < 0.5 {
        (fraction, exponent) = (fraction * 2.0, exponent - 1.0);
    }
    (fraction, exponent)
}

/// Returns a number times a power of two. The power of two itself may be too large for an `f64`.
pub(super) fn ldexp(x: f64, exponent: f64) -> f64 {
    let half = (exponent / 2.0).trunc();
    x * half.exp2() * (exponent - half).exp2()
}

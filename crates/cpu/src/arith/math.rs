//! The built-in functions of WGSL.

use super::component::component;
use super::{Components, Operand, Outcome, Scalar, convert, double, linear, packed, vector};
use naga::{MathFunction as Fun, ScalarKind};
use smallvec::SmallVec;

/// Calls a built-in function.
///
/// Functions of `f32` are within WGSL's bounds of error. Functions of `f16` compute with `f64` and round once. `min`, `max`
/// and `clamp` ignore a NaN beside a number. The results are the same bits on every host, except those of a NaN.
///
/// # Panics
/// Panics for arguments that the function does not take in a validated module, which is a bug.
pub(crate) fn math(fun: Fun, args: &[Operand<'_>]) -> Outcome {
    match fun {
        Fun::Modf => pair(&args[0], modf),
        Fun::Frexp => pair(&args[0], frexp),
        Fun::Transpose | Fun::Determinant | Fun::Inverse => matrix(fun, &args[0]),
        _ => {
            let special = vector::call(fun, args).or_else(|| packed::call(fun, args));
            special.unwrap_or_else(|| componentwise(fun, args))
        }
    }
}

fn componentwise(fun: Fun, args: &[Operand<'_>]) -> Outcome {
    let of = |index: usize| {
        let values: Components = args.iter().map(|arg| arg.component(index)).collect();
        component(fun, &values)
    };
    Outcome::shaped_like(&args[0], (0..args[0].components().len()).map(of).collect())
}

/// Calls a function with two results for each component.
fn pair(x: &Operand<'_>, f: fn(Scalar) -> [Scalar; 2]) -> Outcome {
    let results: SmallVec<[[Scalar; 2]; 4]> = x.components().iter().map(|&x| f(x)).collect();
    let member = |index: usize| Outcome::shaped_like(x, results.iter().map(|result| result[index]).collect());
    Outcome::Pair(Box::new([member(0), member(1)]))
}

/// Returns `x - trunc(x)` and `trunc(x)`.
fn modf(x: Scalar) -> [Scalar; 2] {
    let whole = component(Fun::Trunc, &[x]);
    [super::binary(naga::BinaryOperator::Subtract, x, whole), whole]
}

fn frexp(x: Scalar) -> [Scalar; 2] {
    let (fraction, exponent) = double::frexp(convert::to_f64(x));
    let width = x.ty().width;
    [convert(Scalar::F64(fraction), ScalarKind::Float, Some(width)), Scalar::I32(exponent)]
}

fn matrix(fun: Fun, x: &Operand<'_>) -> Outcome {
    let Operand::Matrix { columns, rows, values } = *x else { unreachable!("bug: {x:?} is no matrix") };
    let sample = values[0];
    let wide = || values.iter().map(|&x| convert::to_f64(x)).collect::<SmallVec<[f64; 16]>>();
    let narrow = |x: f64| convert(Scalar::F64(x), ScalarKind::Float, Some(sample.ty().width));
    match fun {
        Fun::Determinant => Outcome::Scalar(narrow(linear::determinant(rows, &wide()))),
        Fun::Inverse => {
            let values = linear::inverse(rows, &wide()).into_iter().map(narrow).collect();
            Outcome::Matrix { columns, rows, values }
        }
        _ => {
            let values = linear::transpose(rows, values).collect();
            Outcome::Matrix { columns: rows, rows: columns, values }
        }
    }
}

//! The calls of functions of numbers, component by component.

use super::Row;
use super::reference::{each, each_integer, exact, frexp, ldexp, of_components, of_one, of_two, ulps};
use super::rows::{row, row_of_integers, row_of_words, row_without_halves};
use naga::MathFunction as Fun;

/// Returns the calls of a function of one number, with the reference and error bound of the tests in `arith`.
fn one(text: &'static str, fun: Fun) -> Vec<Row> {
    let (reference, bound) = of_one(fun);
    vec![row(text, "f* -> f*", reference, bound)]
}

fn two(text: &'static str, fun: Fun) -> Vec<Row> {
    let (reference, bound) = of_two(fun);
    vec![row(text, "f* f* -> f*", reference, bound)]
}

/// Returns the calls of a function that has an exact result for floats, signed integers and unsigned integers.
fn of_all(
    text: &'static str,
    [floats, signed, unsigned]: [&'static str; 3],
    real: fn(&[f64]) -> f64,
    integer: fn(&[i128], u32) -> i128,
) -> Vec<Row> {
    vec![
        row(text, floats, each(real), exact()),
        row_of_integers(text, signed, each_integer(integer)),
        row_of_integers(text, unsigned, each_integer(integer)),
    ]
}

/// Returns the calls of a function that compares or combines numbers.
pub(super) fn numbers(fun: Fun) -> Vec<Row> {
    let one = ["f* -> f*", "i* -> i*", "u* -> u*"];
    let two = ["f* f* -> f*", "i* i* -> i*", "u* u* -> u*"];
    match fun {
        Fun::Abs => of_all("abs(a)", one, |x| x[0].abs(), |x, _| x[0].abs()),
        Fun::Min => of_all("min(a, b)", two, |x| x[0].min(x[1]), |x, _| x[0].min(x[1])),
        Fun::Max => of_all("max(a, b)", two, |x| x[0].max(x[1]), |x, _| x[0].max(x[1])),
        Fun::Clamp => {
            let types = ["f* f* f* -> f*", "i* i* i* -> i*", "u* u* u* -> u*"];
            let real = |x: &[f64]| x[0].max(x[1]).min(x[2]);
            of_all("clamp(a, b, c)", types, real, |x, _| x[0].max(x[1]).min(x[2]))
        }
        Fun::Saturate => vec![row("saturate(a)", "f* -> f*", each(|x| x[0].clamp(0.0, 1.0)), exact())],
        Fun::Radians => vec![row("radians(a)", "f* -> f*", each(|x| x[0].to_radians()), ulps(3.0))],
        Fun::Degrees => vec![row("degrees(a)", "f* -> f*", each(|x| x[0].to_degrees()), ulps(3.0))],
        Fun::Sign => {
            let sign = |x: &[f64]| if x[0] == 0.0 { 0.0 } else { x[0].signum() };
            of_all("sign(a)", one, sign, |x, _| x[0].signum())
        }
        Fun::Fma => {
            let bound = of_components(|place, x| place.ulp(x[0] * x[1]) + place.ulp(place.exact));
            vec![row("fma(a, b, c)", "m* m* m* -> f*", each(|x| x[0] * x[1] + x[2]), bound)]
        }
        Fun::Mix => {
            let mix = |x: &[f64]| x[0] * (1.0 - x[2]) + x[1] * x[2];
            let bound = || {
                of_components(|place, x| {
                    3.0 * [x[0], x[0] * x[2], x[1] * x[2]].map(|x| place.ulp(x)).iter().sum::<f64>()
                })
            };
            let types = ["m* m* m* -> f*", "m2 m2 m -> f2", "m3 m3 m -> f3", "m4 m4 m -> f4"];
            types.map(|types| row("mix(a, b, c)", types, each(mix), bound())).into()
        }
        Fun::Step => {
            let step = |x: &[f64]| if x[0] <= x[1] { 1.0 } else { 0.0 };
            vec![row("step(a, b)", "f* f* -> f*", each(step), exact())]
        }
        Fun::SmoothStep => {
            let smooth = |x: &[f64]| {
                let t = ((x[2] - x[0]) / (x[1] - x[0])).clamp(0.0, 1.0);
                if x[0] < x[1] { t * t * (3.0 - 2.0 * t) } else { f64::NAN }
            };
            let bound = of_components(|place, _| 8.0 * place.ulp(1.0));
            vec![row("smoothstep(a, b, c)", "m* m* m* -> f*", each(smooth), bound)]
        }
        _ => unreachable!("bug: {fun:?} is in another group"),
    }
}

/// Returns the calls of a function whose results are rounded.
pub(super) fn curves(fun: Fun) -> Vec<Row> {
    match fun {
        Fun::Cos => one("cos(a)", fun),
        Fun::Cosh => one("cosh(a)", fun),
        Fun::Sin => one("sin(a)", fun),
        Fun::Sinh => one("sinh(a)", fun),
        Fun::Tan => one("tan(a)", fun),
        Fun::Tanh => one("tanh(a)", fun),
        Fun::Acos => one("acos(a)", fun),
        Fun::Asin => one("asin(a)", fun),
        Fun::Atan => one("atan(a)", fun),
        Fun::Atan2 => two("atan2(a, b)", fun),
        Fun::Asinh => one("asinh(a)", fun),
        Fun::Acosh => one("acosh(a)", fun),
        Fun::Atanh => one("atanh(a)", fun),
        Fun::Exp => one("exp(a)", fun),
        Fun::Exp2 => one("exp2(a)", fun),
        Fun::Log => one("log(a)", fun),
        Fun::Log2 => one("log2(a)", fun),
        Fun::Pow => two("pow(a, b)", fun),
        Fun::Sqrt => one("sqrt(a)", fun),
        Fun::InverseSqrt => one("inverseSqrt(a)", fun),
        Fun::QuantizeToF16 => {
            let (reference, bound) = of_one(fun);
            vec![row_of_words("quantizeToF16(a)", "f* -> f*", reference, bound)]
        }
        _ => unreachable!("bug: {fun:?} is in another group"),
    }
}

/// Returns the calls of a function that splits floats into fraction and exponent, or combines them.
pub(super) fn parts(fun: Fun) -> Vec<Row> {
    match fun {
        Fun::Ceil => vec![row("ceil(a)", "f* -> f*", each(|x| x[0].ceil()), exact())],
        Fun::Floor => vec![row("floor(a)", "f* -> f*", each(|x| x[0].floor()), exact())],
        Fun::Round => vec![row("round(a)", "f* -> f*", each(|x| x[0].round_ties_even()), exact())],
        Fun::Fract => vec![row("fract(a)", "f* -> f*", each(|x| x[0] - x[0].floor()), ulps(1.0))],
        Fun::Trunc => vec![row("trunc(a)", "f* -> f*", each(|x| x[0].trunc()), exact())],
        Fun::Modf => vec![
            row("modf(a).fract", "f* -> f*", each(|x| x[0].fract()), exact()),
            row("modf(a).whole", "f* -> f*", each(|x| x[0].trunc()), exact()),
        ],
        // For `f16`, naga declares a 16-bit exponent, which no kernel can use.
        Fun::Frexp => vec![
            row_without_halves("frexp(a).fract", "f* -> f*", each(|x| frexp(x[0]).0), exact()),
            row_without_halves("frexp(a).exp", "f* -> i*", each(|x| frexp(x[0]).1), exact()),
        ],
        Fun::Ldexp => vec![row("ldexp(a, b)", "f* e* -> f*", each(|x| ldexp(x[0], x[1])), ulps(1.0))],
        _ => unreachable!("bug: {fun:?} is in another group"),
    }
}

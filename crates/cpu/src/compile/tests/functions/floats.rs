//! The calls of functions of numbers, component by component.

use super::Row;
use super::bits;
use super::reference::{each, exact, frexp, of_components, of_one, of_two, ulps};
use super::rows::row;
use crate::arith::tests::accuracy::ulp;
use naga::MathFunction as Fun;

const TWO: [&str; 3] = ["f* f* -> f*", "i* i* -> i*", "u* u* -> u*"];

/// Returns the call of a function of one number whose reference and bound are in the table of the arithmetic.
fn one(text: &'static str, fun: Fun) -> Vec<Row> {
    let (reference, bound) = of_one(fun);
    vec![row(text, "f* -> f*", reference, bound)]
}

fn two(text: &'static str, fun: Fun) -> Vec<Row> {
    let (reference, bound) = of_two(fun);
    vec![row(text, "f* f* -> f*", reference, bound)]
}

/// Returns the calls of a function that has an exact result for every type of numbers.
fn of_all_types(text: &'static str, types: [&'static str; 3], f: fn(&[f64]) -> f64) -> Vec<Row> {
    types.map(|types| row(text, types, each(f), exact())).into()
}

/// Returns the calls of a function that compares or combines numbers.
pub(super) fn numbers(fun: Fun) -> Vec<Row> {
    match fun {
        Fun::Abs => vec![
            row("abs(a)", "f* -> f*", each(|x| x[0].abs()), exact()),
            row("abs(a)", "i* -> i*", each(|x| bits::signed(x[0].abs() as i128)), exact()),
            row("abs(a)", "u* -> u*", each(|x| x[0]), exact()),
        ],
        Fun::Min => of_all_types("min(a, b)", TWO, |x| x[0].min(x[1])),
        Fun::Max => of_all_types("max(a, b)", TWO, |x| x[0].max(x[1])),
        Fun::Clamp => {
            let types = ["f* f* f* -> f*", "i* i* i* -> i*", "u* u* u* -> u*"];
            of_all_types("clamp(a, b, c)", types, |x| x[0].max(x[1]).min(x[2]))
        }
        Fun::Saturate => vec![row("saturate(a)", "f* -> f*", each(|x| x[0].clamp(0.0, 1.0)), exact())],
        Fun::Radians => vec![row("radians(a)", "f* -> f*", each(|x| x[0].to_radians()), ulps(3.0))],
        Fun::Degrees => vec![row("degrees(a)", "f* -> f*", each(|x| x[0].to_degrees()), ulps(3.0))],
        Fun::Sign => {
            let sign = |x: &[f64]| if x[0] == 0.0 { 0.0 } else { x[0].signum() };
            vec![
                row("sign(a)", "f* -> f*", each(sign), exact()),
                row("sign(a)", "i* -> i*", each(sign), exact()),
            ]
        }
        Fun::Fma => {
            let bound = of_components(|x, exact| ulp(x[0] * x[1]) + ulp(exact));
            vec![row("fma(a, b, c)", "m* m* m* -> f*", each(|x| x[0] * x[1] + x[2]), bound)]
        }
        Fun::Mix => {
            let mix = |x: &[f64]| x[0] * (1.0 - x[2]) + x[1] * x[2];
            let bound = || of_components(|x, _| 3.0 * (ulp(x[0]) + ulp(x[0] * x[2]) + ulp(x[1] * x[2])));
            vec![
                row("mix(a, b, c)", "m* m* m* -> f*", each(mix), bound()),
                row("mix(a, b, c)", "m3 m3 m -> f3", each(mix), bound()),
            ]
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
            let bound = of_components(|_, _| 1e-6);
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
        Fun::QuantizeToF16 => one("quantizeToF16(a)", fun),
        _ => unreachable!("bug: {fun:?} is in another group"),
    }
}

/// Returns the calls of a function that takes numbers apart or puts them together.
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
        Fun::Frexp => vec![
            row("frexp(a).fract", "f* -> f*", each(|x| frexp(x[0]).0), exact()),
            row("frexp(a).exp", "f* -> i*", each(|x| frexp(x[0]).1), exact()),
        ],
        Fun::Ldexp => vec![row("ldexp(a, b)", "f* e* -> f*", each(|x| x[0] * x[1].exp2()), ulps(1.0))],
        _ => unreachable!("bug: {fun:?} is in another group"),
    }
}

//! The errors of functions without an exact result.
//!
//! The references are the functions of the standard library on `f64`. `cargo test accuracy -- --nocapture` prints the
//! largest error of each function.

use super::edges::{call, doubles, floats, nearest_half, same};
use crate::arith::Scalar;
use half::f16;
use naga::MathFunction as Fun;
use std::f64::consts::PI;

/// A function of one number, its reference, and the `f32` error that WGSL allows for an argument and an exact result.
pub(crate) struct Row {
    pub(crate) fun: Fun,
    pub(crate) reference: fn(f64) -> f64,
    pub(crate) allowed: fn(x: f64, exact: f64) -> f64,
}

/// Functions of one number. Where WGSL derives the error from a formula, the table has three units in the last place,
/// which is stricter.
pub(crate) const TABLE: [Row; 19] = [
    Row { fun: Fun::Cos, reference: f64::cos, allowed: |x, _| trigonometric(x) },
    Row { fun: Fun::Sin, reference: f64::sin, allowed: |x, _| trigonometric(x) },
    Row { fun: Fun::Tan, reference: f64::tan, allowed: |_, exact| 3.0 * ulp(exact) },
    Row { fun: Fun::Cosh, reference: f64::cosh, allowed: |_, exact| 3.0 * ulp(exact) },
    Row { fun: Fun::Sinh, reference: f64::sinh, allowed: |_, exact| 3.0 * ulp(exact) },
    Row { fun: Fun::Tanh, reference: f64::tanh, allowed: |_, _| 1e-5 },
    Row { fun: Fun::Acos, reference: f64::acos, allowed: |_, _| 6.77e-5 },
    Row { fun: Fun::Asin, reference: f64::asin, allowed: |_, _| 6.81e-5 },
    Row { fun: Fun::Atan, reference: f64::atan, allowed: |_, exact| 4096.0 * ulp(exact) },
    Row { fun: Fun::Asinh, reference: f64::asinh, allowed: |_, exact| 3.0 * ulp(exact) },
    Row { fun: Fun::Acosh, reference: f64::acosh, allowed: |_, exact| 3.0 * ulp(exact) },
    Row { fun: Fun::Atanh, reference: f64::atanh, allowed: |_, exact| 3.0 * ulp(exact) },
    Row { fun: Fun::Exp, reference: f64::exp, allowed: |x, exact| (3.0 + 2.0 * x.abs()) * ulp(exact) },
    Row {
        fun: Fun::Exp2,
        reference: |x| 2_f64.powf(x),
        allowed: |x, exact| (3.0 + 2.0 * x.abs()) * ulp(exact),
    },
    Row { fun: Fun::Log, reference: f64::ln, allowed: logarithmic },
    Row { fun: Fun::Log2, reference: f64::log2, allowed: logarithmic },
    Row { fun: Fun::InverseSqrt, reference: inverse_sqrt, allowed: |_, exact| 2.0 * ulp(exact) },
    Row { fun: Fun::Sqrt, reference: |x| x.sqrt(), allowed: |_, exact| ulp(exact) },
    Row { fun: Fun::QuantizeToF16, reference: |x| nearest_half(x).to_f64(), allowed: |_, _| 0.0 },
];

/// A function of two numbers.
pub(crate) struct Pair {
    pub(crate) fun: Fun,
    pub(crate) reference: fn(f64, f64) -> f64,
    pub(crate) allowed: fn(x: f64, y: f64, exact: f64) -> f64,
}

pub(crate) const PAIRS: [Pair; 2] = [
    Pair { fun: Fun::Atan2, reference: f64::atan2, allowed: |_, _, exact| 4096.0 * ulp(exact) },
    Pair {
        fun: Fun::Pow,
        reference: f64::powf,
        allowed: |x, y, exact| (3.0 + 2.0 * (y * x.abs().log2()).abs()) * ulp(exact),
    },
];

/// Error, in units in the last place, of a result that is rounded to the nearest number.
const NEAREST: f64 = 0.500_001;

/// Error of a reciprocal square root; the square root is rounded too.
const ROUNDED_TWICE: f64 = 1.5;

fn inverse_sqrt(x: f64) -> f64 {
    match x {
        0.0 => f64::INFINITY.copysign(x),
        _ if x < 0.0 => f64::NAN,
        _ => x.powf(-0.5),
    }
}

fn trigonometric(x: f64) -> f64 {
    if x.abs() <= PI { 2_f64.powi(-11) } else { f64::INFINITY }
}

fn logarithmic(x: f64, exact: f64) -> f64 {
    if (0.5..=2.0).contains(&x) { 2_f64.powi(-21) } else { 3.0 * ulp(exact) }
}

/// A floating-point format.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    /// Number of mantissa bits after the point.
    fraction: f64,
    /// Smallest and greatest exponent of a normal number.
    exponents: [f64; 2],
}

impl Format {
    pub(crate) const F16: Self = Self { fraction: 10.0, exponents: [-14.0, 15.0] };
    pub(crate) const F32: Self = Self { fraction: 23.0, exponents: [-126.0, 127.0] };
    pub(crate) const F64: Self = Self { fraction: 52.0, exponents: [-1022.0, 1023.0] };

    /// Returns the distance between adjacent floats near a number.
    pub(crate) fn ulp(self, x: f64) -> f64 {
        let [least, greatest] = self.exponents;
        let exponent = if x == 0.0 { least } else { x.abs().log2().floor().clamp(least, greatest) };
        2_f64.powf(exponent - self.fraction)
    }
}

/// Returns the distance between adjacent `f32`s near a number.
fn ulp(x: f64) -> f64 {
    Format::F32.ulp(x)
}

/// Returns the error of an `f32` result, or infinity if an infinity or a NaN is expected and missing.
fn error(got: Scalar, exact: f64) -> f64 {
    let Scalar::F32(got) = got else { panic!("{got:?} is not an f32") };
    let nearest = exact as f32;
    if nearest.is_finite() && got.is_finite() {
        (f64::from(got) - exact).abs()
    } else if same(Scalar::F32(got), Scalar::F32(nearest)) {
        0.0
    } else {
        f64::INFINITY
    }
}

/// Calls a function for each number. Returns the largest error in units in the last place, and in units of the error
/// that WGSL allows.
fn largest(fun: Fun, errors: impl Iterator<Item = (f64, f64, f64)>) -> (f64, f64) {
    let relative =
        |error: f64, unit: f64| if error == 0.0 || error.is_infinite() { error } else { error / unit };
    let (ulps, share) = errors.fold((0.0_f64, 0.0_f64), |(ulps, share), (error, unit, allowed)| {
        (ulps.max(relative(error, unit)), share.max(relative(error, allowed)))
    });
    println!("{fun:?}: {ulps:.7} units in the last place, {share:.2e} of the error that WGSL allows");
    (ulps, share)
}

#[test]
fn functions_of_one_f32_are_within_the_bounds_of_wgsl_and_nearest() {
    for Row { fun, reference, allowed } in TABLE {
        let errors = floats().into_iter().map(|x| {
            let wide = f64::from(x);
            let got = call(fun, &[Scalar::F32(x)]);
            let exact = reference(wide);
            (error(got, exact), ulp(exact), allowed(wide, exact))
        });
        let (ulps, share) = largest(fun, errors);
        assert!(share <= 1.0, "{fun:?} has an error that WGSL does not allow");
        let most = if fun == Fun::InverseSqrt { ROUNDED_TWICE } else { NEAREST };
        assert!(ulps <= most, "{fun:?} is {ulps} units in the last place away");
    }
}

#[test]
fn functions_of_one_f32_are_nearest_at_random_numbers() {
    let count = if std::env::var_os("FENCEPOST_TEST_FULL").is_some() { 1 << 24 } else { 1 << 13 };
    for Row { fun, reference, .. } in TABLE.into_iter().filter(|row| row.fun != Fun::InverseSqrt) {
        let mut random = fastrand::Rng::with_seed(9);
        // Half of the numbers are near 1, where results of all magnitudes occur.
        let mut number = |at: usize| match at % 2 {
            0 => f32::from_bits(random.u32(..)),
            _ => (random.f32() - 0.5) * 2_f32.powi(random.i32(-3..8)),
        };
        let errors = (0..count).map(|at| {
            let x = number(at);
            let exact = reference(x.into());
            (error(call(fun, &[Scalar::F32(x)]), exact), ulp(exact), f64::INFINITY)
        });
        let (ulps, _) = largest(fun, errors);
        assert!(ulps <= NEAREST, "{fun:?} is {ulps} units in the last place away");
    }
}

#[test]
fn functions_of_two_f32_are_within_the_bounds_of_wgsl_and_nearest() {
    for Pair { fun, reference, allowed } in PAIRS {
        let pairs = floats().into_iter().flat_map(|x| floats().into_iter().map(move |y| (x, y)));
        let errors = pairs.map(|(x, y)| {
            let got = call(fun, &[Scalar::F32(x), Scalar::F32(y)]);
            let x = f64::from(x);
            let y = f64::from(y);
            let exact = reference(x, y);
            (error(got, exact), ulp(exact), allowed(x, y, exact))
        });
        let (ulps, share) = largest(fun, errors);
        assert!(share <= 1.0, "{fun:?} has an error that WGSL does not allow");
        assert!(ulps <= NEAREST, "{fun:?} is {ulps} units in the last place away");
    }
}

#[test]
fn functions_of_every_f16_give_the_nearest_f16() {
    for Row { fun, reference, .. } in TABLE.into_iter().filter(|row| row.fun != Fun::QuantizeToF16) {
        for x in (0..=u16::MAX).map(f16::from_bits) {
            let got = call(fun, &[Scalar::F16(x)]);
            let expected = nearest_half(reference(x.to_f64()));
            assert!(same(got, Scalar::F16(expected)), "{fun:?} of {x:e}: {got:?}, not {expected:e}");
        }
    }
}

#[test]
fn functions_of_f64_are_within_four_units_of_the_standard_library() {
    for Row { fun, reference, .. } in TABLE.into_iter().filter(|row| row.fun != Fun::QuantizeToF16) {
        for x in doubles() {
            let Scalar::F64(got) = call(fun, &[Scalar::F64(x)]) else { panic!("{fun:?} gives no f64") };
            let exact = reference(x);
            let close = (got - exact).abs() <= 4.0 * f64::EPSILON * exact.abs().max(f64::MIN_POSITIVE);
            assert!(
                close || same(Scalar::F64(got), Scalar::F64(exact)),
                "{fun:?} of {x:e}: {got:e}, not {exact:e}"
            );
        }
    }
}

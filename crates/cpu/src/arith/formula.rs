//! Functions of numbers that WGSL defines by an arithmetic formula.
//!
//! They execute the formula step by step in the type of the arguments. Compiled code that does the same gets the same
//! bits.

use super::real::Real;

/// Returns the number without its sign.
pub(crate) fn abs<R: Real>(x: R) -> R {
    x.abs()
}

/// Returns the least integer that is at least `x`.
pub(crate) fn ceil<R: Real>(x: R) -> R {
    x.ceil()
}

/// Returns the greatest integer that is at most `x`.
pub(crate) fn floor<R: Real>(x: R) -> R {
    x.floor()
}

/// Returns the nearest integer, ties to even.
pub(crate) fn round<R: Real>(x: R) -> R {
    x.round_ties_even()
}

/// Returns the number without its fraction.
pub(crate) fn trunc<R: Real>(x: R) -> R {
    x.trunc()
}

/// Returns the square root.
pub(crate) fn sqrt<R: Real>(x: R) -> R {
    x.sqrt()
}

/// Returns the reciprocal of the square root. Both steps are rounded, as in compiled code.
pub(crate) fn inverse_sqrt<R: Real>(x: R) -> R {
    R::of(1.0) / x.sqrt()
}

/// Returns `b` if it is less than `a`, and `a` otherwise. If one is NaN, it returns the other one.
pub(crate) fn min<R: Real>(a: R, b: R) -> R {
    if b < a || is_nan(a) { b } else { a }
}

/// Returns `b` if it is greater than `a`, and `a` otherwise. If one is NaN, it returns the other one.
pub(crate) fn max<R: Real>(a: R, b: R) -> R {
    if b > a || is_nan(a) { b } else { a }
}

/// Returns `min(max(x, low), high)`. A NaN becomes `low`.
pub(crate) fn clamp<R: Real>(x: R, low: R, high: R) -> R {
    min(max(x, low), high)
}

/// Clamps a number to the range from 0 to 1. A NaN becomes 0.
pub(crate) fn saturate<R: Real>(x: R) -> R {
    clamp(x, R::of(0.0), R::of(1.0))
}

/// Returns 1, 0 or -1, and NaN for NaN.
pub(crate) fn sign<R: Real>(x: R) -> R {
    let zero = R::of(0.0);
    match x.partial_cmp(&zero) {
        Some(order) => R::of(f64::from(order as i8)),
        None => x,
    }
}

/// Returns 1 if `edge` is at most `x`, and 0 otherwise.
pub(crate) fn step<R: Real>(edge: R, x: R) -> R {
    R::of(if edge <= x { 1.0 } else { 0.0 })
}

/// Returns `x - floor(x)`. It is 1 for some small negative numbers.
pub(crate) fn fract<R: Real>(x: R) -> R {
    x - x.floor()
}

/// Returns `x * (1 - amount) + y * amount`.
pub(crate) fn mix<R: Real>(x: R, y: R, amount: R) -> R {
    x * (R::of(1.0) - amount) + y * amount
}

/// Returns a smooth curve from 0 at `low` to 1 at `high`.
pub(crate) fn smoothstep<R: Real>(low: R, high: R, x: R) -> R {
    let t = saturate((x - low) / (high - low));
    t * t * (R::of(3.0) - R::of(2.0) * t)
}

/// Returns `x - y * trunc(x / y)`, the value of `x % y`.
pub(crate) fn remainder<R: Real>(x: R, y: R) -> R {
    x - y * (x / y).trunc()
}

/// Converts degrees to radians.
pub(crate) fn radians<R: Real>(x: R) -> R {
    x * R::of(0.017_453_292_519_943_295)
}

/// Converts radians to degrees.
pub(crate) fn degrees<R: Real>(x: R) -> R {
    x * R::of(57.295_779_513_082_32)
}

#[allow(clippy::eq_op, reason = "NaN is the number that differs from itself")]
fn is_nan<R: Real>(x: R) -> bool {
    x != x
}

#[cfg(test)]
mod tests {
    use crate::arith::Scalar;
    use crate::arith::tests::edges::{
        INTEGERS, call, doubles, floats, halves, integers, real, same, wrapped,
    };
    use half::f16;
    use naga::MathFunction as Fun;

    /// Calls a function of `f32` numbers.
    fn single(fun: Fun, args: &[f32]) -> f64 {
        real(call(fun, &args.iter().map(|&x| Scalar::F32(x)).collect::<Vec<_>>()))
    }

    /// Splits a number into the integer below it and the fraction above that.
    fn split(x: f64) -> (f64, f64) {
        let whole = x as i64;
        let below = if (whole as f64) > x { whole - 1 } else { whole };
        (below as f64, x - below as f64)
    }

    #[test]
    fn rounded_numbers_are_the_integers_around_a_number() {
        // A number from 2^52 on is an integer.
        for x in doubles().into_iter().filter(|x| x.abs() < 2_f64.powi(52)) {
            let (below, fraction) = split(x);
            let above = if fraction == 0.0 { below } else { below + 1.0 };
            let even = if below % 2.0 == 0.0 { below } else { above };
            let nearest = if fraction < 0.5 {
                below
            } else if fraction > 0.5 {
                above
            } else {
                even
            };
            let cut = if x < 0.0 { above } else { below };
            let calls = [(Fun::Floor, below), (Fun::Ceil, above), (Fun::Round, nearest), (Fun::Trunc, cut)];
            for (fun, expected) in calls {
                assert_eq!(real(call(fun, &[Scalar::F64(x)])), expected, "{fun:?} of {x:e}");
                if f64::from(x as f32) == x {
                    assert_eq!(real(call(fun, &[Scalar::F32(x as f32)])), expected, "{fun:?} of {x:e}");
                }
            }
        }
        for x in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, 8_388_609.0] {
            for fun in [Fun::Floor, Fun::Ceil, Fun::Round, Fun::Trunc] {
                assert!(same(call(fun, &[Scalar::F32(x)]), Scalar::F32(x)), "{fun:?} of {x:e}");
            }
        }
    }

    #[test]
    fn min_and_max_are_the_ends_of_the_sorted_pair() {
        for x in floats().into_iter().filter(|x| !x.is_nan()) {
            for y in floats().into_iter().filter(|y| !y.is_nan()) {
                let mut sorted = [f64::from(x), f64::from(y)];
                sorted.sort_by(|a, b| a.partial_cmp(b).expect("no number is NaN"));
                assert_eq!([single(Fun::Min, &[x, y]), single(Fun::Max, &[x, y])], sorted);
            }
        }
    }

    #[test]
    fn min_max_and_clamp_prefer_a_number_to_nan() {
        let nan = f32::NAN;
        for x in [1.5, -0.0, f32::INFINITY] {
            for fun in [Fun::Min, Fun::Max] {
                assert_eq!(single(fun, &[x, nan]), x.into());
                assert_eq!(single(fun, &[nan, x]), x.into());
            }
        }
        assert!(single(Fun::Min, &[nan, nan]).is_nan() && single(Fun::Max, &[nan, nan]).is_nan());
        assert_eq!(single(Fun::Clamp, &[nan, -2.0, 3.0]), -2.0);
        assert_eq!(single(Fun::Saturate, &[nan]), 0.0);
    }

    #[test]
    fn min_and_max_of_equal_numbers_are_the_first_one() {
        for fun in [Fun::Min, Fun::Max] {
            assert!(single(fun, &[0.0, -0.0]).is_sign_positive());
            assert!(single(fun, &[-0.0, 0.0]).is_sign_negative());
        }
    }

    #[test]
    fn clamp_gives_the_middle_of_the_three_numbers() {
        let numbers = [-3.0, -0.5, 0.0, 0.25, 1.0, 7.0, f32::INFINITY, f32::NEG_INFINITY, 1e-40];
        for x in numbers {
            for low in numbers {
                for high in numbers.into_iter().filter(|&high| high >= low) {
                    let mut sorted = [x, low, high];
                    sorted.sort_by(f32::total_cmp);
                    assert_eq!(single(Fun::Clamp, &[x, low, high]), sorted[1].into());
                }
            }
            let mut sorted = [x, 0.0, 1.0];
            sorted.sort_by(f32::total_cmp);
            assert_eq!(single(Fun::Saturate, &[x]), sorted[1].into());
        }
    }

    #[test]
    fn clamp_with_a_low_end_above_the_high_end_gives_the_high_end() {
        for x in [-5, 0, 1, 2, 3, 5] {
            assert_eq!(single(Fun::Clamp, &[x as f32, 3.0, 1.0]), 1.0);
            assert_eq!(call(Fun::Clamp, &[x, 3, 1].map(Scalar::I32)), Scalar::I32(1));
        }
    }

    #[test]
    fn functions_of_integers_compare_their_values() {
        for ty in INTEGERS {
            let values = integers(ty);
            for (&a, &b) in values.iter().zip(values.iter().rev()) {
                let x = wrapped(ty, a);
                let y = wrapped(ty, b);
                assert_eq!(call(Fun::Min, &[x, y]), if a < b { x } else { y });
                assert_eq!(call(Fun::Max, &[x, y]), if a < b { y } else { x });
                assert_eq!(call(Fun::Abs, &[x]), wrapped(ty, if a < 0 { -a } else { a }));
                assert_eq!(call(Fun::Sign, &[x]), wrapped(ty, i128::from(a > 0) - i128::from(a < 0)));
                for c in values.iter().map(|&c| c.max(b)) {
                    let expected = if a < b {
                        b
                    } else if a > c {
                        c
                    } else {
                        a
                    };
                    assert_eq!(call(Fun::Clamp, &[x, y, wrapped(ty, c)]), wrapped(ty, expected));
                }
            }
        }
    }

    #[test]
    fn signs_and_absolute_values_of_floats_are_exact() {
        for x in floats() {
            assert!(same(
                call(Fun::Abs, &[Scalar::F32(x)]),
                Scalar::F32(f32::from_bits(x.to_bits() << 1 >> 1))
            ));
            let sign = single(Fun::Sign, &[x]);
            assert!(if x.is_nan() {
                sign.is_nan()
            } else {
                sign == f64::from(i8::from(x > 0.0) - i8::from(x < 0.0))
            });
        }
        for x in halves() {
            let positive = f16::from_bits(x.to_bits() & 0x7fff);
            assert!(same(call(Fun::Abs, &[Scalar::F16(x)]), Scalar::F16(positive)));
        }
    }

    #[test]
    fn step_is_one_from_the_edge_on() {
        for edge in floats() {
            for x in floats() {
                let before = x < edge || x.is_nan() || edge.is_nan();
                assert_eq!(single(Fun::Step, &[edge, x]), if before { 0.0 } else { 1.0 });
            }
        }
    }

    #[test]
    fn fract_is_the_nearest_float_to_the_exact_fraction() {
        for x in floats().into_iter().filter(|x| x.abs() < 1e15) {
            let exact = f64::from(x).rem_euclid(1.0);
            assert_eq!(single(Fun::Fract, &[x]), f64::from(exact as f32), "{x:e}");
        }
        assert_eq!(single(Fun::Fract, &[-1e-20]), 1.0);
    }

    #[test]
    fn mix_goes_from_one_number_to_the_other() {
        for (x, y) in [(0.0, 1.0), (-3.0, 7.0), (1e30, -1e30), (2.5, 2.5)] {
            assert_eq!(
                [single(Fun::Mix, &[x, y, 0.0]), single(Fun::Mix, &[x, y, 1.0])],
                [x.into(), y.into()]
            );
            for amount in floats().into_iter().filter(|amount| amount.abs() <= 2.0) {
                let x = f64::from(x);
                let y = f64::from(y);
                let amount = f64::from(amount);
                let exact = x + (y - x) * amount;
                let got = single(Fun::Mix, &[x as f32, y as f32, amount as f32]);
                // Each of the four operations adds at most half a unit of the largest number.
                let bound = 4.0 * f64::from(f32::EPSILON) * x.abs().max(y.abs()) * amount.abs().max(1.0);
                assert!((got - exact).abs() <= bound, "{amount:e} between {x} and {y}: {got}, not {exact}");
            }
        }
    }

    #[test]
    fn smoothstep_rises_from_zero_to_one_and_is_symmetric() {
        let mut last = 0.0;
        for i in -20_i16..=120 {
            let x = f32::from(i) / 100.0;
            let got = single(Fun::SmoothStep, &[0.0, 1.0, x]);
            let mirrored = single(Fun::SmoothStep, &[1.0, 0.0, x]);
            assert!(got >= last && (0.0..=1.0).contains(&got), "{x}");
            assert!((got + mirrored - 1.0).abs() < 1e-6, "{x}");
            let t = f64::from(x).clamp(0.0, 1.0);
            assert!((got - (3.0 * t.powi(2) - 2.0 * t.powi(3))).abs() < 1e-6, "{x}");
            last = got;
        }
        assert_eq!(single(Fun::SmoothStep, &[2.0, 4.0, 3.0]), 0.5);
    }

    #[test]
    fn degrees_and_radians_differ_by_one_rounding_of_the_factor_and_one_of_the_product() {
        for x in floats().into_iter().filter(|x| x.is_normal() && x.abs() > 1e-35 && x.abs() < 1e35) {
            let half_turn = f64::from(x) / 180.0;
            for (got, exact) in [
                (single(Fun::Radians, &[x]), half_turn * std::f64::consts::PI),
                (single(Fun::Degrees, &[x]), f64::from(x) / std::f64::consts::PI * 180.0),
            ] {
                assert!(
                    (got / exact - 1.0).abs() <= f64::from(f32::EPSILON),
                    "{x:e}: {got:e}, not {exact:e}"
                );
            }
        }
    }

    #[test]
    fn formulas_of_f16_round_once() {
        for x in halves().into_iter().filter(|x| x.is_finite()) {
            let exact = x.to_f64().rem_euclid(1.0);
            let got = call(Fun::Fract, &[Scalar::F16(x)]);
            assert_eq!(got, Scalar::F16(crate::arith::tests::edges::nearest_half(exact)), "{x:e}");
        }
        let [a, b, c] = [1.0, 3.0, 0.5].map(|x| Scalar::F16(f16::from_f32(x)));
        assert_eq!(call(Fun::Mix, &[a, b, c]), Scalar::F16(f16::from_f32(2.0)));
        // The product of these numbers exceeds the greatest `f16`, but their sum does not.
        let [large, less] = [300.0, -60000.0].map(|x| Scalar::F16(f16::from_f32(x)));
        assert_eq!(call(Fun::Fma, &[large, large, less]), Scalar::F16(f16::from_f32(30000.0)));
    }
}

//! The functions of WGSL on one or two `f32`.

pub(crate) use super::curves::{
    acos, acosh, asin, asinh, atan, atan2, atanh, cos, cosh, exp, exp2, log, log2, pow, sin, sinh, tan, tanh,
};
use super::half;

/// Returns `x * y + z` with one rounding.
pub(crate) fn fma(x: f32, y: f32, z: f32) -> f32 {
    libm::fmaf(x, y, z)
}

/// Returns the nearest number that `f16` has.
#[inline(always)]
pub(crate) fn quantize(x: f32) -> f32 {
    half::widen(half::narrow(x))
}

/// Returns `x` times a power of two.
#[inline(always)]
pub(crate) fn ldexp(x: f32, exponent: i32) -> f32 {
    // At the ends of this range, every finite nonzero `f32` already becomes 0 or infinity.
    let exponent = exponent.clamp(-300, 300);
    let power = f64::from_bits(u64::from((1023 + exponent) as u32) << 52);
    (f64::from(x) * power) as f32
}

/// Splits `x` into a fraction from 0.5 to 1 and an exponent: `x` is the fraction times 2 to the exponent. Zeros,
/// infinities and NaN have the exponent 0 and are their own fraction.
#[inline(always)]
pub(crate) fn frexp(x: f32) -> (f32, i32) {
    const FIELD: u32 = 0xff << 23;
    // A multiplication by 2^24 makes a subnormal number normal.
    let is_small = x.abs() < f32::MIN_POSITIVE;
    let bits = if is_small { x * 16_777_216.0 } else { x }.to_bits();
    let exponent = (bits >> 23 & 0xff) as i32 - if is_small { 150 } else { 126 };
    let fraction = f32::from_bits(bits & !FIELD | 126 << 23);
    if x == 0.0 || !x.is_finite() { (x, 0) } else { (fraction, exponent) }
}

#[cfg(test)]
mod tests {
    use crate::arith::Scalar;
    use crate::arith::tests::edges::{call, doubles, floats, halves, nearest_half, real, same};
    use naga::MathFunction as Fun;

    #[test]
    fn fma_rounds_the_exact_sum_once() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..20_000 {
            // The sum of these integers is exact in `i128`, and its conversion to `f32` rounds once.
            let [a, b] = [0, 1].map(|_| random.i32(-0xff_ffff..=0xff_ffff));
            let c = random.i32(-0xff_ffff..=0xff_ffff);
            let shift = random.u32(0..40);
            let exact = i128::from(a) * i128::from(b) + (i128::from(c) << shift);
            let z = f64::from(c) * 2_f64.powi(shift as i32);
            let got = call(Fun::Fma, &[Scalar::F32(a as f32), Scalar::F32(b as f32), Scalar::F32(z as f32)]);
            assert_eq!(got, Scalar::F32(exact as f32), "{a} * {b} + ({c} << {shift})");
            let [a, b, c] = [0, 1, 2].map(|_| random.i64(-(1 << 53)..1 << 53));
            let exact = i128::from(a) * i128::from(b) + (i128::from(c) << shift);
            let z = c as f64 * 2_f64.powi(shift as i32);
            let got = call(Fun::Fma, &[Scalar::F64(a as f64), Scalar::F64(b as f64), Scalar::F64(z)]);
            assert_eq!(got, Scalar::F64(exact as f64), "{a} * {b} + ({c} << {shift})");
        }
    }

    #[test]
    fn fma_of_f16_rounds_the_exact_sum_once() {
        let numbers: Vec<_> = halves().into_iter().filter(|x| x.is_finite()).step_by(2).collect();
        for &x in &numbers {
            for &y in &numbers {
                for &z in &numbers {
                    // All of these are multiples of 2^-48, and the sum is less than 2^34.
                    let fixed = |x: half::f16| (x.to_f64() * 2_f64.powi(24)) as i128;
                    let exact = fixed(x) * fixed(y) + (fixed(z) << 24);
                    // Converting to `f64` with an odd last bit keeps the number on the same side of the midpoint of two
                    // `f16`s.
                    let odd =
                        if exact.unsigned_abs() >> 53 == 0 { exact } else { exact >> 20 << 20 | 1 << 20 };
                    let odd = if exact & 0xf_ffff == 0 { exact } else { odd };
                    let expected = nearest_half(odd as f64 * 2_f64.powi(-48));
                    let got = call(Fun::Fma, &[x, y, z].map(Scalar::F16));
                    assert!(
                        real(got) == expected.to_f64(),
                        "{x:e} * {y:e} + {z:e}: {got:?}, not {expected:e}"
                    );
                }
            }
        }
    }

    #[test]
    fn ldexp_multiplies_by_a_power_of_two_with_one_rounding() {
        for x in floats() {
            for exponent in -300..300 {
                let exact = f64::from(x) * 2_f64.powi(exponent);
                let args = [Scalar::F32(x), Scalar::I32(exponent)];
                assert!(same(call(Fun::Ldexp, &args), Scalar::F32(exact as f32)), "{x:e} and {exponent}");
            }
            let far = [i32::MIN, i32::MAX]
                .map(|exponent| real(call(Fun::Ldexp, &[Scalar::F32(x), Scalar::I32(exponent)])));
            let constant = x == 0.0 || !x.is_finite();
            assert!(
                x.is_nan()
                    || far == if constant { [x.into(); 2] } else { [0.0, f64::INFINITY.copysign(x.into())] }
            );
        }
        for x in halves() {
            for exponent in -60..60 {
                let exact = x.to_f64() * 2_f64.powi(exponent);
                let got = call(Fun::Ldexp, &[Scalar::F16(x), Scalar::I32(exponent)]);
                assert!(same(got, Scalar::F16(nearest_half(exact))), "{x:e} and {exponent}");
            }
        }
        for x in doubles().into_iter().filter(|x| x.is_normal()) {
            for exponent in [-900, -100, -1, 0, 1, 100, 900] {
                let got = call(Fun::Ldexp, &[Scalar::F64(x), Scalar::I32(exponent)]);
                assert_eq!(got, Scalar::F64(x * 2_f64.powi(exponent)), "{x:e} and {exponent}");
            }
        }
    }
}

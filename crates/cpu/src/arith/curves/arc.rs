//! The inverses of sine, cosine and tangent.

use super::polynomial::{limit, one_plus};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI, SQRT_2};

/// Coefficients of `p` in `asin(t) = t * (1 + t^2 * p(t^2))` from 0 to 1/2, with a relative error of at most 3.8e-15.
const ARC_SINE: [f64; 10] = [
    0.166_666_666_664_420_45,
    0.075_000_000_428_563_43,
    0.044_642_828_889_161_63,
    0.030_382_863_686_625_32,
    0.022_355_060_651_477_71,
    0.017_547_966_453_460_42,
    0.012_557_730_352_873_48,
    0.017_910_880_439_328_765,
    -0.007_301_354_369_248_570_4,
    0.031_506_243_891_280_34,
];

/// Coefficients of `p` in `atan(t) = t * (1 + t^2 * p(t^2))` from 0 to `sqrt(2) - 1`, with a relative error of at most
/// 1e-15.
const ARC_TANGENT: [f64; 9] = [
    -0.333_333_333_332_599_4,
    0.199_999_999_826_520_86,
    -0.142_857_128_706_650_07,
    0.111_110_543_337_798_34,
    -0.090_896_136_556_558_02,
    0.076_743_035_596_270_5,
    -0.065_101_544_264_011_68,
    0.050_371_107_497_494_75,
    -0.025_470_006_580_741_243,
];

/// Returns the arc sine of `|x|`, or half of the difference between pi/2 and it if `|x|` is above 1/2.
#[inline(always)]
fn arc_sine(x: f64) -> (f64, bool) {
    let x = x.abs();
    let is_far = x > 0.5;
    let square = if is_far { 0.5 - 0.5 * x } else { x * x };
    let root = square.sqrt();
    let t = if is_far { root } else { x };
    (t * one_plus(square, &ARC_SINE), is_far)
}

#[inline(always)]
pub(super) fn asin(x: f64) -> f64 {
    let (angle, is_far) = arc_sine(x);
    let angle = if is_far { FRAC_PI_2 - 2.0 * angle } else { angle };
    angle.copysign(x)
}

#[inline(always)]
pub(super) fn acos(x: f64) -> f64 {
    let (angle, is_far) = arc_sine(x);
    let below = if is_far { 2.0 * angle } else { FRAC_PI_2 - angle };
    if x < 0.0 { PI - below } else { below }
}

/// Returns the angle of a point with nonnegative coordinates. The point is turned by pi/4 if `y / x` is above
/// `sqrt(2) - 1`, and by pi/2 if it is above `sqrt(2) + 1`. The remaining angle is between -pi/8 and pi/8.
#[inline(always)]
fn angle(y: f64, x: f64) -> f64 {
    let is_low = y <= (SQRT_2 - 1.0) * x;
    let is_high = y > (SQRT_2 + 1.0) * x;
    let over = if is_high { -x } else { y - x };
    let over = if is_low { y } else { over };
    let under = if is_high { y } else { y + x };
    let under = if is_low { x } else { under };
    let under = if under == 0.0 { 1.0 } else { under };
    let turned = if is_high { FRAC_PI_2 } else { FRAC_PI_4 };
    let turned = if is_low { 0.0 } else { turned };
    let t = over / under;
    turned + t * one_plus(t * t, &ARC_TANGENT)
}

#[inline(always)]
pub(super) fn atan(x: f64) -> f64 {
    angle(x.abs(), 1.0).copysign(x)
}

#[inline(always)]
pub(super) fn atan2(y: f64, x: f64) -> f64 {
    // An infinity becomes a number that is large enough to make each finite `f32` negligible.
    let [far_y, far_x] = [y, x].map(|part| limit(part.abs(), 0.0, f64::from_bits(0x5900_0000_0000_0000)));
    let right = angle(far_y, far_x);
    let angle = if 1_f64.copysign(x) < 0.0 { PI - right } else { right };
    angle.copysign(y)
}

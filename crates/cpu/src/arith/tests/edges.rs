//! The numbers that the tests of arithmetic use, and the comparison of results.

use crate::arith::{Operand, Outcome, Scalar, math};
use half::f16;
use naga::{MathFunction, ScalarKind};

/// The four integer types.
pub(crate) const INTEGERS: [naga::Scalar; 4] =
    [naga::Scalar::I32, naga::Scalar::U32, naga::Scalar::I64, naga::Scalar::U64];

/// Function that makes a number of a type.
pub(crate) type Make = fn(f64) -> Scalar;

/// Constructor of each float type, with the distance from 1 to the next number.
pub(crate) const FLOAT_TYPES: [(Make, f64); 3] = [
    (|x| Scalar::F16(f16::from_f64(x)), 1.0 / 1024.0),
    (|x| Scalar::F32(x as f32), f32::EPSILON as f64),
    (Scalar::F64, f64::EPSILON),
];

/// Returns about 200 numbers: zeros, subnormals, infinities, NaN, extremes, halves, powers of two and random ones.
pub(crate) fn floats() -> Vec<f32> {
    let mut positive =
        vec![0.0, f32::from_bits(1), f32::from_bits(0x7f_ffff), f32::MIN_POSITIVE, f32::MAX, f32::INFINITY];
    positive.extend([
        0.1,
        0.25,
        0.3,
        0.5,
        1.5,
        2.5,
        3.0,
        10.0,
        100.5,
        8_388_607.5,
        16_777_217.0,
        1e-10,
        1e10,
        88.7,
        89.0,
    ]);
    positive.extend([0.25, 0.5, 1.0, 2.0, 100.0].map(|turns: f64| (std::f64::consts::PI * turns) as f32));
    positive.extend((-140..127).step_by(9).map(|exponent| 2_f64.powi(exponent) as f32));
    for near in [0.5_f32, 1.0, 2.0] {
        positive.extend([near.next_down(), near, near.next_up()]);
    }
    let mut random = fastrand::Rng::with_seed(1);
    positive.extend((0..20).map(|_| random.f32()));
    positive.extend((0..20).map(|_| f32::from_bits(random.u32(..0x7f80_0000))));
    let negative: Vec<f32> = positive.iter().map(|x| -x).collect();
    positive.into_iter().chain(negative).chain([f32::NAN]).collect()
}

/// Returns the [`floats`] as `f64`, and numbers that `f32` cannot represent.
pub(crate) fn doubles() -> Vec<f64> {
    let mut random = fastrand::Rng::with_seed(2);
    let wide = [f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1), 1e300, 1e-300, 4_503_599_627_370_497.5, 0.1];
    let random: Vec<f64> = (0..40).map(|_| f64::from_bits(random.u64(..0x7ff0_0000_0000_0000))).collect();
    let positive = wide.into_iter().chain(random);
    positive.flat_map(|x| [x, -x]).chain(floats().into_iter().map(f64::from)).collect()
}

/// Returns numbers of type `f16`, among them the extremes of all kinds.
pub(crate) fn halves() -> Vec<f16> {
    let mut random = fastrand::Rng::with_seed(3);
    let edges = [0, 1, 2, 0x3ff, 0x400, 0x401, 0x3bff, 0x3c00, 0x3c01, 0x4248, 0x7bff, 0x7c00];
    let random: Vec<u16> = (0..30).map(|_| random.u16(..0x7c00)).collect();
    let positive = edges.into_iter().chain(random);
    positive.flat_map(|bits| [bits, bits | 0x8000]).chain([0x7e00]).map(f16::from_bits).collect()
}

/// Returns values of an integer type: small ones, extremes, powers of two and random ones.
pub(crate) fn integers(ty: naga::Scalar) -> Vec<i128> {
    let mut random = fastrand::Rng::with_seed(4);
    let (least, greatest) = range(ty);
    let mut values = vec![least, least + 1, least + 2, greatest, greatest - 1, greatest / 2, greatest / 3];
    values.extend(-9..10);
    // Converting these to `f32` via `f64` would round twice.
    let twice = (1_i128 << 60) + (1 << 36) + 1;
    values.extend([twice, -twice, 8 * twice]);
    values.extend((0..i128::BITS / 2).step_by(5).flat_map(|bit| [1_i128 << bit, -(1_i128 << bit)]));
    values.extend((0..20).map(|_| i128::from(random.i64(..))));
    values.extend((0..20).map(|_| i128::from(random.i32(..))));
    values.retain(|value| (least..=greatest).contains(value));
    values
}

/// Returns the least and the greatest value of an integer type.
pub(crate) fn range(ty: naga::Scalar) -> (i128, i128) {
    let bits = u32::from(ty.width) * 8;
    match ty.kind {
        ScalarKind::Sint => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
        _ => (0, (1_i128 << bits) - 1),
    }
}

/// Returns the value of an integer.
pub(crate) fn value(x: Scalar) -> i128 {
    match x {
        Scalar::I32(x) => x.into(),
        Scalar::U32(x) => x.into(),
        Scalar::I64(x) => x.into(),
        Scalar::U64(x) => x.into(),
        _ => panic!("{x:?} is not an integer"),
    }
}

/// Wraps a value to an integer type.
pub(crate) fn wrapped(ty: naga::Scalar, value: i128) -> Scalar {
    Scalar::from_bits(ty, value as u64)
}

/// Finds the nearest `f16` by a search, ties to even.
pub(crate) fn nearest_half(x: f64) -> f16 {
    let mut low = 0_u16;
    let mut high = 0x7c00_u16;
    if x.is_nan() {
        return f16::NAN;
    }
    // The number after the last finite one stands for infinity.
    let at = |bits: u16| if bits == 0x7c00 { 65536.0 } else { f16::from_bits(bits).to_f64() };
    while high - low > 1 {
        let middle = low.midpoint(high);
        if at(middle) <= x.abs() { low = middle } else { high = middle }
    }
    let below = x.abs() - at(low);
    let above = at(high) - x.abs();
    let bits = if below < above || (below == above && low.is_multiple_of(2)) { low } else { high };
    f16::from_bits(bits | if x.is_sign_negative() { 0x8000 } else { 0 })
}

/// Returns `true` if two floats have the same bits or are both NaN.
pub(crate) fn same(a: Scalar, b: Scalar) -> bool {
    let nan = |x: Scalar| match x {
        Scalar::F16(x) => x.is_nan(),
        Scalar::F32(x) => x.is_nan(),
        Scalar::F64(x) => x.is_nan(),
        _ => false,
    };
    a.ty() == b.ty() && (a.bits() == b.bits() || nan(a) && nan(b))
}

/// Calls a built-in function that takes and returns scalars.
pub(crate) fn call(fun: MathFunction, args: &[Scalar]) -> Scalar {
    let args: Vec<Operand<'_>> = args.iter().map(|&arg| Operand::Scalar(arg)).collect();
    match math(fun, &args) {
        Outcome::Scalar(result) => result,
        other => panic!("{other:?} is not a scalar"),
    }
}

/// Returns a float as `f64`.
pub(crate) fn real(x: Scalar) -> f64 {
    match x {
        Scalar::F16(x) => x.to_f64(),
        Scalar::F32(x) => x.into(),
        Scalar::F64(x) => x,
        _ => panic!("{x:?} is not a float"),
    }
}

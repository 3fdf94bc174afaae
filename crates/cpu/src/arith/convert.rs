//! Conversions between the types of scalars.

use super::Scalar;
use super::narrow::narrow;
use half::f16;
use naga::ScalarKind;

/// Converts a value to the type of a kind and a width in bytes, or reinterprets its bits if there is no width.
///
/// An integer keeps its low bits, or repeats its sign in a wider type. A float becomes the nearest float of the other type.
/// A float outside the range of an integer type becomes the last float inside it, a fraction is dropped, and a NaN becomes 0.
/// `true` becomes 1, and all numbers except zeros become `true`.
///
/// # Panics
/// Panics for a type that no scalar of a validated module has, which is a bug.
pub(crate) fn convert(x: Scalar, kind: ScalarKind, width: Option<u8>) -> Scalar {
    let Some(width) = width else {
        return Scalar::from_bits(naga::Scalar { kind, width: x.ty().width }, x.bits());
    };
    match (kind, width) {
        (ScalarKind::Bool, _) => Scalar::Bool(is_true(x)),
        (ScalarKind::Sint, 4) => Scalar::I32(to_integer(x, i32::MIN.into(), i32::MAX.into()) as i32),
        (ScalarKind::Uint, 4) => Scalar::U32(to_integer(x, 0, u32::MAX.into()) as u32),
        (ScalarKind::Sint, 8) => Scalar::I64(to_integer(x, i64::MIN.into(), i64::MAX.into()) as i64),
        (ScalarKind::Uint, 8) => Scalar::U64(to_integer(x, 0, u64::MAX.into()) as u64),
        (ScalarKind::Float, 2) => Scalar::F16(to_f16(x)),
        (ScalarKind::Float, 4) => Scalar::F32(to_f32(x)),
        (ScalarKind::Float, 8) => Scalar::F64(to_f64(x)),
        _ => unreachable!("bug: no scalar of a kernel has the kind {kind:?} and {width} bytes"),
    }
}

fn is_true(x: Scalar) -> bool {
    match x {
        Scalar::F16(_) | Scalar::F32(_) | Scalar::F64(_) => to_f64(x) != 0.0,
        _ => x.bits() != 0,
    }
}

/// Returns an integer as it is, and a float after a limitation to the least and the greatest integer of a type.
/// The greatest one is the greatest that the type of the float holds.
pub(super) fn to_integer(x: Scalar, least: i128, greatest: i128) -> i128 {
    match x {
        Scalar::Bool(x) => x.into(),
        Scalar::I32(x) => x.into(),
        Scalar::U32(x) => x.into(),
        Scalar::I64(x) => x.into(),
        Scalar::U64(x) => x.into(),
        Scalar::F16(x) => (x.to_f64() as i128).clamp(least, greatest.min(65504)),
        Scalar::F32(x) => (x as i128).clamp(least, last(greatest, 24)),
        Scalar::F64(x) => (x as i128).clamp(least, last(greatest, 53)),
    }
}

/// Returns an integer of the form 2^n - 1 with zeros below its `digits` highest bits.
fn last(greatest: i128, digits: u32) -> i128 {
    let spare = greatest.count_ones().saturating_sub(digits);
    greatest >> spare << spare
}

fn to_f16(x: Scalar) -> f16 {
    match x {
        Scalar::F16(x) => x,
        Scalar::F32(x) => f16::from_f32(x),
        // An integer that `f64` cannot hold is beyond the greatest `f16`.
        _ => narrow(to_f64(x)),
    }
}

fn to_f32(x: Scalar) -> f32 {
    match x {
        Scalar::Bool(x) => x.into(),
        Scalar::I32(x) => x as f32,
        Scalar::U32(x) => x as f32,
        Scalar::I64(x) => x as f32,
        Scalar::U64(x) => x as f32,
        Scalar::F16(x) => x.to_f32(),
        Scalar::F32(x) => x,
        Scalar::F64(x) => x as f32,
    }
}

/// Returns the nearest `f64`.
pub(super) fn to_f64(x: Scalar) -> f64 {
    match x {
        Scalar::Bool(x) => x.into(),
        Scalar::I32(x) => x.into(),
        Scalar::U32(x) => x.into(),
        Scalar::I64(x) => x as f64,
        Scalar::U64(x) => x as f64,
        Scalar::F16(x) => x.to_f64(),
        Scalar::F32(x) => x.into(),
        Scalar::F64(x) => x,
    }
}

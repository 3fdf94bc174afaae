//! Conversions between the types of scalars.

use super::Scalar;
use super::narrow::narrow;
use super::operator::{Operator, f, i, of_f, of_i, u};
use half::f16;
use naga::{Scalar as Type, ScalarKind};

/// Converts a value to a kind and a width in bytes, or reinterprets its bits if there is no width.
///
/// An integer keeps its low bits, or repeats its sign in a wider type. A float becomes the nearest float of the other
/// type. A float outside the range of an integer type becomes the last float inside it, a fraction is dropped, and a
/// NaN becomes 0. `true` becomes 1, and all numbers except zeros become `true`.
///
/// # Panics
/// Panics for a type that cannot occur in a validated module, which is a bug.
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

/// Returns a conversion between common types as a function of bits, which needs no choice of the type for each number.
pub(crate) fn conversion(from: Type, to: Type) -> Option<Operator> {
    Some(match (from, to) {
        (Type::U32 | Type::I32 | Type::BOOL, Type::U32 | Type::I32) => |a, _| a,
        (Type::U32, Type::F32) => |a, _| of_f(u(a) as f32),
        (Type::I32, Type::F32) => |a, _| of_f(i(a) as f32),
        (Type::F32, Type::U32) => |a, _| u64::from((f(a) as u32).min(LAST_U32)),
        (Type::F32, Type::I32) => |a, _| of_i((f(a) as i32).min(LAST_I32)),
        _ => return None,
    })
}

/// Greatest `u32` that is an `f32`.
const LAST_U32: u32 = 0xffff_ff00;
/// Greatest `i32` that is an `f32`.
const LAST_I32: i32 = 0x7fff_ff80;

fn is_true(x: Scalar) -> bool {
    match x {
        Scalar::F16(_) | Scalar::F32(_) | Scalar::F64(_) => to_f64(x) != 0.0,
        _ => x.bits() != 0,
    }
}

/// Returns an integer unchanged, and a float clamped to the range of an integer type. The limits must be representable
/// in the float's type, so the upper limit may be below the greatest integer.
pub(super) fn to_integer(x: Scalar, least: i128, greatest: i128) -> i128 {
    match x {
        Scalar::Bool(x) => x.into(),
        Scalar::I32(x) => x.into(),
        Scalar::U32(x) => x.into(),
        Scalar::I64(x) => x.into(),
        Scalar::U64(x) => x.into(),
        Scalar::F16(x) => (x.to_f64() as i128).clamp(least.max(-65504), greatest.min(65504)),
        Scalar::F32(x) => (x as i128).clamp(least, last(greatest, 24)),
        Scalar::F64(x) => (x as i128).clamp(least, last(greatest, 53)),
    }
}

/// Returns the integer 2^n - 1 with all bits below its `digits` highest ones cleared.
fn last(greatest: i128, digits: u32) -> i128 {
    let spare = greatest.count_ones().saturating_sub(digits);
    greatest >> spare << spare
}

fn to_f16(x: Scalar) -> f16 {
    match x {
        Scalar::F16(x) => x,
        Scalar::F32(x) => f16::from_f32(x),
        // An integer that `f64` cannot represent exceeds the greatest `f16`.
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

#[cfg(test)]
mod tests {
    use super::{conversion, convert};
    use crate::arith::Scalar;
    use crate::arith::tests::edges::{
        INTEGERS, doubles, floats, halves, integers, nearest_half, range, same, value, wrapped,
    };
    use half::f16;
    use naga::ScalarKind;

    #[test]
    fn an_integer_keeps_its_value_modulo_the_values_of_the_new_type() {
        for from in INTEGERS {
            for to in INTEGERS {
                for a in integers(from) {
                    let got = convert(wrapped(from, a), to.kind, Some(to.width));
                    let (least, greatest) = range(to);
                    let expected = (a - least).rem_euclid(greatest - least + 1) + least;
                    assert_eq!((got.ty(), value(got)), (to, expected), "{a} of {from:?}");
                }
            }
        }
    }

    /// Clamps a float to the range of an integer type. The upper limit is the greatest integer of the type with at most
    /// `digits` significant bits.
    fn last_inside(least: i128, greatest: i128, digits: u32, exact: f64) -> i128 {
        if exact.is_nan() {
            return 0;
        }
        let mut last = greatest;
        while (last >> last.trailing_zeros()) >= 1 << digits {
            last -= 1 << last.trailing_zeros();
        }
        // A float outside the range of `i128` is outside the range of every type.
        (exact as i128).clamp(least, last)
    }

    #[test]
    fn a_float_outside_a_type_of_integers_becomes_the_last_float_inside_it() {
        for to in INTEGERS {
            let (least, greatest) = range(to);
            for x in floats() {
                let got = value(convert(Scalar::F32(x), to.kind, Some(to.width)));
                assert_eq!(got, last_inside(least, greatest, 24, x.into()), "{x:e} as {to:?}");
            }
            for x in doubles() {
                let got = value(convert(Scalar::F64(x), to.kind, Some(to.width)));
                assert_eq!(got, last_inside(least, greatest, 53, x), "{x:e} as {to:?}");
            }
            for x in halves() {
                let got = value(convert(Scalar::F16(x), to.kind, Some(to.width)));
                let limited = x.to_f64().clamp(-65504.0, 65504.0);
                assert_eq!(got, last_inside(least, greatest, 24, limited), "{x:e} as {to:?}");
            }
        }
    }

    #[test]
    fn the_limits_of_integers_are_those_of_naga() {
        for to in INTEGERS {
            for from in [naga::Scalar::F16, naga::Scalar::F32, naga::Scalar::F64] {
                let (least, greatest) = naga::proc::min_max_float_representable_by(from, to);
                for (infinity, limit) in [(f32::NEG_INFINITY, least), (f32::INFINITY, greatest)] {
                    let limit = match limit {
                        naga::Literal::F16(x) => x.to_f64(),
                        naga::Literal::F32(x) => x.into(),
                        naga::Literal::F64(x) => x,
                        other => panic!("{other:?} is not a float"),
                    };
                    let float = convert(Scalar::F32(infinity), from.kind, Some(from.width));
                    let got = value(convert(float, to.kind, Some(to.width)));
                    assert_eq!(got, limit as i128, "{float:?} as {to:?}");
                }
            }
        }
    }

    #[test]
    fn an_integer_becomes_the_nearest_float() {
        for from in INTEGERS {
            for a in integers(from) {
                let x = wrapped(from, a);
                // The conversions of Rust from `i128` round to the nearest number.
                assert_eq!(convert(x, ScalarKind::Float, Some(4)), Scalar::F32(a as f32));
                assert_eq!(convert(x, ScalarKind::Float, Some(8)), Scalar::F64(a as f64));
                assert_eq!(convert(x, ScalarKind::Float, Some(2)), Scalar::F16(nearest_half(a as f64)));
            }
        }
    }

    #[test]
    fn a_float_becomes_the_nearest_float_of_another_type() {
        for x in doubles() {
            let half = convert(Scalar::F64(x), ScalarKind::Float, Some(2));
            assert!(same(half, Scalar::F16(nearest_half(x))), "{x:e}");
            let single = convert(Scalar::F64(x), ScalarKind::Float, Some(4));
            // Parsing a decimal text with all digits rounds only once.
            let parsed: f32 = format!("{x:e}").parse().expect("the text is a number");
            assert!(same(single, Scalar::F32(parsed)), "{x:e}");
        }
        for x in floats() {
            let half = convert(Scalar::F32(x), ScalarKind::Float, Some(2));
            assert!(same(half, Scalar::F16(nearest_half(x.into()))), "{x:e}");
            assert!(same(convert(Scalar::F32(x), ScalarKind::Float, Some(8)), Scalar::F64(x.into())));
        }
        for x in halves() {
            let wide = convert(Scalar::F16(x), ScalarKind::Float, Some(4));
            assert!(same(convert(wide, ScalarKind::Float, Some(2)), Scalar::F16(x)), "{x:e}");
        }
    }

    #[test]
    fn an_f64_near_the_middle_of_two_halves_is_not_rounded_twice() {
        let middle = 1.0 + 2_f64.powi(-11);
        let above = Scalar::F64(middle + 2_f64.powi(-40));
        assert_eq!(convert(above, ScalarKind::Float, Some(2)), Scalar::F16(f16::from_bits(0x3c01)));
        assert_eq!(convert(Scalar::F64(middle), ScalarKind::Float, Some(2)), Scalar::F16(f16::ONE));
    }

    #[test]
    fn bool_is_one_or_zero_and_only_zeros_are_false() {
        let types =
            [(ScalarKind::Sint, 4), (ScalarKind::Uint, 4), (ScalarKind::Sint, 8), (ScalarKind::Uint, 8)];
        for (kind, width) in types.into_iter().chain([2, 4, 8].map(|width| (ScalarKind::Float, width))) {
            for bit in [false, true] {
                let number = convert(Scalar::Bool(bit), kind, Some(width));
                assert_eq!(number.ty(), naga::Scalar { kind, width });
                let one = convert(Scalar::U32(u32::from(bit)), kind, Some(width));
                assert_eq!(number, one);
                assert_eq!(convert(number, ScalarKind::Bool, Some(1)), Scalar::Bool(bit));
            }
        }
        let zeros = [Scalar::F16(f16::NEG_ZERO), Scalar::F32(-0.0), Scalar::F64(-0.0)];
        assert!(zeros.iter().all(|&x| convert(x, ScalarKind::Bool, Some(1)) == Scalar::Bool(false)));
        let others = [Scalar::F32(f32::NAN), Scalar::F32(1e-45), Scalar::I64(1 << 40), Scalar::F64(-1e-300)];
        assert!(others.iter().all(|&x| convert(x, ScalarKind::Bool, Some(1)) == Scalar::Bool(true)));
    }

    #[test]
    fn quick_conversions_compute_what_the_slow_ones_compute() {
        let types = [naga::Scalar::U32, naga::Scalar::I32, naga::Scalar::F32];
        let whole = types[..2].iter().flat_map(|&ty| integers(ty).into_iter().map(move |x| wrapped(ty, x)));
        let far = [3e9, -3e9, 5e9].map(Scalar::F32);
        let others = floats().into_iter().map(Scalar::F32).chain(far).chain([false, true].map(Scalar::Bool));
        for x in whole.chain(others) {
            for to in types {
                if let Some(quick) = conversion(x.ty(), to) {
                    let expected = convert(x, to.kind, Some(to.width));
                    assert_eq!(Scalar::from_bits(to, quick(x.bits(), 0)), expected, "{x:?} to {to:?}");
                }
            }
        }
    }

    #[test]
    fn a_conversion_without_a_width_keeps_the_bits() {
        for x in floats() {
            let bits = u64::from(x.to_bits());
            for kind in [ScalarKind::Sint, ScalarKind::Uint, ScalarKind::Float] {
                let got = convert(Scalar::F32(x), kind, None);
                assert_eq!((got.bits(), got.ty()), (bits, naga::Scalar { kind, width: 4 }));
            }
        }
        assert_eq!(convert(Scalar::U64(1 << 63), ScalarKind::Sint, None), Scalar::I64(i64::MIN));
        assert_eq!(convert(Scalar::I32(0x3f80_0000), ScalarKind::Float, None), Scalar::F32(1.0));
    }
}

//! The calls of functions that pack and unpack numbers.

use super::Row;
use super::bits;
use super::reference::{Reference, exact, ulps};
use super::rows::row_of_words;
use half::f16;
use naga::MathFunction as Fun;

/// Returns the calls of a function with an exact result.
fn exactly(text: &'static str, types: &'static str, reference: Reference) -> Vec<Row> {
    vec![row_of_words(text, types, reference, exact())]
}

/// Returns the calls of a function that packs numbers.
pub(super) fn packing(fun: Fun) -> Vec<Row> {
    let normalized = bits::pack_normalized;
    let integers = || bits::pack(|x| Some(x as i64));
    match fun {
        Fun::Pack4x8snorm => exactly("pack4x8snorm(a)", "f4 -> u", normalized(-1.0, 127.0)),
        Fun::Pack4x8unorm => exactly("pack4x8unorm(a)", "f4 -> u", normalized(0.0, 255.0)),
        Fun::Pack2x16snorm => exactly("pack2x16snorm(a)", "f2 -> u", normalized(-1.0, 32767.0)),
        Fun::Pack2x16unorm => exactly("pack2x16unorm(a)", "f2 -> u", normalized(0.0, 65535.0)),
        Fun::Pack2x16float => exactly("pack2x16float(a)", "f2 -> u", bits::pack_halves()),
        Fun::Pack4xI8 => exactly("pack4xI8(a)", "i4 -> u", integers()),
        Fun::Pack4xU8 => exactly("pack4xU8(a)", "u4 -> u", integers()),
        Fun::Pack4xI8Clamp => {
            let clamped = bits::pack(|x| Some(x.clamp(-128.0, 127.0) as i64));
            exactly("pack4xI8Clamp(a)", "i4 -> u", clamped)
        }
        Fun::Pack4xU8Clamp => {
            exactly("pack4xU8Clamp(a)", "u4 -> u", bits::pack(|x| Some(x.min(255.0) as i64)))
        }
        _ => unreachable!("bug: {fun:?} is in another group"),
    }
}

/// Returns the calls of a function that unpacks numbers.
pub(super) fn unpacking(fun: Fun) -> Vec<Row> {
    let signed = |parts, most: f64| bits::unpack(parts, true, move |x| (x as f64 / most).max(-1.0));
    let unsigned = |parts, most: f64| bits::unpack(parts, false, move |x| x as f64 / most);
    let divided = |text, types, reference| vec![row_of_words(text, types, reference, ulps(3.0))];
    match fun {
        Fun::Unpack4x8snorm => divided("unpack4x8snorm(a)", "u -> f4", signed(4, 127.0)),
        Fun::Unpack4x8unorm => divided("unpack4x8unorm(a)", "u -> f4", unsigned(4, 255.0)),
        Fun::Unpack2x16snorm => divided("unpack2x16snorm(a)", "u -> f2", signed(2, 32767.0)),
        Fun::Unpack2x16unorm => divided("unpack2x16unorm(a)", "u -> f2", unsigned(2, 65535.0)),
        Fun::Unpack2x16float => {
            let halves = bits::unpack(2, false, |x| f16::from_bits(x as u16).to_f64());
            exactly("unpack2x16float(a)", "u -> f2", halves)
        }
        Fun::Unpack4xI8 => exactly("unpack4xI8(a)", "u -> i4", bits::unpack(4, true, |x| x as f64)),
        Fun::Unpack4xU8 => exactly("unpack4xU8(a)", "u -> u4", bits::unpack(4, false, |x| x as f64)),
        _ => unreachable!("bug: {fun:?} is in another group"),
    }
}

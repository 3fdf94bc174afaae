//! The calls of functions that pack and unpack numbers.

use super::Row;
use super::bits;
use super::reference::{exact, ulps};
use super::rows::row_of_words;
use half::f16;
use naga::MathFunction as Fun;

/// Returns the calls of a function that packs numbers.
pub(super) fn packing(fun: Fun) -> Vec<Row> {
    match fun {
        Fun::Pack4x8snorm => {
            vec![row_of_words("pack4x8snorm(a)", "f4 -> u", bits::pack_normalized(-1.0, 127.0), exact())]
        }
        Fun::Pack4x8unorm => {
            vec![row_of_words("pack4x8unorm(a)", "f4 -> u", bits::pack_normalized(0.0, 255.0), exact())]
        }
        Fun::Pack2x16snorm => {
            vec![row_of_words("pack2x16snorm(a)", "f2 -> u", bits::pack_normalized(-1.0, 32767.0), exact())]
        }
        Fun::Pack2x16unorm => {
            vec![row_of_words("pack2x16unorm(a)", "f2 -> u", bits::pack_normalized(0.0, 65535.0), exact())]
        }
        Fun::Pack2x16float => vec![row_of_words("pack2x16float(a)", "f2 -> u", bits::pack_halves(), exact())],
        Fun::Pack4xI8 => {
            vec![row_of_words("pack4xI8(a)", "i4 -> u", bits::pack(|x| Some(x as i64)), exact())]
        }
        Fun::Pack4xU8 => {
            vec![row_of_words("pack4xU8(a)", "u4 -> u", bits::pack(|x| Some(x as i64)), exact())]
        }
        Fun::Pack4xI8Clamp => {
            vec![row_of_words(
                "pack4xI8Clamp(a)",
                "i4 -> u",
                bits::pack(|x| Some(x.clamp(-128.0, 127.0) as i64)),
                exact(),
            )]
        }
        Fun::Pack4xU8Clamp => {
            vec![row_of_words(
                "pack4xU8Clamp(a)",
                "u4 -> u",
                bits::pack(|x| Some(x.min(255.0) as i64)),
                exact(),
            )]
        }
        _ => unreachable!("bug: {fun:?} is in another group"),
    }
}

/// Returns the calls of a function that unpacks numbers.
pub(super) fn unpacking(fun: Fun) -> Vec<Row> {
    match fun {
        Fun::Unpack4x8snorm => {
            let reference = bits::unpack(4, true, |x| (x as f64 / 127.0).max(-1.0));
            vec![row_of_words("unpack4x8snorm(a)", "u -> f4", reference, ulps(3.0))]
        }
        Fun::Unpack4x8unorm => {
            vec![row_of_words(
                "unpack4x8unorm(a)",
                "u -> f4",
                bits::unpack(4, false, |x| x as f64 / 255.0),
                ulps(3.0),
            )]
        }
        Fun::Unpack2x16snorm => {
            let reference = bits::unpack(2, true, |x| (x as f64 / 32767.0).max(-1.0));
            vec![row_of_words("unpack2x16snorm(a)", "u -> f2", reference, ulps(3.0))]
        }
        Fun::Unpack2x16unorm => {
            vec![row_of_words(
                "unpack2x16unorm(a)",
                "u -> f2",
                bits::unpack(2, false, |x| x as f64 / 65535.0),
                ulps(3.0),
            )]
        }
        Fun::Unpack2x16float => {
            let reference = bits::unpack(2, false, |x| f16::from_bits(x as u16).to_f64());
            vec![row_of_words("unpack2x16float(a)", "u -> f2", reference, exact())]
        }
        Fun::Unpack4xI8 => {
            vec![row_of_words("unpack4xI8(a)", "u -> i4", bits::unpack(4, true, |x| x as f64), exact())]
        }
        Fun::Unpack4xU8 => {
            vec![row_of_words("unpack4xU8(a)", "u -> u4", bits::unpack(4, false, |x| x as f64), exact())]
        }
        _ => unreachable!("bug: {fun:?} is in another group"),
    }
}

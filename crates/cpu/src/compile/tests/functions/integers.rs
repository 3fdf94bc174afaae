//! The calls of functions of bits.

use super::Row;
use super::bits;
use super::reference::{each_integer, exact};
use super::rows::{row_of_integers, row_of_words};
use naga::MathFunction as Fun;

const ONE: [&str; 2] = ["i* -> i*", "u* -> u*"];

/// Returns the calls of a function of the bits of signed and of unsigned integers.
fn of_both(text: &'static str, types: [&'static str; 2], f: [fn(&[i128], u32) -> i128; 2]) -> Vec<Row> {
    let both = types.into_iter().zip(f);
    both.map(|(types, f)| row_of_integers(text, types, each_integer(f))).collect()
}

/// Returns the calls of a function of bits.
pub(super) fn bits(fun: Fun) -> Vec<Row> {
    match fun {
        Fun::Dot4I8Packed => {
            let reference = bits::dot_of_bytes(|byte| byte.cast_signed().into());
            vec![row_of_words("dot4I8Packed(a, b)", "u u -> i", reference, exact())]
        }
        Fun::Dot4U8Packed => {
            let reference = bits::dot_of_bytes(Into::into);
            vec![row_of_words("dot4U8Packed(a, b)", "u u -> u", reference, exact())]
        }
        Fun::CountTrailingZeros => of_both("countTrailingZeros(a)", ONE, [bits::trailing_zeros; 2]),
        Fun::CountLeadingZeros => of_both("countLeadingZeros(a)", ONE, [bits::leading_zeros; 2]),
        Fun::CountOneBits => of_both("countOneBits(a)", ONE, [bits::ones; 2]),
        Fun::ReverseBits => of_both("reverseBits(a)", ONE, [bits::reversed; 2]),
        Fun::ExtractBits => {
            let types = ["i* o o -> i*", "u* o o -> u*"];
            of_both("extractBits(a, b, c)", types, [bits::extract_signed, bits::extract_unsigned])
        }
        Fun::InsertBits => {
            let types = ["i* i* o o -> i*", "u* u* o o -> u*"];
            of_both("insertBits(a, b, c, d)", types, [bits::insert; 2])
        }
        Fun::FirstTrailingBit => of_both("firstTrailingBit(a)", ONE, [bits::trailing; 2]),
        Fun::FirstLeadingBit => of_both("firstLeadingBit(a)", ONE, [bits::leading; 2]),
        _ => unreachable!("bug: {fun:?} is in another group"),
    }
}

//! The calls of functions of bits.

use super::Row;
use super::bits::{self, of_bits};
use super::reference::exact;
use super::rows::row;
use naga::MathFunction as Fun;

const ONE: [&str; 2] = ["i* -> i*", "u* -> u*"];

/// Returns the calls of a function of the bits of both types of integers.
fn of_both_types(
    text: &'static str,
    types: [&'static str; 2],
    i32: fn(&[u32]) -> u32,
    u32: fn(&[u32]) -> u32,
) -> Vec<Row> {
    let [of_i32, of_u32] = types;
    vec![row(text, of_i32, of_bits(true, i32), exact()), row(text, of_u32, of_bits(false, u32), exact())]
}

/// Returns the calls of a function of bits.
pub(super) fn bits(fun: Fun) -> Vec<Row> {
    match fun {
        Fun::Dot4I8Packed => {
            let reference = bits::dot_of_bytes(|byte| byte.cast_signed().into(), bits::signed);
            vec![row("dot4I8Packed(a, b)", "u u -> i", reference, exact())]
        }
        Fun::Dot4U8Packed => {
            let reference = bits::dot_of_bytes(Into::into, bits::unsigned);
            vec![row("dot4U8Packed(a, b)", "u u -> u", reference, exact())]
        }
        Fun::CountTrailingZeros => {
            let count = |x: &[u32]| x[0].trailing_zeros();
            of_both_types("countTrailingZeros(a)", ONE, count, count)
        }
        Fun::CountLeadingZeros => {
            let count = |x: &[u32]| x[0].leading_zeros();
            of_both_types("countLeadingZeros(a)", ONE, count, count)
        }
        Fun::CountOneBits => {
            of_both_types("countOneBits(a)", ONE, |x| x[0].count_ones(), |x| x[0].count_ones())
        }
        Fun::ReverseBits => {
            of_both_types("reverseBits(a)", ONE, |x| x[0].reverse_bits(), |x| x[0].reverse_bits())
        }
        Fun::ExtractBits => {
            let types = ["i* o o -> i*", "u* o o -> u*"];
            of_both_types("extractBits(a, b, c)", types, bits::extract_signed, bits::extract_unsigned)
        }
        Fun::InsertBits => {
            let types = ["i* i* o o -> i*", "u* u* o o -> u*"];
            of_both_types("insertBits(a, b, c, d)", types, bits::insert, bits::insert)
        }
        Fun::FirstTrailingBit => of_both_types("firstTrailingBit(a)", ONE, bits::trailing, bits::trailing),
        Fun::FirstLeadingBit => {
            of_both_types("firstLeadingBit(a)", ONE, bits::leading_of_signed, bits::leading_of_unsigned)
        }
        _ => unreachable!("bug: {fun:?} is in another group"),
    }
}

//! The calls of each built-in function.

use super::reference::{Bound, Integers, Reference};
use super::types::Width;
use super::{Expected, Row, floats, geometry, integers, packing};
use naga::MathFunction as Fun;

/// Returns the calls of a function. The match has an arm for each function, so a new one of naga is a compile error.
#[rustfmt::skip]
pub(super) fn rows(fun: Fun) -> Vec<Row> {
    match fun {
        Fun::Abs | Fun::Min | Fun::Max | Fun::Clamp | Fun::Saturate | Fun::Radians | Fun::Degrees
        | Fun::Sign | Fun::Fma | Fun::Mix | Fun::Step | Fun::SmoothStep => floats::numbers(fun),
        Fun::Cos | Fun::Cosh | Fun::Sin | Fun::Sinh | Fun::Tan | Fun::Tanh | Fun::Acos | Fun::Asin
        | Fun::Atan | Fun::Atan2 | Fun::Asinh | Fun::Acosh | Fun::Atanh | Fun::Exp | Fun::Exp2 | Fun::Log
        | Fun::Log2 | Fun::Pow | Fun::Sqrt | Fun::InverseSqrt | Fun::QuantizeToF16 => floats::curves(fun),
        Fun::Ceil | Fun::Floor | Fun::Round | Fun::Fract | Fun::Trunc | Fun::Modf | Fun::Frexp | Fun::Ldexp => floats::parts(fun),
        Fun::Dot | Fun::Cross | Fun::Distance | Fun::Length | Fun::Normalize | Fun::FaceForward
        | Fun::Reflect | Fun::Refract => geometry::vectors(fun),
        Fun::Transpose | Fun::Determinant => geometry::matrices(fun),
        Fun::Dot4I8Packed | Fun::Dot4U8Packed | Fun::CountTrailingZeros | Fun::CountLeadingZeros
        | Fun::CountOneBits | Fun::ReverseBits | Fun::ExtractBits | Fun::InsertBits | Fun::FirstTrailingBit
        | Fun::FirstLeadingBit => integers::bits(fun),
        Fun::Pack4x8snorm | Fun::Pack4x8unorm | Fun::Pack2x16snorm | Fun::Pack2x16unorm | Fun::Pack2x16float
        | Fun::Pack4xI8 | Fun::Pack4xU8 | Fun::Pack4xI8Clamp | Fun::Pack4xU8Clamp => packing::packing(fun),
        Fun::Unpack4x8snorm | Fun::Unpack4x8unorm | Fun::Unpack2x16snorm | Fun::Unpack2x16unorm
        | Fun::Unpack2x16float | Fun::Unpack4xI8 | Fun::Unpack4xU8 => packing::unpacking(fun),
        // These are not functions of WGSL.
        Fun::Outer | Fun::Inverse => Vec::new(),
    }
}

/// Returns calls with floats of each width.
pub(super) fn row(text: &'static str, types: &'static str, reference: Reference, bound: Bound) -> Row {
    let widths = &[Width::Half, Width::Word, Width::Double];
    Row { text, types, widths, expected: Expected::Real(reference, bound) }
}

/// Returns calls with floats of 32 and of 64 bits.
pub(super) fn row_without_halves(
    text: &'static str,
    types: &'static str,
    reference: Reference,
    bound: Bound,
) -> Row {
    Row { widths: &[Width::Word, Width::Double], ..row(text, types, reference, bound) }
}

/// Returns calls with numbers of 32 bits only.
pub(super) fn row_of_words(
    text: &'static str,
    types: &'static str,
    reference: Reference,
    bound: Bound,
) -> Row {
    Row { widths: &[Width::Word], ..row(text, types, reference, bound) }
}

/// Returns calls with integers of each width.
pub(super) fn row_of_integers(text: &'static str, types: &'static str, reference: Integers) -> Row {
    Row { text, types, widths: &[Width::Word, Width::Double], expected: Expected::Integers(reference) }
}

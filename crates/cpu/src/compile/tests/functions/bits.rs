//! References of functions of integers and of packed numbers.

use super::reference::{Reference, each, whole};
use crate::arith::tests::edges::nearest_half;

/// Returns the integer of 32 bits with a sign that has the low bits of a number.
pub(super) fn signed(value: i128) -> f64 {
    f64::from(value as i32)
}

/// Returns the integer of 32 bits without a sign that has the low bits of a number.
pub(super) fn unsigned(value: i128) -> f64 {
    f64::from(value as u32)
}

/// Applies a function to the bits of each component.
pub(super) fn of_bits(is_signed: bool, f: fn(&[u32]) -> u32) -> Reference {
    each(move |x| {
        let bits: Vec<u32> = x.iter().map(|&x| x as i64 as u32).collect();
        let result = f(&bits);
        if is_signed { f64::from(result.cast_signed()) } else { f64::from(result) }
    })
}

/// Returns the dot product of integers, which wraps.
pub(super) fn dot(result: fn(i128) -> f64) -> Reference {
    whole(move |x| vec![result(x[0].iter().zip(&x[1]).map(|(&a, &b)| a as i128 * b as i128).sum())])
}

/// Returns the dot product of the bytes of two words.
pub(super) fn dot_of_bytes(byte: fn(u8) -> i128, result: fn(i128) -> f64) -> Reference {
    each(move |x| {
        let bytes = |x: f64| (x as u32).to_le_bytes().map(byte);
        result(bytes(x[0]).into_iter().zip(bytes(x[1])).map(|(a, b)| a * b).sum())
    })
}

/// Returns the first bit and the number of bits, which are within a word.
fn range(offset: u32, count: u32) -> (u32, u32) {
    let offset = offset.min(32);
    (offset, count.min(32 - offset))
}

fn mask(count: u32) -> u64 {
    (1 << count) - 1
}

pub(super) fn extract_signed(x: &[u32]) -> u32 {
    let (offset, count) = range(x[1], x[2]);
    let bits = u64::from(x[0]) >> offset & mask(count);
    let is_negative = count > 0 && bits >> (count - 1) & 1 == 1;
    if is_negative { (bits | !mask(count)) as u32 } else { bits as u32 }
}

pub(super) fn extract_unsigned(x: &[u32]) -> u32 {
    let (offset, count) = range(x[1], x[2]);
    (u64::from(x[0]) >> offset & mask(count)) as u32
}

pub(super) fn insert(x: &[u32]) -> u32 {
    let (offset, count) = range(x[2], x[3]);
    let mask = mask(count) << offset;
    ((u64::from(x[0]) & !mask) | (u64::from(x[1]) << offset & mask)) as u32
}

/// Returns the number of the highest bit that differs from the sign.
pub(super) fn leading_of_signed(x: &[u32]) -> u32 {
    let sign = x[0].cast_signed() >> 31;
    leading_of_unsigned(&[x[0] ^ sign.cast_unsigned()])
}

/// Returns the number of the highest bit that is 1.
pub(super) fn leading_of_unsigned(x: &[u32]) -> u32 {
    (0..32).rev().find(|bit| x[0] >> bit & 1 == 1).unwrap_or(u32::MAX)
}

/// Returns the number of the lowest bit that is 1.
pub(super) fn trailing(x: &[u32]) -> u32 {
    (0..32).find(|bit| x[0] >> bit & 1 == 1).unwrap_or(u32::MAX)
}

/// Packs the components into a word, the first in its low bits.
pub(super) fn pack(field: impl Fn(f64) -> Option<i64> + 'static) -> Reference {
    whole(move |x| {
        let width = 32 / x[0].len();
        let fields: Option<Vec<i64>> = x[0].iter().map(|&x| field(x)).collect();
        let word = |fields: Vec<i64>| {
            fields
                .iter()
                .enumerate()
                .map(|(at, &field)| (field as u64 & mask(width as u32)) << (at * width))
                .sum::<u64>()
        };
        vec![fields.map_or(f64::NAN, |fields| word(fields) as f64)]
    })
}

/// Packs numbers from `low` to 1 into integers up to `most`.
pub(super) fn pack_normalized(low: f64, most: f64) -> Reference {
    pack(move |x| Some((0.5 + most * x.clamp(low, 1.0)).floor() as i64))
}

/// Packs the nearest `f16`. Numbers that no finite one is next to have no bound.
pub(super) fn pack_halves() -> Reference {
    pack(|x| (x.abs() <= 65504.0).then(|| nearest_half(x).to_bits().into()))
}

/// Unpacks the parts of a word, which have a sign or not.
pub(super) fn unpack(parts: usize, is_signed: bool, number: impl Fn(i64) -> f64 + 'static) -> Reference {
    whole(move |x| {
        let (word, width) = (x[0][0] as u64, 32 / parts);
        let part = |at: usize| {
            let bits = (word >> (at * width) & mask(width as u32)).cast_signed();
            if is_signed && bits >> (width - 1) == 1 { bits - (1 << width) } else { bits }
        };
        (0..parts).map(|at| number(part(at))).collect()
    })
}

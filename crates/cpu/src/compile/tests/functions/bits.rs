//! References of functions of integers and of packed numbers.

use super::reference::{Reference, each, whole};
use crate::arith::tests::edges::nearest_half;

/// Returns `true` if a bit of an integer is 1. The sign of a negative number continues above its highest bit.
fn bit(x: i128, at: u32) -> bool {
    x >> at & 1 == 1
}

/// Returns the bit number that a search found, or -1.
fn place(found: Option<u32>) -> i128 {
    found.map_or(-1, i128::from)
}

pub(super) fn trailing_zeros(x: &[i128], width: u32) -> i128 {
    (0..width).find(|&at| bit(x[0], at)).unwrap_or(width).into()
}

pub(super) fn leading_zeros(x: &[i128], width: u32) -> i128 {
    (0..width).find(|&at| bit(x[0], width - 1 - at)).unwrap_or(width).into()
}

pub(super) fn ones(x: &[i128], width: u32) -> i128 {
    (0..width).filter(|&at| bit(x[0], at)).count() as i128
}

pub(super) fn reversed(x: &[i128], width: u32) -> i128 {
    (0..width).filter(|&at| bit(x[0], at)).map(|at| 1 << (width - 1 - at)).sum()
}

/// Returns the number of the lowest bit that is 1.
pub(super) fn trailing(x: &[i128], width: u32) -> i128 {
    place((0..width).find(|&at| bit(x[0], at)))
}

/// Returns the number of the highest bit that differs from the sign. The sign of an unsigned integer is 0.
pub(super) fn leading(x: &[i128], width: u32) -> i128 {
    place((0..width).rev().find(|&at| bit(x[0], at) != (x[0] < 0)))
}

/// Clamps a range of bits to an integer. Returns the first bit and the number of bits.
fn range(offset: i128, count: i128, width: u32) -> (u32, u32) {
    let offset = offset.min(width.into()) as u32;
    (offset, count.min((width - offset).into()) as u32)
}

pub(super) fn extract_unsigned(x: &[i128], width: u32) -> i128 {
    let (offset, count) = range(x[1], x[2], width);
    (0..count).filter(|&at| bit(x[0], offset + at)).map(|at| 1 << at).sum()
}

/// Extracts bits as a signed number.
pub(super) fn extract_signed(x: &[i128], width: u32) -> i128 {
    let (field, (_, count)) = (extract_unsigned(x, width), range(x[1], x[2], width));
    if count > 0 && bit(field, count - 1) { field - (1 << count) } else { field }
}

pub(super) fn insert(x: &[i128], width: u32) -> i128 {
    let (offset, count) = range(x[2], x[3], width);
    let is_one = |at: u32| {
        if (offset..offset + count).contains(&at) { bit(x[1], at - offset) } else { bit(x[0], at) }
    };
    (0..width).filter(|&at| is_one(at)).map(|at| 1 << at).sum()
}

/// Returns the dot product of integers.
pub(super) fn dot(x: &[Vec<i128>], _: u32) -> Vec<i128> {
    let products = x[0].iter().zip(&x[1]).map(|(a, b)| a.wrapping_mul(*b));
    vec![products.fold(0, i128::wrapping_add)]
}

/// Returns the dot product of the bytes of two words.
pub(super) fn dot_of_bytes(byte: fn(u8) -> f64) -> Reference {
    each(move |x| {
        let bytes = |x: f64| (x as u32).to_le_bytes().map(byte);
        bytes(x[0]).into_iter().zip(bytes(x[1])).map(|(a, b)| a * b).sum()
    })
}

fn mask(count: u32) -> u64 {
    (1 << count) - 1
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

/// Packs numbers from `low` to 1 as integers up to `most`.
pub(super) fn pack_normalized(low: f64, most: f64) -> Reference {
    pack(move |x| Some((0.5 + most * x.clamp(low, 1.0)).floor() as i64))
}

/// Packs the nearest `f16`s. Numbers beyond the finite `f16`s may give any result.
pub(super) fn pack_halves() -> Reference {
    pack(|x| (x.abs() <= 65504.0).then(|| nearest_half(x).to_bits().into()))
}

/// Unpacks the signed or unsigned parts of a word.
pub(super) fn unpack(parts: usize, is_signed: bool, number: impl Fn(i64) -> f64 + 'static) -> Reference {
    whole(move |x| {
        let word = x[0][0] as u64;
        let width = 32 / parts;
        let part = |at: usize| {
            let bits = (word >> (at * width) & mask(width as u32)).cast_signed();
            if is_signed && bits >> (width - 1) == 1 { bits - (1 << width) } else { bits }
        };
        (0..parts).map(|at| number(part(at))).collect()
    })
}

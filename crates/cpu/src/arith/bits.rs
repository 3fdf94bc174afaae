//! Functions on the bits of integers.
//!
//! An integer of `width` bits is in the low bits of a word, and the bits above it are 0.

/// Counts the bits above the highest 1.
pub(crate) fn count_leading_zeros(bits: u64, width: u32) -> u64 {
    u64::from(bits.leading_zeros() - (64 - width))
}

/// Counts the bits below the lowest 1.
pub(crate) fn count_trailing_zeros(bits: u64, width: u32) -> u64 {
    u64::from(bits.trailing_zeros().min(width))
}

/// Counts the bits that are 1.
pub(crate) fn count_one_bits(bits: u64) -> u64 {
    u64::from(bits.count_ones())
}

/// Returns the bits in the opposite order.
pub(crate) fn reverse_bits(bits: u64, width: u32) -> u64 {
    bits.reverse_bits() >> (64 - width)
}

/// Returns the number of the lowest bit that is 1, or -1 if there is none.
pub(crate) fn first_trailing_bit(bits: u64, width: u32) -> u64 {
    if bits == 0 { low(width) } else { u64::from(bits.trailing_zeros()) }
}

/// Returns the number of the highest bit that differs from the sign, or -1 if there is none. The sign of an unsigned
/// integer is 0.
pub(crate) fn first_leading_bit(bits: u64, width: u32, signed: bool) -> u64 {
    let negative = signed && bits >> (width - 1) == 1;
    let different = if negative { !bits & low(width) } else { bits };
    if different == 0 { low(width) } else { u64::from(63 - different.leading_zeros()) }
}

/// Returns `count` bits starting at bit `offset`, sign-extended if the integer is signed. Bits past the end are left
/// out.
pub(crate) fn extract_bits(bits: u64, width: u32, signed: bool, offset: u32, count: u32) -> u64 {
    let (offset, count) = field(width, offset, count);
    if count == 0 {
        return 0;
    }
    let top = bits >> offset << (64 - count);
    if signed { ((top as i64) >> (64 - count)) as u64 & low(width) } else { top >> (64 - count) }
}

/// Returns `bits` with `count` bits starting at `offset` replaced by the low bits of `new`. Bits past the end are left
/// out.
pub(crate) fn insert_bits(bits: u64, new: u64, width: u32, offset: u32, count: u32) -> u64 {
    let (offset, count) = field(width, offset, count);
    if count == 0 {
        return bits;
    }
    let mask = low(count) << offset;
    bits & !mask | new << offset & mask
}

/// Clamps a range of bits to the width of an integer.
fn field(width: u32, offset: u32, count: u32) -> (u32, u32) {
    let offset = offset.min(width);
    (offset, count.min(width - offset))
}

/// Returns a word whose low `count` bits are 1. `count` is not 0.
fn low(count: u32) -> u64 {
    u64::MAX >> (64 - count)
}

#[cfg(test)]
mod tests {
    use crate::arith::Scalar;
    use crate::arith::tests::edges::{INTEGERS, call, integers, value, wrapped};
    use naga::{MathFunction as Fun, Scalar as Type, ScalarKind};

    /// Returns the bits of an integer, the lowest one first.
    fn list(ty: Type, value: i128) -> Vec<bool> {
        (0..u32::from(ty.width) * 8).map(|bit| (value >> bit) & 1 == 1).collect()
    }

    /// Returns the integer with these bits, sign-extended if the type is signed.
    fn integer(ty: Type, list: &[bool]) -> Scalar {
        let sign = ty.kind == ScalarKind::Sint && list.last().is_some_and(|&bit| bit);
        let start = if sign { -(1_i128 << list.len()) } else { 0 };
        wrapped(ty, list.iter().enumerate().fold(start, |sum, (bit, &one)| sum + (i128::from(one) << bit)))
    }

    #[test]
    fn counts_and_places_of_bits_are_those_of_a_search_bit_by_bit() {
        for ty in INTEGERS {
            for a in integers(ty) {
                let x = wrapped(ty, a);
                let bits = list(ty, a);
                let sign = ty.kind == ScalarKind::Sint && a < 0;
                let place = |place: Option<usize>| wrapped(ty, place.map_or(-1, |place| place as i128));
                let count = |count: usize| wrapped(ty, count as i128);
                let first = bits.iter().position(|&bit| bit);
                let last = bits.iter().rposition(|&bit| bit);
                let ones = bits.iter().filter(|&&bit| bit).count();
                let above = last.map_or(bits.len(), |last| bits.len() - 1 - last);
                assert_eq!(call(Fun::CountOneBits, &[x]), count(ones), "{a} of {ty:?}");
                assert_eq!(
                    call(Fun::CountTrailingZeros, &[x]),
                    count(first.unwrap_or(bits.len())),
                    "{a} of {ty:?}"
                );
                assert_eq!(call(Fun::CountLeadingZeros, &[x]), count(above), "{a} of {ty:?}");
                assert_eq!(call(Fun::FirstTrailingBit, &[x]), place(first), "{a} of {ty:?}");
                let different = bits.iter().rposition(|&bit| bit != sign);
                assert_eq!(call(Fun::FirstLeadingBit, &[x]), place(different), "{a} of {ty:?}");
                let reversed: Vec<bool> = bits.into_iter().rev().collect();
                assert_eq!(call(Fun::ReverseBits, &[x]), integer(ty, &reversed), "{a} of {ty:?}");
            }
        }
    }

    const AMOUNTS: [u32; 16] = [0, 1, 2, 7, 8, 15, 16, 31, 32, 33, 48, 63, 64, 65, 1 << 31, u32::MAX];

    #[test]
    fn extracted_bits_are_those_of_the_range_inside_the_integer() {
        for ty in INTEGERS {
            for a in integers(ty) {
                let bits = list(ty, a);
                for offset in AMOUNTS {
                    for count in AMOUNTS {
                        let field: Vec<bool> =
                            bits.iter().skip(offset as usize).take(count as usize).copied().collect();
                        let got = call(
                            Fun::ExtractBits,
                            &[wrapped(ty, a), Scalar::U32(offset), Scalar::U32(count)],
                        );
                        assert_eq!(got, integer(ty, &field), "{a} of {ty:?}, {count} bits from {offset} on");
                    }
                }
            }
        }
    }

    #[test]
    fn inserted_bits_replace_those_of_the_range_inside_the_integer() {
        for ty in INTEGERS {
            let values = integers(ty);
            for (&a, &b) in values.iter().zip(values.iter().rev()) {
                let old = list(ty, a);
                let new = list(ty, b);
                for offset in AMOUNTS {
                    for count in AMOUNTS {
                        let mut bits = old.clone();
                        for (bit, &from) in
                            bits.iter_mut().skip(offset as usize).take(count as usize).zip(&new)
                        {
                            *bit = from;
                        }
                        let amounts = [Scalar::U32(offset), Scalar::U32(count)];
                        let got =
                            call(Fun::InsertBits, &[wrapped(ty, a), wrapped(ty, b), amounts[0], amounts[1]]);
                        assert_eq!(
                            list(ty, value(got)),
                            bits,
                            "{b} into {a} of {ty:?} at {offset}, {count} bits"
                        );
                    }
                }
            }
        }
    }
}

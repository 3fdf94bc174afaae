//! The functions of integers.
//!
//! An integer of `WIDTH` bits is in the low bits of a word, and the bits above it are 0.

/// Returns the integer without its sign. The absolute value of the least integer is itself.
pub(crate) fn abs<const WIDTH: u32, const SIGNED: bool>(x: u64) -> u64 {
    if is_negative::<WIDTH, SIGNED>(x) { x.wrapping_neg() & low(WIDTH) } else { x }
}

/// Returns the smaller integer.
pub(crate) fn min<const WIDTH: u32, const SIGNED: bool>(x: u64, y: u64) -> u64 {
    if is_less::<WIDTH, SIGNED>(y, x) { y } else { x }
}

/// Returns the greater integer.
pub(crate) fn max<const WIDTH: u32, const SIGNED: bool>(x: u64, y: u64) -> u64 {
    if is_less::<WIDTH, SIGNED>(x, y) { y } else { x }
}

/// Returns `min(max(x, low), high)`.
pub(crate) fn clamp<const WIDTH: u32, const SIGNED: bool>(x: u64, low: u64, high: u64) -> u64 {
    min::<WIDTH, SIGNED>(max::<WIDTH, SIGNED>(x, low), high)
}

/// Returns 1, 0 or -1.
pub(crate) fn sign<const WIDTH: u32, const SIGNED: bool>(x: u64) -> u64 {
    if is_negative::<WIDTH, SIGNED>(x) { low(WIDTH) } else { u64::from(x != 0) }
}

/// Counts the bits above the highest 1.
pub(crate) fn count_leading_zeros<const WIDTH: u32, const SIGNED: bool>(x: u64) -> u64 {
    u64::from(x.leading_zeros() - (64 - WIDTH))
}

/// Counts the bits below the lowest 1.
pub(crate) fn count_trailing_zeros<const WIDTH: u32, const SIGNED: bool>(x: u64) -> u64 {
    u64::from(x.trailing_zeros().min(WIDTH))
}

/// Counts the bits that are 1.
pub(crate) fn count_one_bits<const WIDTH: u32, const SIGNED: bool>(x: u64) -> u64 {
    u64::from(x.count_ones())
}

/// Returns the bits in the opposite order.
pub(crate) fn reverse_bits<const WIDTH: u32, const SIGNED: bool>(x: u64) -> u64 {
    x.reverse_bits() >> (64 - WIDTH)
}

/// Returns the number of the lowest bit that is 1, or -1 if there is none.
pub(crate) fn first_trailing_bit<const WIDTH: u32, const SIGNED: bool>(x: u64) -> u64 {
    if x == 0 { low(WIDTH) } else { u64::from(x.trailing_zeros()) }
}

/// Returns the number of the highest bit that differs from the sign, or -1 if there is none. The sign of an unsigned
/// integer is 0.
pub(crate) fn first_leading_bit<const WIDTH: u32, const SIGNED: bool>(x: u64) -> u64 {
    let different = if is_negative::<WIDTH, SIGNED>(x) { !x & low(WIDTH) } else { x };
    if different == 0 { low(WIDTH) } else { u64::from(63 - different.leading_zeros()) }
}

/// Returns `count` bits from the bit `offset` on. The bits of a signed integer have their sign repeated above them.
/// Bits past the end are left out.
pub(crate) fn extract_bits<const WIDTH: u32, const SIGNED: bool>(x: u64, offset: u64, count: u64) -> u64 {
    let (offset, count) = field(WIDTH, offset, count);
    if count == 0 {
        return 0;
    }
    let top = x >> offset << (64 - count);
    if SIGNED { ((top as i64) >> (64 - count)) as u64 & low(WIDTH) } else { top >> (64 - count) }
}

/// Returns `x` with the low `count` bits of `new` from the bit `offset` on. Bits past the end are left out.
pub(crate) fn insert_bits<const WIDTH: u32, const SIGNED: bool>(
    x: u64,
    new: u64,
    offset: u64,
    count: u64,
) -> u64 {
    let (offset, count) = field(WIDTH, offset, count);
    if count == 0 {
        return x;
    }
    let mask = low(count) << offset;
    x & !mask | new << offset & mask
}

fn is_negative<const WIDTH: u32, const SIGNED: bool>(x: u64) -> bool {
    SIGNED && x >> (WIDTH - 1) == 1
}

fn is_less<const WIDTH: u32, const SIGNED: bool>(x: u64, y: u64) -> bool {
    let [a, b] = [x, y].map(|x| (x << (64 - WIDTH)) as i64);
    if SIGNED { a < b } else { x < y }
}

/// Limits a range of bits to the bits of an integer.
fn field(width: u32, offset: u64, count: u64) -> (u32, u32) {
    let offset = (offset as u32).min(width);
    (offset, (count as u32).min(width - offset))
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

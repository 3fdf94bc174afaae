//! The functions of the bits of integers.
//!
//! They take a word that holds the bits of an integer of `width` bits at its low end, and zeros above. They return such a
//! word.

/// Counts the zeros above the highest one.
pub(crate) fn count_leading_zeros(bits: u64, width: u32) -> u64 {
    u64::from(bits.leading_zeros() - (64 - width))
}

/// Counts the zeros below the lowest one.
pub(crate) fn count_trailing_zeros(bits: u64, width: u32) -> u64 {
    u64::from(bits.trailing_zeros().min(width))
}

/// Counts the ones.
pub(crate) fn count_one_bits(bits: u64) -> u64 {
    u64::from(bits.count_ones())
}

/// Returns the bits in the opposite order.
pub(crate) fn reverse_bits(bits: u64, width: u32) -> u64 {
    bits.reverse_bits() >> (64 - width)
}

/// Returns the number of the lowest one, or all ones if there is none.
pub(crate) fn first_trailing_bit(bits: u64, width: u32) -> u64 {
    if bits == 0 { low(width) } else { u64::from(bits.trailing_zeros()) }
}

/// Returns the number of the highest bit that differs from the sign, or all ones if there is none. The sign of an unsigned
/// integer is a zero.
pub(crate) fn first_leading_bit(bits: u64, width: u32, signed: bool) -> u64 {
    let negative = signed && bits >> (width - 1) == 1;
    let different = if negative { !bits & low(width) } else { bits };
    if different == 0 { low(width) } else { u64::from(63 - different.leading_zeros()) }
}

/// Returns `count` bits from the bit `offset` on. Those of a signed integer have their sign repeated above them. Bits past
/// the end are left out.
pub(crate) fn extract_bits(bits: u64, width: u32, signed: bool, offset: u32, count: u32) -> u64 {
    let (offset, count) = field(width, offset, count);
    if count == 0 {
        return 0;
    }
    let top = bits >> offset << (64 - count);
    if signed { ((top as i64) >> (64 - count)) as u64 & low(width) } else { top >> (64 - count) }
}

/// Returns `bits` with the low `count` bits of `new` from the bit `offset` on. Bits past the end are left out.
pub(crate) fn insert_bits(bits: u64, new: u64, width: u32, offset: u32, count: u32) -> u64 {
    let (offset, count) = field(width, offset, count);
    if count == 0 {
        return bits;
    }
    let mask = low(count) << offset;
    bits & !mask | new << offset & mask
}

/// Limits a range of bits to those of an integer.
fn field(width: u32, offset: u32, count: u32) -> (u32, u32) {
    let offset = offset.min(width);
    (offset, count.min(width - offset))
}

/// Returns a word with ones in its low `count` bits, of which there is at least one.
fn low(count: u32) -> u64 {
    u64::MAX >> (64 - count)
}

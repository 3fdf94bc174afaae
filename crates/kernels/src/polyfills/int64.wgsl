// Functions of 64-bit integers, built from functions that drivers support for 32 bits.

fn countOneBits_u64(x: u64) -> u64 {
    return u64(countOneBits(u32(x)) + countOneBits(u32(x >> 32u)));
}

fn countOneBits_i64(x: i64) -> i64 {
    return i64(countOneBits_u64(u64(x)));
}

fn countLeadingZeros_u64(x: u64) -> u64 {
    let high = u32(x >> 32u);
    return u64(select(countLeadingZeros(high), 32u + countLeadingZeros(u32(x)), high == 0u));
}

fn countLeadingZeros_i64(x: i64) -> i64 {
    return i64(countLeadingZeros_u64(u64(x)));
}

fn countTrailingZeros_u64(x: u64) -> u64 {
    let low = u32(x);
    return u64(select(countTrailingZeros(low), 32u + countTrailingZeros(u32(x >> 32u)), low == 0u));
}

fn countTrailingZeros_i64(x: i64) -> i64 {
    return i64(countTrailingZeros_u64(u64(x)));
}

fn reverseBits_u64(x: u64) -> u64 {
    return (u64(reverseBits(u32(x))) << 32u) | u64(reverseBits(u32(x >> 32u)));
}

fn reverseBits_i64(x: i64) -> i64 {
    return i64(reverseBits_u64(u64(x)));
}

// The result is all ones if no bit is found.
fn firstLeadingBit_u64(x: u64) -> u64 {
    return 63lu - countLeadingZeros_u64(x);
}

// All bits above the found one equal the sign.
fn firstLeadingBit_i64(x: i64) -> i64 {
    return i64(firstLeadingBit_u64(u64(select(x, ~x, x < 0li))));
}

fn firstTrailingBit_u64(x: u64) -> u64 {
    return select(countTrailingZeros_u64(x), 18446744073709551615lu, x == 0lu);
}

fn firstTrailingBit_i64(x: i64) -> i64 {
    return i64(firstTrailingBit_u64(u64(x)));
}

// The offset and the number of bits, clamped to the width of a number.
fn bits_within_64(offset: u32, count: u32) -> vec2u {
    let o = min(offset, 64u);
    return vec2u(o, min(count, 64u - o));
}

fn extractBits_u64(e: u64, offset: u32, count: u32) -> u64 {
    let bits = bits_within_64(offset, count);
    if bits.y == 0u {
        return 0lu;
    }
    return (e << (64u - bits.y - bits.x)) >> (64u - bits.y);
}

fn extractBits_i64(e: i64, offset: u32, count: u32) -> i64 {
    let bits = bits_within_64(offset, count);
    if bits.y == 0u {
        return 0li;
    }
    return (e << (64u - bits.y - bits.x)) >> (64u - bits.y);
}

fn insertBits_u64(e: u64, newbits: u64, offset: u32, count: u32) -> u64 {
    let bits = bits_within_64(offset, count);
    if bits.y == 0u {
        return e;
    }
    let mask = (18446744073709551615lu >> (64u - bits.y)) << bits.x;
    return (e & ~mask) | ((newbits << bits.x) & mask);
}

fn insertBits_i64(e: i64, newbits: i64, offset: u32, count: u32) -> i64 {
    return i64(insertBits_u64(u64(e), u64(newbits), offset, count));
}

// A driver wrongly compares a number widened from 32 bits with a constant.
fn less_u64(a: u64, b: u64) -> bool {
    let x = u32(a >> 32u);
    let y = u32(b >> 32u);
    return select(x < y, u32(a) < u32(b), x == y);
}

fn less_i64(a: i64, b: i64) -> bool {
    let x = i32(a >> 32u);
    let y = i32(b >> 32u);
    return select(x < y, u32(a) < u32(b), x == y);
}

fn lessEqual_u64(a: u64, b: u64) -> bool {
    return !less_u64(b, a);
}

fn lessEqual_i64(a: i64, b: i64) -> bool {
    return !less_i64(b, a);
}

fn greater_u64(a: u64, b: u64) -> bool {
    return less_u64(b, a);
}

fn greater_i64(a: i64, b: i64) -> bool {
    return less_i64(b, a);
}

fn greaterEqual_u64(a: u64, b: u64) -> bool {
    return !less_u64(a, b);
}

fn greaterEqual_i64(a: i64, b: i64) -> bool {
    return !less_i64(a, b);
}

// naga extends a number by the signedness of the result instead of the operand.
fn widen_u32(x: u32) -> i64 {
    return i64(u64(x));
}

fn widen_i32(x: i32) -> u64 {
    return u64(i64(x));
}

// number_keys: keys of u32 that have the order of numbers of f32, as a device may assume that no float is a NaN
//
// Shape      bits: the bits of a number; largest: true if the largest number is wanted, and false for the smallest one
// Dispatch   any
// Barriers   none
// Tolerance  exact; a NaN comes behind the wanted number, so that it is the result; -0 is smaller than +0
fn number_key(bits: u32, largest: bool) -> u32 {
    if (bits & 0x7FFFFFFFu) > 0x7F800000u { return select(0u, 0xFFFFFFFFu, largest); }
    return bits ^ select(0x80000000u, 0xFFFFFFFFu, (bits & 0x80000000u) != 0u);
}

// Returns the bits of a key. The first and the last key are those of a NaN.
fn number_bits(key: u32) -> u32 {
    if key == 0u || key == 0xFFFFFFFFu { return 0x7FC00000u; }
    return key ^ select(0xFFFFFFFFu, 0x80000000u, (key & 0x80000000u) != 0u);
}

// number_keys: u32 keys with the order of f32 numbers, because a device may assume that no float is a NaN
//
// Shape      bits: the bits of a number; nan_last: true if a NaN comes after all numbers, and false if it comes before them
// Dispatch   any
// Barriers   none
// Tolerance  exact; a NaN at the end of the wanted number is the result, and one at the other end is left out unless there is no
//            number; -0 is smaller than +0
fn number_key(bits: u32, nan_last: bool) -> u32 {
    if (bits & 0x7FFFFFFFu) > 0x7F800000u { return select(0u, 0xFFFFFFFFu, nan_last); }
    return bits ^ select(0x80000000u, 0xFFFFFFFFu, (bits & 0x80000000u) != 0u);
}

// Returns the bits of a key. The first and the last key are those of a NaN.
fn number_bits(key: u32) -> u32 {
    if key == 0u || key == 0xFFFFFFFFu { return 0x7FC00000u; }
    return key ^ select(0xFFFFFFFFu, 0x80000000u, (key & 0x80000000u) != 0u);
}

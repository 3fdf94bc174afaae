// order_keys: u32 keys with the order of elements, because a device may assume that no float is a NaN
//
// Shape      bits: the bits of an element; the shader around it has `params` with the bits that a key inverts:
//            flip_clear if the sign bit of the element is clear, and flip_set if it is set
// Dispatch   any
// Barriers   none
// Tolerance  exact
fn order_key(bits: u32) -> u32 {
    return bits ^ select(params.flip_clear, params.flip_set, (bits & 0x80000000u) != 0u);
}

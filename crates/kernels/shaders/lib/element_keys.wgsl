// element_keys: u32 keys with the order of elements, and the elements of keys; a device may assume that no float is a NaN
//
// Shape      bits: the bits of an element; key: the key of an element; the shader around it has the override TYPE (0: u32, 1: i32,
//            2: f32)
// Dispatch   any
// Barriers   none
// Tolerance  exact; the order of floats is that of total_cmp
const SIGN: u32 = 0x80000000u;
const INFINITY: u32 = 0x7F800000u;

fn is_nan(bits: u32) -> bool { return TYPE == 2u && (bits & ~SIGN) > INFINITY; }

fn key_of(bits: u32) -> u32 {
    if TYPE == 0u { return bits; }
    return bits ^ select(SIGN, 0xFFFFFFFFu, TYPE == 2u && (bits & SIGN) != 0u);
}

fn bits_of(key: u32) -> u32 {
    if TYPE == 0u { return key; }
    return key ^ select(SIGN, 0xFFFFFFFFu, TYPE == 2u && (key & SIGN) == 0u);
}

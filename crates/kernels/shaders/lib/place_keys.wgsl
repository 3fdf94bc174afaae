// place_keys: u32 keys that find the index of the smallest or the largest element; the lowest index if several are equal
//
// Shape      bits: the bits of an element; the shader around it has the overrides TYPE (0: u32, 1: i32, 2: f32) and LARGEST (0:
//            the smallest element is wanted, 1: the largest one), and KEEP_NAN (0: a NaN is the result only if there is no
//            number, 1: it is the result)
// Dispatch   any
// Barriers   none
// Tolerance  exact; a NaN comes before all numbers or after them, as KEEP_NAN says; -0 and +0 are equal
//
// A device may assume that no float is a NaN, so the keys are integers. The smallest key belongs to the result.
const LAST: u32 = 0xFFFFFFFFu;              // larger than each key and each index
const SIGN: u32 = 0x80000000u;
const INFINITY: u32 = 0x7F800000u;

// Returns bits with the order of the elements. For floats, no number has the key 0 or LAST.
fn ordered(bits: u32) -> u32 {
    if TYPE == 0u { return bits; }
    if TYPE == 1u { return bits ^ SIGN; }
    if bits == SIGN { return SIGN; }
    return bits ^ select(SIGN, LAST, (bits & SIGN) != 0u);
}

fn key(bits: u32) -> u32 {
    if TYPE == 2u && (bits & ~SIGN) > INFINITY { return select(LAST, 0u, KEEP_NAN == 1u); }
    return ordered(bits) ^ select(0u, LAST, LARGEST == 1u);
}

fn comes_before(key: u32, place: u32, other: u32, other_place: u32) -> bool {
    return key < other || (key == other && place < other_place);
}

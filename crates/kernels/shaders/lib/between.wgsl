// between: a number between two elements
//
// Shape      low, high: the keys of two elements that are no NaNs, in ascending order; fraction: the part of the way from the first
//            to the second, in units of 2^-32
// Dispatch   any
// Barriers   none
// Tolerance  integers: exact, rounded down; f32: 4 u times the larger magnitude, u = 2^-24, and never outside of the two; half of
//            the way: u of the result, and 2^-126 if a number is below 2^-125
//#use element_keys
//#use high_product
const A_NAN: u32 = 0x7FC00000u;

fn is_infinite(bits: u32) -> bool { return (bits & ~SIGN) == INFINITY; }

// Returns the bits of the number. It is infinite if one of the elements is, and a NaN between infinities of both signs.
fn between(low: u32, high: u32, fraction: u32) -> u32 {
    let a = bits_of(low);
    if fraction == 0u || low == high { return a; }
    if TYPE != 2u { return bits_of(low + high_product(high - low, fraction)); }
    let b = bits_of(high);
    if is_infinite(b) { return select(b, A_NAN, is_infinite(a)); }
    if is_infinite(a) { return a; }
    let unit = 2.3283064365386963e-10;
    let sum = bitcast<f32>(a) * (f32(0u - fraction) * unit) + bitcast<f32>(b) * (f32(fraction) * unit);
    return bits_of(clamp(key_of(bitcast<u32>(sum)), low, high));
}

// convert: out[i] = x[i] converted to another type, as the operator `as` of Rust does
//
// Shape      x, out: at least n elements, as bits
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact: integers become the nearest float, of two the even one; floats lose their fraction, and those outside
//            the integers become the nearest integer; a NaN becomes 0
//
// A device chooses the rounding of its conversions, and the result for a NaN. So the kernel converts with integers.
//#use linear
override WORKGROUP: u32 = 256;
override FROM: u32 = 2;                     // 0: u32, 1: i32, 2: f32
override TO: u32 = 1;                       // 0: u32, 1: i32, 2: f32
struct Params { n: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

const SIGN: u32 = 0x80000000u;
const FRACTION: u32 = 0x007FFFFFu;          // the bits of a float after those of its exponent
const INFINITY: u32 = 0x7F800000u;

// Returns the bits of the float nearest to an integer.
fn float_of(magnitude: u32) -> u32 {
    if magnitude == 0u { return 0u; }
    let zeros = countLeadingZeros(magnitude);
    let shifted = magnitude << zeros;
    let kept = shifted >> 8u;
    let lost = shifted & 0xFFu;
    let up = select(0u, 1u, lost > 0x80u || (lost == 0x80u && (kept & 1u) == 1u));
    // A fraction that overflows when rounded up increments the exponent.
    return ((158u - zeros) << 23u) + (kept & FRACTION) + up;
}

// Returns the magnitude of a float without its fraction, clamped to `most`.
fn integer_of(bits: u32, most: u32) -> u32 {
    let size = bits & ~SIGN;
    if size > INFINITY { return 0u; }
    let exponent = size >> 23u;
    if exponent < 127u { return 0u; }
    if exponent > 158u { return most; }
    let digits = (size & FRACTION) | (FRACTION + 1u);
    if exponent < 150u { return min(digits >> (150u - exponent), most); }
    return min(digits << (exponent - 150u), most);
}

fn converted(bits: u32) -> u32 {
    let negative = (bits & SIGN) != 0u;
    if FROM == 2u && TO == 1u {
        if negative { return ~integer_of(bits, SIGN) + 1u; }
        return integer_of(bits, ~SIGN);
    }
    if FROM == 2u && TO == 0u {
        if negative { return 0u; }
        return integer_of(bits, 0xFFFFFFFFu);
    }
    if FROM == 1u && TO == 2u && negative { return SIGN | float_of(~bits + 1u); }
    if FROM != 2u && TO == 2u { return float_of(bits); }
    return bits;
}

@compute @workgroup_size(WORKGROUP)
fn convert(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.n { return; }
    out[i] = converted(x[i]);
}

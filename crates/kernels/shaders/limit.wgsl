// limit: out[i] = x[i] clamped: low if x[i] < low, else high if x[i] > high
//
// Shape      x, out: at least n elements, as bits
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact: a NaN stays as it is, and so does a zero where a limit is zero
//
// A device may assume that no float is a NaN, so the kernel compares integers.
//#use linear
override WORKGROUP: u32 = 256;
override TYPE: u32 = 2;                     // 0: u32, 1: i32, 2: f32
struct Params { n: u32, low: u32, high: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

const SIGN: u32 = 0x80000000u;
const INFINITY: u32 = 0x7F800000u;

fn is_nan(bits: u32) -> bool {
    return TYPE == 2u && (bits & ~SIGN) > INFINITY;
}

// Returns bits with the order of the elements. Both zeros have the same bits.
fn ordered(bits: u32) -> u32 {
    if TYPE == 0u { return bits; }
    if TYPE == 1u { return bits ^ SIGN; }
    if bits == SIGN { return SIGN; }
    return bits ^ select(SIGN, 0xFFFFFFFFu, (bits & SIGN) != 0u);
}

fn is_less(a: u32, b: u32) -> bool {
    return !is_nan(a) && !is_nan(b) && ordered(a) < ordered(b);
}

fn limited(bits: u32) -> u32 {
    if is_less(bits, params.low) { return params.low; }
    if is_less(params.high, bits) { return params.high; }
    return bits;
}

@compute @workgroup_size(WORKGROUP)
fn limit(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.n { return; }
    out[i] = limited(x[i]);
}

// extreme: out[g] = the smallest or the largest number of share g of x, as bits of f32; share g begins at element g * share
//
// Shape      x: at least n elements; out: at least one element for each workgroup
// Dispatch   one workgroup per share, along x; the last share may be shorter, and a share past n is empty
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   one for each halving of the workgroup
// Tolerance  exact; a NaN is the result or is left out, as the host chooses; -0 is smaller than +0
//
// A device may assume that no float is a NaN, so the kernel compares integers: the keys have the order of the numbers.
override WORKGROUP: u32 = 256;
override LARGEST: u32 = 0;                  // 0: the smallest number, 1: the largest one
override KEEP_NAN: u32 = 1;                 // 1: a NaN is the result, 0: NaNs are left out
struct Params { n: u32, share: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

const FIRST: u32 = 0u;                      // smaller than the key of each number
const LAST: u32 = 0xFFFFFFFFu;              // larger than the key of each number
const SIGN: u32 = 0x80000000u;
const INFINITY: u32 = 0x7F800000u;
const NAN: u32 = 0x7FC00000u;

var<workgroup> parts: array<u32, WORKGROUP>;

// Returns the key of the identity.
fn neutral() -> u32 {
    return select(LAST, FIRST, LARGEST == 1u);
}

fn key(bits: u32) -> u32 {
    if (bits & ~SIGN) > INFINITY {
        return select(neutral(), ~neutral(), KEEP_NAN == 1u);
    }
    return bits ^ select(SIGN, LAST, (bits & SIGN) != 0u);
}

// If NaNs are kept, a share without elements has the neutral key; its result is the identity.
fn bits_of(key: u32) -> u32 {
    if KEEP_NAN == 1u && key == neutral() { return INFINITY | select(0u, SIGN, LARGEST == 1u); }
    if key == FIRST || key == LAST { return NAN; }
    return key ^ select(LAST, SIGN, (key & SIGN) != 0u);
}

fn combined(a: u32, b: u32) -> u32 {
    if LARGEST == 1u { return max(a, b); }
    return min(a, b);
}

@compute @workgroup_size(WORKGROUP)
fn extreme(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let end = min(params.n, (group.x + 1u) * params.share);
    var a = neutral();
    for (var i = group.x * params.share + lane; i < end; i += WORKGROUP) { a = combined(a, key(x[i])); }
    parts[lane] = a;
    for (var width = WORKGROUP / 2u; width > 0u; width /= 2u) {
        workgroupBarrier();
        if lane < width { parts[lane] = combined(parts[lane], parts[lane + width]); }
    }
    if lane == 0u { out[group.x] = bits_of(parts[0]); }
}

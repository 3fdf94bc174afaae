// radix_count: counts[d * groups + g] = the number of elements of share g whose key has the digit d
//
// Shape      keys: at least n elements, as bits; counts: groups elements for each of 16 digits; the digit of a key is
//            (key >> bit) & mask
// Dispatch   one workgroup per share, along x; the last share may be shorter, and none is empty
// Workgroup  [WORKGROUP, 1, 1], at least 16
// Barriers   one
// Tolerance  exact
//#use order_keys
override WORKGROUP: u32 = 256;
struct Params { n: u32, share: u32, groups: u32, bit: u32, mask: u32, flip_clear: u32, flip_set: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> keys: array<u32>;
@group(0) @binding(2) var<storage, read_write> counts: array<u32>;

const DIGITS: u32 = 16;
// Number of counters of each digit; neighbouring invocations use different ones.
const COPIES: u32 = 16;
var<workgroup> counters: array<atomic<u32>, DIGITS * COPIES>;

@compute @workgroup_size(WORKGROUP)
fn radix_count(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let first = group.x * params.share;
    let end = min(params.n, first + params.share);
    for (var i = first + lane; i < end; i += WORKGROUP) {
        let digit = (order_key(keys[i]) >> params.bit) & params.mask;
        atomicAdd(&counters[digit * COPIES + lane % COPIES], 1u);
    }
    workgroupBarrier();
    if lane < DIGITS {
        var count = 0u;
        for (var copy = 0u; copy < COPIES; copy++) { count += atomicLoad(&counters[lane * COPIES + copy]); }
        counts[lane * params.groups + group.x] = count;
    }
}

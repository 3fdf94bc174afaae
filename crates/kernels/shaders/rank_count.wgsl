// rank_count: table[d] += the number of keys of x with digit d, counting only keys with the decided higher digits
//
// Shape      x: at least n elements, as bits; table: 258 elements: the counts of the digits, the decided digits, a rank
// Dispatch   one workgroup per share, along x; the last share may be shorter, and none is empty
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   one
// Tolerance  exact
//#use order_keys
override WORKGROUP: u32 = 256;
struct Params {
    n: u32, share: u32,
    shift: u32,                             // the lowest bit of the digit; if it is 24, no digit is decided yet
    flip_clear: u32, flip_set: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> table: array<atomic<u32>>;

const BITS: u32 = 8;
const DIGITS: u32 = 256;
var<workgroup> own: array<atomic<u32>, DIGITS>;

@compute @workgroup_size(WORKGROUP)
fn rank_count(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let decided = atomicLoad(&table[DIGITS]);
    let first = group.x * params.share;
    let end = min(params.n, first + params.share);
    for (var i = first + lane; i < end; i += WORKGROUP) {
        let key = order_key(x[i]);
        if ((key ^ decided) >> params.shift) >> BITS == 0u {
            atomicAdd(&own[(key >> params.shift) % DIGITS], 1u);
        }
    }
    workgroupBarrier();
    for (var digit = lane; digit < DIGITS; digit += WORKGROUP) {
        let count = atomicLoad(&own[digit]);
        if count > 0u { atomicAdd(&table[digit], count); }
    }
}

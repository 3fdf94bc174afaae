// bin_weights: sums[b] += the weights of the elements of x in bin b, as integers or as fixed-point numbers
//
// Shape      x: at least n elements, as bits; weights: as many; edges: keys of bins + 1 ascending edges, if between;
//            sums: bins elements
// Dispatch   one workgroup per share, along x; the last share may be shorter, and none is empty
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   one
// Tolerance  exact, wrapping; with a fixed point, each weight is rounded to the nearest multiple of 1 / scale, of two
//            the even one; a weight whose magnitude is `limit` or more counts as the greatest or the least number, and a
//            NaN as 0
//#use bins
//#use order_keys
override WORKGROUP: u32 = 256;
override FIXED: u32 = 0;                    // 0: the weights are u32, 1: bits of f32
struct Params {
    n: u32, share: u32, bins: u32, flip_clear: u32, flip_set: u32,
    between: u32,                           // 0: the bin is the element modulo bins; 1: it is between two edges;
                                            // 2: the bin is the element modulo bins, a power of two
    copies: u32,                            // sums of each bin in workgroup memory; 0: weights are added only to sums
    scale: f32,                             // a power of two
    limit: u32,                             // the bits of 2^31 / scale
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> weights: array<u32>;
@group(0) @binding(3) var<storage, read> edges: array<u32>;
@group(0) @binding(4) var<storage, read_write> sums: array<atomic<u32>>;

const SIGN: u32 = 0x80000000u;
const INFINITY: u32 = 0x7F800000u;
// Number of sums of a workgroup.
const COUNTERS: u32 = 256;
var<workgroup> own: array<atomic<u32>, COUNTERS>;

// Returns a weight as an integer. A device may assume that no float is a NaN or infinite, so bits are compared.
fn whole(bits: u32) -> u32 {
    if FIXED == 0u { return bits; }
    let magnitude = bits & ~SIGN;
    if magnitude > INFINITY { return 0u; }
    if magnitude >= params.limit { return select(~SIGN, SIGN, (bits & SIGN) != 0u); }
    return bitcast<u32>(i32(round(bitcast<f32>(bits) * params.scale)));
}

// Adds the weight of an element. `copy` selects the invocation's sum among the sums of a bin.
fn add(i: u32, copy: u32) {
    let bin = bin_of(x[i]);
    if bin >= params.bins { return; }
    if params.copies == 0u {
        atomicAdd(&sums[bin], whole(weights[i]));
    } else {
        atomicAdd(&own[bin * params.copies + copy], whole(weights[i]));
    }
}

@compute @workgroup_size(WORKGROUP)
fn bin_weights(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let first = group.x * params.share;
    let end = min(params.n, first + params.share);
    let copy = lane % max(1u, params.copies);
    for (var i = first + lane; i < end; i += WORKGROUP) { add(i, copy); }
    workgroupBarrier();
    if params.copies == 0u { return; }
    for (var bin = lane; bin < params.bins; bin += WORKGROUP) {
        var sum = 0u;
        for (var c = 0u; c < params.copies; c++) { sum += atomicLoad(&own[bin * params.copies + c]); }
        if sum != 0u { atomicAdd(&sums[bin], sum); }
    }
}

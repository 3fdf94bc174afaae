// bin_counts: counts[b] += the number of elements of x in bin b
//
// Shape      x: at least n elements, as bits; edges: keys of bins + 1 ascending edges, if between; counts: bins
//            elements
// Dispatch   one workgroup per share, along x; the last share may be shorter, and none is empty
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   one
// Tolerance  exact; an element outside of the edges is not counted, and the key of a NaN is outside of them
//#use bins
//#use order_keys
override WORKGROUP: u32 = 256;
struct Params {
    n: u32, share: u32, bins: u32, flip_clear: u32, flip_set: u32,
    between: u32,                           // 0: the bin is the element modulo bins; 1: it is between two edges;
                                            // 2: the bin is the element modulo bins, a power of two
    copies: u32,                            // counters of each bin in workgroup memory; 0: elements are counted only in counts
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> edges: array<u32>;
@group(0) @binding(3) var<storage, read_write> counts: array<atomic<u32>>;

// Number of counters of a workgroup.
const COUNTERS: u32 = 256;
var<workgroup> own: array<atomic<u32>, COUNTERS>;

// Counts an element. `copy` selects the invocation's counter among the counters of a bin.
fn count(bits: u32, copy: u32) {
    let bin = bin_of(bits);
    if bin >= params.bins { return; }
    if params.copies == 0u {
        atomicAdd(&counts[bin], 1u);
    } else {
        atomicAdd(&own[bin * params.copies + copy], 1u);
    }
}

@compute @workgroup_size(WORKGROUP)
fn bin_counts(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let first = group.x * params.share;
    let end = min(params.n, first + params.share);
    let copy = lane % max(1u, params.copies);
    for (var i = first + lane; i < end; i += WORKGROUP) { count(x[i], copy); }
    workgroupBarrier();
    if params.copies == 0u { return; }
    for (var bin = lane; bin < params.bins; bin += WORKGROUP) {
        var sum = 0u;
        for (var c = 0u; c < params.copies; c++) { sum += atomicLoad(&own[bin * params.copies + c]); }
        if sum > 0u { atomicAdd(&counts[bin], sum); }
    }
}

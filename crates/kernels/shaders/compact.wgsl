// compact: out = the kept elements of x in order, optionally followed by the others; counts[0] = the number of kept elements
//
// Shape      x, mask: at least n elements; out: as many; partials: the count of each share, in stage 0; counts: one element,
//            or one for each share in stage 1
// Dispatch   one workgroup per share, along x; the last share may be shorter, and none is empty
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   as scan_share and fold_share
// Tolerance  exact; bits are copied
//#use fold_partials
//#use fold_share
//#use lanes
//#use run_stage
//#use scan_share
override WORKGROUP: u32 = 256;
override STAGE: u32 = 0;                    // 0: writes the elements of each share, 1: counts, 2: writes all of a single share
override HEADS: u32 = 0;                    // 0: keeps where the mask is not zero, 1: where x differs from the previous element
override BITS: u32 = 0xFFFFFFFFu;           // bits of a mask to test for nonzero: for f32 all but the sign
override PLACES: u32 = 0;                   // 1: writes the indices of the elements instead of the elements
override OTHERS: u32 = 0;                   // 1: writes the other elements after the kept ones
struct Params { n: u32, share: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> mask: array<u32>;
@group(0) @binding(3) var<storage, read> partials: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<u32>;
@group(0) @binding(5) var<storage, read_write> counts: array<u32>;

// Number of kept elements. The state of an element is the number of kept elements up to it.
alias S = u32;
// Index of the first of the other elements.
var<private> others: u32;

fn is_kept(i: u32) -> bool {
    if HEADS == 1u { return i == 0u || x[i] != x[i - 1u]; }
    return (mask[i] & BITS) != 0u;
}

fn identity() -> S { return 0u; }

fn combined(a: S, b: S) -> S { return a + b; }

fn load(i: u32) -> S { return select(0u, 1u, is_kept(i)); }

fn partial(g: u32) -> S { return partials[g]; }

fn store(i: u32, before: S, after: S) {
    let kept = after != before;
    if !kept && OTHERS == 0u { return; }
    let place = select(others + i - before, before, kept);
    // Another queue may change the elements between the two reads.
    if place >= arrayLength(&out) { return; }
    var element = i;
    if PLACES == 0u { element = x[i]; }
    out[place] = element;
}

fn keep_partial(g: u32, state: S) { counts[g] = state; }

fn keep(all: S) { counts[0] = all; }

@compute @workgroup_size(WORKGROUP)
fn compact(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    if OTHERS == 1u {
        if STAGE == 0u { others = fold_partials((params.n + params.share - 1u) / params.share, lane); }
        if STAGE == 2u { others = fold_share(0u, lane); }
    }
    run_stage(group.x, lane);
}

// reduce_segments: out[s] = the elements of x from offsets[s] up to offsets[s + 1], combined by an operation
//
// Shape      x: at least n elements; offsets: segments + 1; out: segments, which keep their values if they are empty; partials:
//            two words for each share, in stage 0; states: two words for each share, in stage 1; an offset past n is as n
// Dispatch   one workgroup per share of x, along x; the last share may be shorter, and none is empty
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   as scan_share and fold_share
// Tolerance  as scan_share and fold_share
//#use fold_share
//#use keyed
//#use number_keys
//#use operation
//#use run_stage
//#use scan_share
override WORKGROUP: u32 = 64;
override STAGE: u32 = 0;                    // 0: writes the segments that end in each share, 1: states, 2: those of one share
override OPERATION: u32 = 0;                // 0: sum, 1: product, 2: smallest, 3: largest; the last two for integers
override KEYS: u32 = 0;                     // 1: the elements are bits of f32, of which the smallest or largest is wanted
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { n: u32, share: u32, identity: T, segments: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<T>;
@group(0) @binding(3) var<storage, read> partials: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<T>;
@group(0) @binding(5) var<storage, read_write> states: array<u32>;

// Holds the place of a segment among the segments, its first element, and the element behind its last one.
struct Segment { place: u32, first: u32, end: u32 }
// Is the segment of the element that was looked up last. The elements before the first segment and behind the last one are
// segments too, whose places are no less than the number of segments.
var<private> segment: Segment;

// Looks up the segment of an element. Of several that begin there, it is the last one, which has the element.
fn look_up(i: u32) {
    if i >= segment.first && i < segment.end { return; }
    // Counts the offsets up to i, between a lower and an upper bound.
    var low = 0u;
    var high = params.segments + 1u;
    while low < high {
        let middle = low + (high - low) / 2u;
        if offsets[middle] <= i { low = middle + 1u; } else { high = middle; }
    }
    segment = Segment(low - 1u, 0u, params.n);
    if low > 0u { segment.first = offsets[low - 1u]; }
    if low <= params.segments { segment.end = min(params.n, offsets[low]); }
}

fn load(i: u32) -> S {
    look_up(i);
    return S(of_bits(x[i]), select(0u, 1u, i == segment.first));
}

// The element is the one that was looked up last.
fn store(i: u32, before: S, after: S) {
    if i + 1u == segment.end && segment.place < params.segments { out[segment.place] = to_bits(after.value); }
}

fn keep(all: S) { }

@compute @workgroup_size(WORKGROUP)
fn reduce_segments(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    run_stage(group.x, lane);
}

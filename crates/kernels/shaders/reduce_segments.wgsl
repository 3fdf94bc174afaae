// reduce_segments: out[s] = the elements of x from offsets[s] up to offsets[s + 1], combined by an operation
//
// Shape      x: at least n elements; offsets: segments + 1; out: segments, which keep their values if they are empty; partials:
//            two words for each share, in stage 0; states: two words for each share, in stage 1; an offset past n is as n
// Dispatch   one workgroup per share of x, along x; the last share may be shorter, and none is empty
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   as fold_lanes in stage 1, else as scan_lanes; in stage 0 as fold_lanes too
// Tolerance  sums of f32: d u times the sum of the magnitudes, d = 20 + share / WORKGROUP / 16 + log2(WORKGROUP) in a share, and
//            twice as many and shares / WORKGROUP more in several, u = 2^-24; products of f32: relative, by twice the number of
//            factors times u; integers exactly, wrapping
//#use fold_partials
//#use keyed
//#use lanes
//#use number_keys
//#use operation
override WORKGROUP: u32 = 64;
override STAGE: u32 = 0;                    // 0: writes the segments that end in each share, 1: states, 2: those of one share
override OPERATION: u32 = 0;                // 0: sum, 1: product, 2: smallest, 3: largest; the last two for integers
override KEYS: u32 = 0;                     // not 0: bits of f32, of which an extreme is wanted; 2: NaNs are left out
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { n: u32, share: u32, identity: T, segments: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<T>;
@group(0) @binding(3) var<storage, read> partials: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<T>;
@group(0) @binding(5) var<storage, read_write> states: array<u32>;

// Holds the place of a segment among the segments, its first element, and the element behind its last one. The elements before
// the first segment and behind the last one are segments too, whose places are no less than the number of segments.
struct Segment { place: u32, first: u32, end: u32 }

// Returns the segment of an element. Of several that begin there, it is the last one, which has the element. At least `known`
// offsets are no greater than the element.
fn segment_of(i: u32, known: u32) -> Segment {
    // Counts the offsets up to i, between a lower and an upper bound. The steps to an upper bound are short at first, because the
    // next segment is often the wanted one.
    var low = known;
    var high = known;
    var step = 1u;
    while high <= params.segments && offsets[high] <= i {
        low = high + 1u;
        high = min(high + step, params.segments + 1u);
        step *= 2u;
    }
    while low < high {
        let middle = low + (high - low) / 2u;
        if offsets[middle] <= i { low = middle + 1u; } else { high = middle; }
    }
    var segment = Segment(low - 1u, 0u, params.n);
    if low > 0u { segment.first = offsets[low - 1u]; }
    if low <= params.segments { segment.end = min(params.n, offsets[low]); }
    return segment;
}

// Is the number of elements of a block. Results of blocks are combined apart, so that no chain is long.
const BLOCK: u32 = 16u;

// Combines elements that lie side by side.
fn combined_elements(first: u32, end: u32) -> T {
    var all = params.identity;
    for (var block = first; block < end; block += BLOCK) {
        var part = params.identity;
        for (var i = block; i < min(end, block + BLOCK); i++) { part = operation(part, of_bits(x[i])); }
        all = operation(all, part);
    }
    return all;
}

fn store(place: u32, value: T) {
    if place < params.segments { out[place] = to_bits(value); }
}

// Keeps the state of a share: its elements of the segment of its last element.
fn keep_last_segment(g: u32, first: u32, end: u32, lane: u32) {
    let segment = segment_of(end - 1u, 0u);
    let start = clamp(segment.first, first, end);
    let each = (end - start + WORKGROUP - 1u) / WORKGROUP;
    let own = min(end, start + lane * each);
    let all = fold_lanes(lane, S(combined_elements(own, min(end, own + each)), 0u));
    if lane == 0u { keep_partial(g, S(all.value, select(0u, 1u, segment.first >= first))); }
}

// Writes the results of the segments that end in a share. The elements of each invocation lie side by side. It writes the
// segments that lie in them at once, and the one that began before them when the states of the invocations before it are known.
fn write_segments(first: u32, end: u32, lane: u32, before: S) {
    let each = (params.share + WORKGROUP - 1u) / WORKGROUP;
    var i = min(end, first + lane * each);
    let last = min(end, i + each);
    var state = identity();
    var rest = params.identity;
    var place_of_rest = params.segments;
    var known = 0u;
    while i < last {
        let segment = segment_of(i, known);
        // Another queue may change the offsets between two reads of them, and the loop must end.
        let stop = clamp(segment.end, i + 1u, last);
        let value = combined_elements(i, stop);
        let begins = i == segment.first;
        state = combined(state, S(value, select(0u, 1u, begins)));
        if stop == segment.end {
            if begins {
                store(segment.place, value);
            } else {
                rest = value;
                place_of_rest = segment.place;
            }
        }
        // The offset that ends the segment is no greater than the next element. A segment that ends behind it has none.
        known = segment.place + 2u;
        i = stop;
    }
    scan_lanes(lane, state);
    store(place_of_rest, operation(before_lane(lane, before).value, rest));
}

@compute @workgroup_size(WORKGROUP)
fn reduce_segments(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let g = group.x;
    let first = g * params.share;
    let end = min(params.n, first + params.share);
    if STAGE == 1u {
        keep_last_segment(g, first, end, lane);
        return;
    }
    var before = identity();
    if STAGE == 0u { before = fold_partials(g, lane); }
    write_segments(first, end, lane, before);
}

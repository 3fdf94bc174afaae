// exact_segments: adds the elements of x from offsets[s] up to offsets[s + 1] to the sum of segment s
//
// Shape      x: bits of f32, at least n elements; offsets: segments + 1; offsets above n count as n; out: OF_SUM words for
//            each segment, as exact_sum describes; zero: 0
// Dispatch   one workgroup per share of x, along x; the last share may be shorter
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact: the words do not depend on the order of the elements
//#use exact_memory
//#use exact_range
//#use exact_sum
//#use exact_window
//#use exact_words
//#use segment_of
override WORKGROUP: u32 = 64;
struct Params { n: u32, share: u32, segments: u32, zero: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<atomic<u32>>;

// Adds elements side by side to the sum of a segment.
fn add_piece(first: u32, end: u32, place: u32) {
    add_range(Places(first, 1u), end - first);
    add_to_memory(place);
    for (var w = 0u; w < WORDS; w++) { words[w] = 0u; }
    kinds = 0u;
}

@compute @workgroup_size(WORKGROUP)
fn exact_segments(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let each = (params.share + WORKGROUP - 1u) / WORKGROUP;
    let first = group.x * params.share;
    let end = min(params.n, first + params.share);
    var i = first + lane * each;
    let last = min(end, i + each);
    var known = 0u;
    while i < last {
        let segment = segment_of(i, known);
        // Another queue may change the offsets between two reads, but the loop must end.
        let stop = clamp(segment.end, i + 1u, last);
        if segment.place < params.segments { add_piece(i, stop, segment.place); }
        // If the segment ends here, its end offset is at most the next element. If it ends later, the loop ends now.
        known = segment.place + 2u;
        i = stop;
    }
}

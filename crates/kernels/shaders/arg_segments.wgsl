// arg_segments: out[s] = the index within its segment of the smallest or the largest element of x from offsets[s] up to
// offsets[s + 1]; the lowest index if several are equal
//
// Shape      x: at least n elements, as bits; offsets: segments + 1; out: segments, which keep their values if they are empty;
//            partials: two words for each share, in stage 0; states: two words for each share, in stage 1; offsets above n count as n;
//            identity: LAST
// Dispatch   one workgroup per share of x, along x; the last share may be shorter, and none is empty
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   as segment_stages
// Tolerance  as place_keys
//#use fold_partials
//#use keyed
//#use lanes
//#use place_keys
//#use segment_of
//#use segment_stages
override WORKGROUP: u32 = 64;
override STAGE: u32 = 0;                    // 0: writes the segments that end in each share, 1: states, 2: writes all of a single share
override LARGEST: u32 = 0;                  // 0: the smallest element, 1: the largest one
override KEEP_NAN: u32 = 1;                 // 1: a NaN is the result, 0: NaNs are left out unless there is no number
override TYPE: u32 = 0;                     // 0: u32, 1: i32, 2: f32
alias T = u32;                              // an index in x, or LAST for none
struct Params { n: u32, share: u32, identity: T, segments: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<u32>;
@group(0) @binding(3) var<storage, read> partials: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<u32>;
@group(0) @binding(5) var<storage, read_write> states: array<u32>;

// Finds the place among adjacent elements.
fn combined_elements(first: u32, end: u32) -> T {
    var least = LAST;
    var at = LAST;
    for (var i = first; i < end; i++) {
        let own = key(x[i]);
        if comes_before(own, i, least, at) {
            least = own;
            at = i;
        }
    }
    return at;
}

fn key_at(place: u32) -> u32 { return key(x[min(place, params.n - 1u)]); }

fn operation(a: T, b: T) -> T {
    if a == LAST || b == LAST { return min(a, b); }
    return select(a, b, comes_before(key_at(b), b, key_at(a), a));
}

fn store(place: u32, at: T) {
    if place < params.segments { out[place] = at - offsets[place]; }
}

@compute @workgroup_size(WORKGROUP)
fn arg_segments(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    segment_stage(group.x, lane);
}

// exact_segments: adds the elements of x from offsets[s] up to offsets[s + 1] to the sum of segment s
//
// Shape      x: bits of f32, at least n elements; offsets: segments + 1; offsets above n count as n; out: OF_SUM words for
//            each segment, as exact_sum describes; zero: 0
// Dispatch   one workgroup per share of x, along x; the last share may be shorter
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact: the words do not depend on the order of the elements
//#use exact_range
//#use exact_segment_share
//#use exact_sum
//#use exact_window
//#use exact_words
override WORKGROUP: u32 = 64;
struct Params { n: u32, share: u32, segments: u32, zero: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<atomic<u32>>;

@compute @workgroup_size(WORKGROUP)
fn exact_segments(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    add_segment_share(group.x, lane);
}

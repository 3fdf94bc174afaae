// exact_segment_products: as exact_segments for the products of the elements of x and y
//
// Shape      x, y: bits of f32, at least n elements; offsets, out, zero: as exact_segments
// Dispatch   as exact_segments
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact: the words do not depend on the order of the elements
//#use exact_product_range
//#use exact_products
//#use exact_segment_share
//#use exact_sum
//#use exact_window
//#use exact_words
override WORKGROUP: u32 = 64;
struct Params { n: u32, share: u32, segments: u32, zero: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<u32>;
@group(0) @binding(3) var<storage, read> y: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<atomic<u32>>;

@compute @workgroup_size(WORKGROUP)
fn exact_segment_products(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    add_segment_share(group.x, lane);
}

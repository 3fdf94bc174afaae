// take_rows: values, places = the first k elements of each segment of x in a given order, and their indices in the segment
//
// Shape      x, order: n elements; order: for each segment the indices of its elements, in the wanted order; offsets: one element
//            more than there are segments; values, places: [outer, k, inner], with outer * inner segments and count elements
// Dispatch   one invocation per element of values; invocations past count do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact; bits are copied; results after the last element of a segment are not written
//#use linear
override WORKGROUP: u32 = 256;
struct Params { n: u32, k: u32, inner: u32, count: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> order: array<u32>;
@group(0) @binding(3) var<storage, read> offsets: array<u32>;
@group(0) @binding(4) var<storage, read_write> values: array<u32>;
@group(0) @binding(5) var<storage, read_write> places: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn take_rows(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let t = linear_id(gid, groups, WORKGROUP);
    if t >= params.count { return; }
    let j = t / params.inner % params.k;
    let segment = t / params.inner / params.k * params.inner + t % params.inner;
    let first = offsets[segment];
    let end = min(params.n, offsets[segment + 1u]);
    if first >= end || j >= end - first { return; }
    let place = order[first + j];
    // Another queue may change the offsets after the order was made.
    if place >= end - first { return; }
    values[t] = x[first + place];
    places[t] = place;
}

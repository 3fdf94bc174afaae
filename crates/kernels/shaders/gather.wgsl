// gather: out[i] = x[places[i]]
//
// Shape      places, out: at least n elements; x: at least count elements, at least one; as bits
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact: the bits are copied; a place outside of x gives the last element if CLAMP is 1, else 0
//#use linear
override WORKGROUP: u32 = 256;
override CLAMP: u32 = 0;
struct Params { n: u32, count: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> places: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn gather(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.n { return; }
    let place = places[i];
    let element = x[min(place, params.count - 1u)];
    out[i] = select(0u, element, place < params.count || CLAMP == 1u);
}

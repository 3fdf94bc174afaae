// scatter: out[places[i]] = x[i]
//
// Shape      places, x: at least n elements; out: at least count elements; as bits
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact: the bits are copied; a place outside of out is left out; of elements with one place, out has any
//#use linear
override WORKGROUP: u32 = 256;
struct Params { n: u32, count: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> places: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<atomic<u32>>;

@compute @workgroup_size(WORKGROUP)
fn scatter(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.n { return; }
    let place = places[i];
    // The stores are atomic, so that several elements with one index are not a data race.
    if place < params.count { atomicStore(&out[place], x[i]); }
}

// places_in_segments: out[i] = places[i], less the first element of the segment of element i
//
// Shape      places, segments, out: at least n elements; segments: the number of offsets that are at most i, for each element i;
//            offsets: as many as a segment says
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact
//#use linear
override WORKGROUP: u32 = 256;
struct Params { n: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> places: array<u32>;
@group(0) @binding(2) var<storage, read> segments: array<u32>;
@group(0) @binding(3) var<storage, read> offsets: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn places_in_segments(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.n { return; }
    let segment = segments[i];
    var first = 0u;
    if segment > 0u { first = offsets[segment - 1u]; }
    out[i] = places[i] - first;
}

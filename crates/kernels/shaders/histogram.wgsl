// histogram: bins[values[i] % bins] += 1 for every i
//
// Shape      values: n elements; bins: b > 0 elements; the counts are added to those in bins, wrapping
// Dispatch   one invocation per value; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact
//#use linear
override WORKGROUP: u32 = 64;
@group(0) @binding(1) var<storage, read> values: array<u32>;
@group(0) @binding(2) var<storage, read_write> bins: array<atomic<u32>>;

@compute @workgroup_size(WORKGROUP)
fn histogram(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= arrayLength(&values) { return; }
    atomicAdd(&bins[values[i] % arrayLength(&bins)], 1u);
}

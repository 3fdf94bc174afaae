// spin: out[i] = the state of a generator, started at out[i] + i, after `rounds` steps; it keeps a device busy
//
// Shape      out: n elements, n = arrayLength(&out)
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact; rounds below 65 000, as some software drivers stop a longer loop
//#use lcg
//#use linear
override WORKGROUP: u32 = 64;
struct Params { rounds: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn spin(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= arrayLength(&out) { return; }
    var state = out[i] + i;
    for (var round = 0u; round < params.rounds; round++) {
        state = lcg(state);
    }
    out[i] = state;
}

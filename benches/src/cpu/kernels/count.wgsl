// count: each counter rises by one
//
// Dispatch   one invocation for each counter
// Workgroup  [64, 1, 1]
@group(0) @binding(0) var<storage, read_write> counters: array<u32>;

@compute @workgroup_size(64)
fn count(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&counters) { return; }
    counters[id.x] += 1u;
}

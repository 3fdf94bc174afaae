// count: adds 1 to each element, and lowers `left[0]` by `by`
//
// Shape      left: 1 element; counters: n elements, n = arrayLength(&counters)
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [64, 1, 1]
// Barriers   none
struct Params { by: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> left: array<u32>;
@group(0) @binding(2) var<storage, read_write> counters: array<u32>;

@compute @workgroup_size(64)
fn count(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i == 0u { left[0] -= params.by; }
    if i >= arrayLength(&counters) { return; }
    counters[i] += 1u;
}

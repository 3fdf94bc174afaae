// mixing: out[i] = the halves of a number of 64 bits together, after 64 rounds of a mixing function that begin with x[i]
//
// Dispatch   one invocation for each element
// Workgroup  [64, 1, 1]
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn mixing(@builtin(global_invocation_id) id: vec3<u32>) {
    var state = u64(x[id.x]);
    for (var round = 0u; round < 64u; round++) {
        state += 0x1e3779b97f4a7c15lu;
        state = (state ^ (state >> 30u)) * 0x3f58476d1ce4e5b9lu;
        state ^= state >> 27u;
    }
    out[id.x] = u32(state >> 32u) ^ u32(state);
}

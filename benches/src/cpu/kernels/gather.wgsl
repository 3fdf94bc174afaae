// gather: y[i] = x[at[i]]
//
// Dispatch   one invocation for each index
// Workgroup  [64, 1, 1]
@group(0) @binding(0) var<storage, read> at: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn gather(@builtin(global_invocation_id) id: vec3<u32>) {
    y[id.x] = x[at[id.x]];
}

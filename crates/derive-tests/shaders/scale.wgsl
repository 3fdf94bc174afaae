// scale: data[i] *= by; the package's own shader for the derive's tests
struct Params { by: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> data: array<f32>;

@compute @workgroup_size(64)
fn scale(@builtin(global_invocation_id) gid: vec3<u32>) {
    if gid.x >= arrayLength(&data) { return; }
    data[gid.x] *= params.by;
}

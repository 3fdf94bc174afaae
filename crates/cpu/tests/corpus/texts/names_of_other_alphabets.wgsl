// expect: compiled
@group(0) @binding(0) var<storage, read_write> größe: array<f32>;

@compute @workgroup_size(8)
fn θ(@builtin(global_invocation_id) 位置: vec3<u32>) {
    größe[位置.x] = f32(位置.x) + 9.5;
}

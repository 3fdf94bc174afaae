// expect: compiled
enable f16;

@group(0) @binding(0) var<storage, read_write> out: array<vec4<i32>>;

@compute @workgroup_size(16)
fn converts(@builtin(global_invocation_id) id: vec3<u32>) {
    let x = (f32(id.x) - 12.0) * 1e18;
    let narrow = f16(x * 1e-15);
    let wide = f64(x) * 1e6lf;
    let low = vec2<u64>(vec2(wide, -wide));
    out[id.x] = vec4(i32(narrow), i32(i64(x) >> 40u), i32(i64(wide) >> 40u), i32(low.x >> 40u) ^ i32(low.y));
}

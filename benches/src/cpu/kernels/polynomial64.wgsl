// polynomial64: out[i] = a sum of 64 terms of the powers of x[i], in numbers of 64 bits
//
// Dispatch   one invocation for each element
// Workgroup  [64, 1, 1]
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn polynomial64(@builtin(global_invocation_id) id: vec3<u32>) {
    let base = f64(x[id.x]);
    var sum = 0.0lf;
    for (var term = 0u; term < 64u; term++) {
        sum = sum * base + 0.25lf;
    }
    out[id.x] = f32(sum);
}

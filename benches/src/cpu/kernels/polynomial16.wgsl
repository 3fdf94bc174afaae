// polynomial16: out[i] = a sum of 64 terms of the powers of x[i], in numbers of 16 bits
//
// Dispatch   one invocation for each element
// Workgroup  [64, 1, 1]
enable f16;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn polynomial16(@builtin(global_invocation_id) id: vec3<u32>) {
    let base = f16(x[id.x]);
    var sum = 0.0h;
    for (var term = 0u; term < 64u; term++) {
        sum = sum * base + 0.25h;
    }
    out[id.x] = f32(sum);
}

// multiply_add: out[i] = the sum of eight chains of 8 * rounds multiplications and additions; it measures their rate
//
// Shape      out: n elements, n = arrayLength(&out), at most 2^22
// Dispatch   one invocation per element, along x; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  not used as a result; each chain converges to 2, so that no number is subnormal
override WORKGROUP: u32 = 64;
struct Params { rounds: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

const HALF: vec4<f32> = vec4<f32>(0.5);
const ONE: vec4<f32> = vec4<f32>(1.0);

@compute @workgroup_size(WORKGROUP)
fn multiply_add(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&out) { return; }
    var a = vec4<f32>(0.0, 1.0, 2.0, 3.0) + f32(id.x % 64u);
    var b = a + 4.0;
    for (var round = 0u; round < params.rounds; round++) {
        a = a * HALF + ONE;
        b = b * HALF + ONE;
        a = a * HALF + ONE;
        b = b * HALF + ONE;
        a = a * HALF + ONE;
        b = b * HALF + ONE;
        a = a * HALF + ONE;
        b = b * HALF + ONE;
        a = a * HALF + ONE;
        b = b * HALF + ONE;
        a = a * HALF + ONE;
        b = b * HALF + ONE;
        a = a * HALF + ONE;
        b = b * HALF + ONE;
        a = a * HALF + ONE;
        b = b * HALF + ONE;
    }
    let sum = a + b;
    out[id.x] = sum.x + sum.y + sum.z + sum.w;
}

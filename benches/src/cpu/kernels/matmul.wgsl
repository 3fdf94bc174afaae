// c = a * b, of square matrices with SIDE rows
//
// matmul_tiles: one invocation for each element; a workgroup shares tiles of 16 by 16 elements; [16, 16, 1]
// matmul_registers: one invocation for eight elements of a column, without shared memory; [64, 1, 1]
//
// SIDE is a multiple of 64.
override SIDE: u32 = 1024;
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;

var<workgroup> of_a: array<f32, 256>;
var<workgroup> of_b: array<f32, 256>;

@compute @workgroup_size(16, 16)
fn matmul_tiles(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let place = local.y * 16u + local.x;
    var sum = 0.0;
    for (var tile = 0u; tile < SIDE; tile += 16u) {
        of_a[place] = a[id.y * SIDE + tile + local.x];
        of_b[place] = b[(tile + local.y) * SIDE + id.x];
        workgroupBarrier();
        for (var k = 0u; k < 16u; k++) { sum += of_a[local.y * 16u + k] * of_b[k * 16u + local.x]; }
        workgroupBarrier();
    }
    c[id.y * SIDE + id.x] = sum;
}

@compute @workgroup_size(64)
fn matmul_registers(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = id.y * 8u;
    let column = id.x;
    let first = row * SIDE;
    var upper = vec4(0.0);
    var lower = vec4(0.0);
    for (var k = 0u; k < SIDE; k++) {
        let at = first + k;
        let factor = b[k * SIDE + column];
        upper += factor * vec4(a[at], a[at + SIDE], a[at + 2u * SIDE], a[at + 3u * SIDE]);
        lower += factor * vec4(a[at + 4u * SIDE], a[at + 5u * SIDE], a[at + 6u * SIDE], a[at + 7u * SIDE]);
    }
    let place = first + column;
    c[place] = upper.x;
    c[place + SIDE] = upper.y;
    c[place + 2u * SIDE] = upper.z;
    c[place + 3u * SIDE] = upper.w;
    c[place + 4u * SIDE] = lower.x;
    c[place + 5u * SIDE] = lower.y;
    c[place + 6u * SIDE] = lower.z;
    c[place + 7u * SIDE] = lower.w;
}

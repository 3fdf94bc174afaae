// copy_small: as copy_words, but copies bytes or halves of words; the other bits of a destination word keep their value
//
// Shape      src, dst: hold every unit that is addressed; total = counts.x * counts.y * counts.z * counts.w
// Dispatch   enough groups for four units an invocation, but no more than the device allows
// Workgroup  [64, 1, 1]
// Barriers   none
// Tolerance  exact
struct Params {
    counts: vec4<u32>,
    src_strides: vec4<u32>,
    dst_strides: vec4<u32>,
    src_first: u32,
    dst_first: u32,
    total: u32,
    bits: u32, // 8 or 16 bits in a unit
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> src: array<u32>;
@group(0) @binding(2) var<storage, read_write> dst: array<atomic<u32>>;

@compute @workgroup_size(64)
fn copy_small(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let stride = groups.x * 64u;
    let each = 32u / params.bits;
    let mask = (1u << params.bits) - 1u;
    for (var n = gid.x; n < params.total; n += stride) {
        let z = n / params.counts.w;
        let y = z / params.counts.z;
        let x = y / params.counts.y;
        let i = vec4(x, y % params.counts.y, z % params.counts.z, n % params.counts.w);
        let here = params.src_first + dot(i, params.src_strides);
        let there = params.dst_first + dot(i, params.dst_strides);
        let unit = (src[here / each] >> (params.bits * (here % each))) & mask;
        // Other invocations may write the rest of the word. Neither operation changes those bits.
        let shift = params.bits * (there % each);
        atomicAnd(&dst[there / each], ~(mask << shift));
        atomicOr(&dst[there / each], unit << shift);
    }
}

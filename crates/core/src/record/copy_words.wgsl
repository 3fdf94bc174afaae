// copy_words: dst[dst_first + i . dst_strides] = src[src_first + i . src_strides], for every index i below counts
//
// Shape      src, dst: hold every word that is addressed; total = counts.x * counts.y * counts.z * counts.w
// Dispatch   enough groups for four words an invocation, but no more than the device allows
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
}
@group(0) @binding(0) var<uniform> params: Params;
// Both bindings may be ranges of one buffer, and a dispatch must bind a buffer with one access.
@group(0) @binding(1) var<storage, read_write> src: array<u32>;
@group(0) @binding(2) var<storage, read_write> dst: array<u32>;

@compute @workgroup_size(64)
fn copy_words(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let stride = groups.x * 64u;
    for (var n = gid.x; n < params.total; n += stride) {
        let z = n / params.counts.w;
        let y = z / params.counts.z;
        let x = y / params.counts.y;
        let i = vec4(x, y % params.counts.y, z % params.counts.z, n % params.counts.w);
        dst[params.dst_first + dot(i, params.dst_strides)] = src[params.src_first + dot(i, params.src_strides)];
    }
}

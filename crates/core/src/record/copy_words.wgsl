// copy_words: dst[dst_first + i . dst_strides] = src[src_first + i . src_strides], for every index i below counts
//
// Shape      src, dst: hold every word that is addressed; total = counts.x * counts.y * counts.z * counts.w
// Dispatch   enough groups for four words an invocation, but no more than the device allows
// Workgroup  [64, 1, 1]
// Barriers   none
// Tolerance  exact
@group(0) @binding(2) var<storage, read_write> dst: array<u32>;

@compute @workgroup_size(64)
fn copy_words(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let stride = groups.x * 64u;
    for (var n = gid.x; n < params.total; n += stride) {
        let at = unit_places(n);
        dst[at.y] = src[at.x];
    }
}

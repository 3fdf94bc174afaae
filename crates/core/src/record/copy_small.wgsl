// copy_small: as copy_words, but copies bytes or halves of words; the other bits of a destination word keep their value
//
// Shape      src, dst: hold every unit that is addressed; total = counts.x * counts.y * counts.z * counts.w
// Dispatch   enough groups for four units an invocation, but no more than the device allows
// Workgroup  [64, 1, 1]
// Barriers   none
// Tolerance  exact
@group(0) @binding(2) var<storage, read_write> dst: array<atomic<u32>>;

@compute @workgroup_size(64)
fn copy_small(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let stride = groups.x * 64u;
    let each = 32u / params.bits;
    let mask = (1u << params.bits) - 1u;
    for (var n = gid.x; n < params.total; n += stride) {
        let at = unit_places(n);
        let unit = (src[at.x / each] >> (params.bits * (at.x % each))) & mask;
        // Other invocations may write the rest of the word. Neither operation changes those bits.
        let shift = params.bits * (at.y % each);
        atomicAnd(&dst[at.y / each], ~(mask << shift));
        atomicOr(&dst[at.y / each], unit << shift);
    }
}

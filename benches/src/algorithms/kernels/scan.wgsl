// Scans an array as textbooks do: each workgroup scans 256 elements in log2(256) steps, and the sums of the workgroups are
// scanned in the same way and added.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;

var<workgroup> shared_sums: array<u32, 256>;

@compute @workgroup_size(256)
fn scan_blocks(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let at = local.x;
    shared_sums[at] = select(0u, x[id.x], id.x < arrayLength(&x));
    for (var step = 1u; step < 256; step *= 2) {
        workgroupBarrier();
        let before = select(0u, shared_sums[at - min(step, at)], at >= step);
        workgroupBarrier();
        shared_sums[at] += before;
    }
    if id.x < arrayLength(&y) {
        y[id.x] = shared_sums[at];
    }
    if at == 255 {
        sums[group.x] = shared_sums[at];
    }
}

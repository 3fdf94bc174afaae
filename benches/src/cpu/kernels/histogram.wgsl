// histogram: bins[v] counts the elements whose lowest byte is v
//
// Dispatch   some workgroups, each for a contiguous block of the elements
// Workgroup  [256, 1, 1]
// Barriers   two; the counts of a workgroup are atomic in its memory
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>>;

var<workgroup> counts: array<atomic<u32>, 256>;

@compute @workgroup_size(256)
fn histogram(
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    atomicStore(&counts[local], 0u);
    workgroupBarrier();
    let block = arrayLength(&x) / groups.x;
    for (var i = local; i < block; i += 256u) { atomicAdd(&counts[x[group.x * block + i] & 255u], 1u); }
    workgroupBarrier();
    atomicAdd(&bins[local], atomicLoad(&counts[local]));
}

// Counts each element with an atomic addition to memory of the device.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>>;

@compute @workgroup_size(256)
fn histogram(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&x); i += 256 * groups.x) {
        atomicAdd(&bins[x[i] % arrayLength(&bins)], 1u);
    }
}

// Copies an array: the limit of a verb that reads and writes each element once.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(256)
fn copy(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let n = arrayLength(&x);
    for (var i = id.x; i < n; i += 256 * groups.x) {
        y[i] = x[i];
    }
}

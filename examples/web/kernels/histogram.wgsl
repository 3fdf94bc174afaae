// Counts how many elements fall into each bin.
@group(0) @binding(0) var<storage, read> values: array<u32>;
@group(0) @binding(1) var<storage, read_write> bins: array<u32, 16>;

@compute @workgroup_size(64)
fn histogram(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&values) { return; }
    let bin = values[id.x] % 16u;
    let before = bins[bin];
    bins[bin] = before + 1u;
}

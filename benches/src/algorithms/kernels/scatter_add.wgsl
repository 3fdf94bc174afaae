// Adds each float to its place by compare-and-swap.
//#use atomic_f32(out)
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read> places: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<atomic<u32>>;

@compute @workgroup_size(256)
fn scatter_add(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&x); i += 256 * groups.x) {
        if places[i] < arrayLength(&out) { out_add(places[i], bitcast<f32>(x[i])); }
    }
}

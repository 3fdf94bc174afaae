// expect: refused: acceleration_structure.wgsl, `scene`: textures, samplers and acceleration structures cannot be arguments
enable wgpu_ray_query;

@group(0) @binding(0) var scene: acceleration_structure;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(1)
fn looks() {
    var query: ray_query;
    rayQueryInitialize(&query, scene, RayDesc(0u, 255u, 0.1, 9.0, vec3(0.0), vec3(1.0)));
    while rayQueryProceed(&query) {
    }
    out[0] = rayQueryGetCommittedIntersection(&query).kind;
}

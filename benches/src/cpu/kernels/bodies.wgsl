// bodies: the acceleration of each body by all bodies; the three parts of the acceleration follow each other in `pull`
//
// Dispatch   one invocation for each body; their number is a multiple of 128
// Workgroup  [128, 1, 1]
// Barriers   two for each tile of 128 bodies
@group(0) @binding(0) var<storage, read> xs: array<f32>;
@group(0) @binding(1) var<storage, read> ys: array<f32>;
@group(0) @binding(2) var<storage, read> zs: array<f32>;
@group(0) @binding(3) var<storage, read> masses: array<f32>;
@group(0) @binding(4) var<storage, read_write> pull: array<f32>;

var<workgroup> tile: array<vec4<f32>, 128>;

@compute @workgroup_size(128)
fn bodies(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let count = arrayLength(&xs);
    let own = vec3(xs[id.x], ys[id.x], zs[id.x]);
    var sum = vec3(0.0);
    for (var first = 0u; first < count; first += 128u) {
        let at = first + local;
        tile[local] = vec4(xs[at], ys[at], zs[at], masses[at]);
        workgroupBarrier();
        for (var j = 0u; j < 128u; j++) {
            let other = tile[j];
            let away = other.xyz - own;
            let near = inverseSqrt(dot(away, away) + 0.01);
            sum += other.w * near * near * near * away;
        }
        workgroupBarrier();
    }
    pull[id.x] = sum.x;
    pull[count + id.x] = sum.y;
    pull[2u * count + id.x] = sum.z;
}

// expect: compiled
// Structs and matrices have padding, a uniform block among them.
struct Small {
    first: f32,
    turn: mat2x2<f32>,
    axis: vec3<f32>,
    last: f32,
}

@group(0) @binding(0) var<uniform> params: Small;
@group(0) @binding(1) var<storage, read_write> out: array<Small, 40>;

@compute @workgroup_size(16)
fn copies(@builtin(global_invocation_id) id: vec3<u32>) {
    var small = params;
    small.axis.y = f32(id.x);
    small.last = 3.0;
    small.turn[1][id.x % 2u] = 4.0;
    out[id.x] = small;
    out[id.x].turn[0] = out[id.x].axis.yz + vec2(out[id.x].last);
}

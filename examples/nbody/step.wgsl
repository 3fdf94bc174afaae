// Computes one time step: the other bodies pull each body, then the body moves.
//#use "body.wgsl"
struct Params { dt: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> old: array<Body>;
@group(0) @binding(2) var<storage, read_write> next: array<Body>;

@compute @workgroup_size(64)
fn step(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&old) { return; }
    var body = old[id.x];
    for (var i = 0u; i < arrayLength(&old); i++) {
        let offset = old[i].position - body.position;
        let near = nearness(offset);
        body.velocity += offset * (params.dt * old[i].mass * near * near * near);
    }
    body.position += params.dt * body.velocity;
    next[id.x] = body;
}

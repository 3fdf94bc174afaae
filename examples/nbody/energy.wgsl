// Computes the energy of each body: its kinetic energy, and half of the potential energy of each pair with
// another body.
//#use "body.wgsl"
@group(0) @binding(0) var<storage, read> bodies: array<Body>;
@group(0) @binding(1) var<storage, read_write> energies: array<f32>;

@compute @workgroup_size(64)
fn energy(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&bodies) { return; }
    let body = bodies[id.x];
    var pull = 0.0;
    for (var i = 0u; i < arrayLength(&bodies); i++) {
        if i != id.x { pull += bodies[i].mass * nearness(bodies[i].position - body.position); }
    }
    energies[id.x] = 0.5 * body.mass * (dot(body.velocity, body.velocity) - pull);
}

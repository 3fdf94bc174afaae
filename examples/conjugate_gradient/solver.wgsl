// Conjugate gradients for a step of heat conduction on a square. A takes the temperatures after the step to those before
// it, and A x = b. r = b - A x is the residual, p the direction of the next step, and q = A p.

struct Params { side: u32, rate: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> r: array<f32>;
@group(0) @binding(3) var<storage, read> r_in: array<f32>;
@group(0) @binding(4) var<storage, read_write> p: array<f32>;
@group(0) @binding(5) var<storage, read> p_in: array<f32>;
@group(0) @binding(6) var<storage, read_write> q: array<f32>;
@group(0) @binding(7) var<storage, read> q_in: array<f32>;
@group(0) @binding(8) var<storage, read> square: array<f32>; // r . r before the step
@group(0) @binding(9) var<storage, read> product: array<f32>; // p . q
@group(0) @binding(10) var<storage, read> next: array<f32>; // r . r after the step

// Returns an element of p, and 0 outside the square.
fn p_at(x: i32, y: i32) -> f32 {
    let side = i32(params.side);
    if x < 0 || y < 0 || x >= side || y >= side { return 0.0; }
    return p_in[y * side + x];
}

// Computes q = A p.
@compute @workgroup_size(64)
fn multiply(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&q) { return; }
    let x = i32(id.x % params.side);
    let y = i32(id.x / params.side);
    let around = p_at(x - 1, y) + p_at(x + 1, y) + p_at(x, y - 1) + p_at(x, y + 1);
    q[id.x] = p_at(x, y) + params.rate * (4.0 * p_at(x, y) - around);
}

// Makes the step.
@compute @workgroup_size(64)
fn advance(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&x) { return; }
    let scale = square[0] / product[0];
    x[id.x] += scale * p_in[id.x];
    r[id.x] -= scale * q_in[id.x];
}

// Turns the direction.
@compute @workgroup_size(64)
fn turn(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&p) { return; }
    p[id.x] = r_in[id.x] + next[0] / square[0] * p[id.x];
}

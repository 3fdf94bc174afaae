// Conjugate gradient for Poisson's equation on a square: A is the matrix of the five-point stencil, and A x = b.
// r = b - A x is the residual, p the direction of the step, and q = A p.
//
// A dot product takes two launches: the first one writes a sum for each workgroup, and one workgroup of the second
// launch adds those sums.

override TOLERANCE: f32 = 1e-4; // the solver stops at |r| <= TOLERANCE * |b|

const GROUP = 64u; // invocations of a workgroup

struct Scalars { square: f32, limit: f32, alpha: f32, beta: f32 } // `square` is r . r, and the solver stops at `limit`

struct Params { side: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> r: array<f32>;
@group(0) @binding(4) var<storage, read> r_in: array<f32>;
@group(0) @binding(5) var<storage, read_write> p: array<f32>;
@group(0) @binding(6) var<storage, read> p_in: array<f32>;
@group(0) @binding(7) var<storage, read_write> q: array<f32>;
@group(0) @binding(8) var<storage, read> q_in: array<f32>;
@group(0) @binding(9) var<storage, read_write> sums: array<f32>;
@group(0) @binding(10) var<storage, read> sums_in: array<f32>;
@group(0) @binding(11) var<storage, read_write> scalars: array<Scalars>;
@group(0) @binding(12) var<storage, read> scalars_in: array<Scalars>;
@group(0) @binding(13) var<storage, read_write> go: array<u32>;

var<workgroup> tree: array<f32, GROUP>;

// Returns the sum of the values of a workgroup to all its invocations.
fn group_sum(value: f32, lane: u32) -> f32 {
    tree[lane] = value;
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half { tree[lane] += tree[lane + half]; }
    }
    workgroupBarrier();
    return tree[0];
}

// Returns the sum of the sums of all workgroups.
fn total(lane: u32) -> f32 {
    var sum = 0.0;
    for (var i = lane; i < arrayLength(&sums_in); i += GROUP) { sum += sums_in[i]; }
    return group_sum(sum, lane);
}

// Returns an element of p, and 0 outside the square.
fn p_at(x: i32, y: i32) -> f32 {
    let side = i32(params.side);
    if x < 0 || y < 0 || x >= side || y >= side { return 0.0; }
    return p_in[y * side + x];
}

// Starts from x = 0: r = p = b, and sums r . r.
@compute @workgroup_size(GROUP)
fn start(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    var square = 0.0;
    if id.x < arrayLength(&b) {
        x[id.x] = 0.0;
        r[id.x] = b[id.x];
        p[id.x] = b[id.x];
        square = b[id.x] * b[id.x];
    }
    let sum = group_sum(square, lane);
    if lane == 0u { sums[group.x] = sum; }
}

// Derives the limit from r . r at the start.
@compute @workgroup_size(GROUP)
fn limit(@builtin(local_invocation_index) lane: u32) {
    let square = total(lane);
    if lane == 0u {
        scalars[0] = Scalars(square, TOLERANCE * TOLERANCE * square, 0.0, 0.0);
        go[0] = u32(square > scalars[0].limit);
    }
}

// Computes q = A p, and sums p . q.
@compute @workgroup_size(GROUP)
fn multiply(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    var product = 0.0;
    if id.x < arrayLength(&q) {
        let x = i32(id.x % params.side);
        let y = i32(id.x / params.side);
        let around = p_at(x - 1, y) + p_at(x + 1, y) + p_at(x, y - 1) + p_at(x, y + 1);
        q[id.x] = 4.0 * p_at(x, y) - around;
        product = p_at(x, y) * q[id.x];
    }
    let sum = group_sum(product, lane);
    if lane == 0u { sums[group.x] = sum; }
}

// Computes the length of the step.
@compute @workgroup_size(GROUP)
fn alpha(@builtin(local_invocation_index) lane: u32) {
    let product = total(lane);
    if lane == 0u { scalars[0].alpha = scalars[0].square / product; }
}

// Makes the step, and sums r . r.
@compute @workgroup_size(GROUP)
fn advance(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    var square = 0.0;
    if id.x < arrayLength(&x) {
        x[id.x] += scalars_in[0].alpha * p_in[id.x];
        r[id.x] -= scalars_in[0].alpha * q_in[id.x];
        square = r[id.x] * r[id.x];
    }
    let sum = group_sum(square, lane);
    if lane == 0u { sums[group.x] = sum; }
}

// Computes how much of the old direction the new one keeps, and whether the solver continues.
@compute @workgroup_size(GROUP)
fn beta(@builtin(local_invocation_index) lane: u32) {
    let square = total(lane);
    if lane == 0u {
        scalars[0].beta = square / scalars[0].square;
        scalars[0].square = square;
        go[0] = u32(square > scalars[0].limit);
    }
}

// Turns the direction.
@compute @workgroup_size(GROUP)
fn turn(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&p) { return; }
    p[id.x] = r_in[id.x] + scalars_in[0].beta * p[id.x];
}

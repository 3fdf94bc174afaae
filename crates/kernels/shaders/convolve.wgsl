// convolve: out[i] = the sum over j of weights[j] * x[first + i - j] in each row, where elements outside of the row are 0
//
// Shape      x: rows of x_size numbers; weights: at least one number; out: n numbers, rows of `size`
// Dispatch   one invocation per element of out; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  d u times the sum of the magnitudes of the products, d = the number of weights, u = 2^-24
//#use linear
override WORKGROUP: u32 = 64;
struct Params { n: u32, size: u32, x_size: u32, count: u32, first: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> weights: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn convolve(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.n { return; }
    let row = i / params.size * params.x_size;
    let place = i % params.size + params.first;
    var j = 0u;
    if place >= params.x_size { j = place - params.x_size + 1u; }
    let end = min(place + 1u, params.count);
    var sum = 0.0;
    for (; j < end; j++) { sum += weights[j] * x[row + place - j]; }
    out[i] = sum;
}

// overlap_add: out[i] = the sum of the overlapping frames at i after a window, divided by the sum of the squares of the window
//
// Shape      x: frames of x_size numbers, `frames` for each signal; out: n numbers, signals of `size`; table: from `window` on,
//            the factors of the window, two in an element
// Dispatch   one invocation per element of out; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  relative to the sum of the magnitudes, (3 + width / hop) u, u = 2^-24; 0 where no window reaches
//#use linear
override WORKGROUP: u32 = 64;
struct Params {
    n: u32,
    size: u32,
    x_size: u32,
    frames: u32,
    hop: u32,                               // distance of the first elements of two frames
    pad: u32,                               // elements of the first frame that come before the signal
    width: u32,                             // elements of the window
    window: u32,
    unit: f32,                              // factor that brings the largest factor of the window near 1
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> table: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

// Smallest sum of squares that counts. The largest factor is near 1.
const LEAST: f32 = 1e-10;

fn factor(r: u32) -> f32 {
    let factors = table[params.window + r / 2u];
    return params.unit * select(factors.x, factors.y, r % 2u == 1u);
}

@compute @workgroup_size(WORKGROUP)
fn overlap_add(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.n { return; }
    let place = i % params.size + params.pad;
    let signal = i / params.size * params.frames;
    var frame = 0u;
    if place >= params.width { frame = (place - params.width) / params.hop + 1u; }
    let end = min(place / params.hop + 1u, params.frames);
    var sum = 0.0;
    var squares = 0.0;
    for (; frame < end; frame++) {
        let r = place - frame * params.hop;
        let weight = factor(r);
        sum += weight * x[(signal + frame) * params.x_size + r];
        squares += weight * weight;
    }
    out[i] = 0.0;
    if squares > LEAST { out[i] = params.unit * sum / squares; }
}

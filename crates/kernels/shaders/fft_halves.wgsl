// fft_halves: out = the spectra of n real numbers, from transforms of n / 2 pairs of them, or these transforms from the spectra
//
// Shape      x, out: batches of transforms of `half` elements, and of spectra of half + 1, for each of `inner` columns; n: the
//            number of elements of out; table: from `roots` on, the roots of unity for 2 * half elements
// Dispatch   one invocation per element of out; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  relative to the norm of a batch, at most 6 u, u = 2^-24
//#use linear
override WORKGROUP: u32 = 64;
override JOIN: u32 = 0;                     // 1: x has the spectra
struct Params { n: u32, half: u32, inner: u32, roots: u32, scale: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read> table: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> out: array<vec2<f32>>;

// Number of fine roots of a table, as in fft_tile.
const FINE: u32 = 1024;

fn product(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

@compute @workgroup_size(WORKGROUP)
fn fft_halves(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.n { return; }
    let out_size = params.half + 1u - JOIN;
    let x_size = params.half + JOIN;
    let column = i % params.inner;
    let rest = i / params.inner;
    let k = rest % out_size;
    let first = rest / out_size * x_size;
    // The element after the last one of a transform is its first one.
    var a = x[(first + k % x_size) * params.inner + column];
    var b = x[(first + (params.half - k) % x_size) * params.inner + column];
    if JOIN == 1u && k == 0u {
        // The first and the last element of a spectrum are real.
        a.y = 0.0;
        b.y = 0.0;
    }
    b.y = -b.y;
    var root = product(table[params.roots + k % FINE], table[params.roots + FINE + k / FINE]);
    if JOIN == 1u { root = vec2(-root.x, root.y); }
    let odd = product(a - b, root);
    out[i] = params.scale * (a + b + vec2(odd.y, -odd.x));
}

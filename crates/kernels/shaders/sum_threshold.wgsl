// sum_threshold: out[i] = `flag` if element i of x is in a window whose sum is above a threshold, or was flagged before, else 0
//
// Shape      x, flags, out: [outer, n, inner]; noise: [outer, inner]; the threshold of an element is scale * noise; a window has
//            `window` elements along the middle axis, none of them outside of x; a flagged element counts as the threshold
// Dispatch   one invocation per element; invocations past count do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  a sum is within `window` u times the sum of the magnitudes, u = 2^-24, and the threshold within u of it
//#use linear
override WORKGROUP: u32 = 64;
override FIRST: u32 = 0;                    // 1: no element was flagged before, and flags is not read
struct Params { n: u32, inner: u32, count: u32, window: u32, scale: f32, flag: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> noise: array<f32>;
@group(0) @binding(3) var<storage, read> flags: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<u32>;

fn is_flagged(i: u32) -> bool {
    if FIRST == 1u { return false; }
    return flags[i] != 0u;
}

// A device may assume that no float is a NaN, so the bits decide.
fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7FFFFFFFu) > 0x7F800000u; }

@compute @workgroup_size(WORKGROUP)
fn sum_threshold(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.count { return; }
    let row = i / params.inner % params.n;
    let outer = i / params.inner / params.n;
    let threshold = params.scale * noise[outer * params.inner + i % params.inner];
    var found = is_flagged(i);
    if !found && !is_nan(threshold) && params.window <= params.n {
        let before = min(row, params.window - 1u);
        let last = min(row, params.n - params.window);
        for (var start = row - before; start <= last && !found; start++) {
            var sum = 0.0;
            for (var k = 0u; k < params.window; k++) {
                let at = i - (row - start) * params.inner + k * params.inner;
                sum += select(x[at], threshold, is_flagged(at));
            }
            found = !is_nan(sum) && sum > threshold * f32(params.window);
        }
    }
    out[i] = select(0u, params.flag, found);
}

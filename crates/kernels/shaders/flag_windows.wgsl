// flag_windows: out[i] = flags[i], with bit 0 set if element i of x is in a window whose sum is above a threshold, and bit 1 if it is
// in one whose sum is below the negative threshold
//
// Shape      x, flags, out: [outer, n, inner]; the middle axis is divided into `chunks` chunks, which differ by at most one element;
//            noise: [outer, inner, chunks]; the threshold of an element is scale * noise; a window has `window` elements along the
//            middle axis, none of them outside of x; n * chunks is below 2^32
// Dispatch   one invocation per element; invocations past count do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  a sum is within `window` u times the sum of the magnitudes, u = 2^-24, and the threshold within u of it
//#use linear
override WORKGROUP: u32 = 64;
struct Params { n: u32, inner: u32, chunks: u32, count: u32, window: u32, scale: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> noise: array<f32>;
@group(0) @binding(3) var<storage, read> flags: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<u32>;

// A device may assume that no float is a NaN, so the bits decide.
fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7FFFFFFFu) > 0x7F800000u; }

// Returns an element, which counts as at most the threshold if it is flagged above, and as at least its negative if it is flagged
// below. An element of another chunk counts as flagged both ways, because its flags are those of another threshold.
fn element(at: u32, is_own: bool, threshold: f32) -> f32 {
    let state = select(3u, flags[at], is_own);
    let most = select(x[at], min(x[at], threshold), (state & 1u) != 0u);
    return select(most, max(most, -threshold), (state & 2u) != 0u);
}

@compute @workgroup_size(WORKGROUP)
fn flag_windows(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.count { return; }
    let index = i / params.inner % params.n;
    let chunk = ((index + 1u) * params.chunks - 1u) / params.n;
    let first = chunk * params.n / params.chunks;
    let end = (chunk + 1u) * params.n / params.chunks;
    let line = i - index * params.inner;
    let row = i / params.inner / params.n * params.inner + i % params.inner;
    let threshold = params.scale * noise[row * params.chunks + chunk];
    var found = flags[i];
    if !is_nan(threshold) {
        let limit = threshold * f32(params.window);
        let before = min(index, params.window - 1u);
        let last = min(index, params.n - params.window);
        for (var start = index - before; start <= last; start++) {
            var sum = 0.0;
            for (var place = start; place < start + params.window; place++) {
                let is_own = place >= first && place < end;
                sum += element(line + place * params.inner, is_own, threshold);
            }
            found |= select(0u, 1u, sum > limit) | select(0u, 2u, -sum > limit);
        }
    }
    out[i] = found;
}

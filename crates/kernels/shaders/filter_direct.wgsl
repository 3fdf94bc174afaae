// filter_direct: out = the sums of the weights times the elements around each element of some images
//
// Shape      x: images of height x width elements with `channels` numbers each; weights: taps_y x taps_x, from weights[first] on
//            in steps of `step`; out: images of `rows` lines of `line` numbers
// Dispatch   one invocation per block of four results in a column: count invocations, `blocks` of them in a column of an image;
//            invocations past count do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  f32: d u times the sum of the magnitudes of the products, d = the number of weights + 1, u = 2^-24; integers exactly,
//            wrapping
//
// An element is loaded once for the four results of an invocation.
//#use beside
//#use linear
override WORKGROUP: u32 = 256;
override BOUNDARY: u32 = 2;                 // beside an image, 0: a constant, 1: nearest, 2: reflect, 3: mirror, 4: wrap
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params {
    count: u32,
    blocks: u32,
    rows: u32,
    line: u32,
    height: u32,
    width: u32,
    channels: u32,
    taps_y: u32,
    taps_x: u32,
    pad_y: u32,
    pad_x: u32,
    lift_y: u32,
    lift_x: u32,
    period_y: u32,
    period_x: u32,
    first: u32,
    step: u32,
    constant: T,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<T>;
@group(0) @binding(2) var<storage, read> weights: array<T>;
@group(0) @binding(3) var<storage, read_write> out: array<T>;

@compute @workgroup_size(WORKGROUP)
fn filter_direct(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.count { return; }
    let at = i % params.line;
    let block = i / params.line;
    let row = 4u * (block % params.blocks);
    let image = block / params.blocks;
    let column = at / params.channels;
    let first = image * params.height * params.width * params.channels + at % params.channels;
    let in_rows = row >= params.pad_y && row + params.taps_y + 3u <= params.height + params.pad_y;
    let in_columns = column >= params.pad_x && column + params.taps_x <= params.width + params.pad_x;
    let is_inside = in_rows && in_columns;
    let corner = first + ((row - params.pad_y) * params.width + column - params.pad_x) * params.channels;
    var sums = vec4<T>();
    for (var b = 0u; b < params.taps_x; b++) {
        var four = vec4<T>();               // weights of the element for each of the results
        for (var a = 0u; a < params.taps_y + 3u; a++) {
            var element = T(0);
            if is_inside {
                element = x[corner + (a * params.width + b) * params.channels];
            } else {
                element = element_beside(first, row + a, column + b);
            }
            var weight = T(0);
            if a < params.taps_y { weight = weights[params.first + (a * params.taps_x + b) * params.step]; }
            four = vec4<T>(weight, four.xyz);
            // A product without a weight is left out, because the element may be a NaN.
            let is_used = (vec4<u32>(a) - vec4<u32>(0u, 1u, 2u, 3u)) < vec4<u32>(params.taps_y);
            sums += select(vec4<T>(), element * four, is_used);
        }
    }
    let place = (image * params.rows + row) * params.line + at;
    out[place] = sums.x;
    if row + 1u < params.rows { out[place + params.line] = sums.y; }
    if row + 2u < params.rows { out[place + 2u * params.line] = sums.z; }
    if row + 3u < params.rows { out[place + 3u * params.line] = sums.w; }
}

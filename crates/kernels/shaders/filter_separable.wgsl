// filter_separable: out = images, filtered along the columns and then along the rows, in tiles
//
// Shape      x, out: as filter_direct; down: taps_y weights, from down[first_y] on in steps of `step`; across: taps_x, in the same
//            way
// Dispatch   one workgroup per tile of TALL x ACROSS results: `tiles` in a line, `bands` of lines in an image, groups in all, in one
//            or two dimensions
// Workgroup  [ACROSS, DOWN, 1]
// Barriers   two
// Tolerance  f32: d u times the sum of the magnitudes of the products of two weights and an element, d = the number of all
//            weights + 1, u = 2^-24; integers exactly, wrapping
//
// The memory of a workgroup has the elements around a tile, and after them their sums along the columns.
//#use beside
override ACROSS: u32 = 32;
override DOWN: u32 = 8;
override TALL: u32 = 16;
override ROOM: u32 = 2048;
override BOUNDARY: u32 = 2;                 // beside an image, 0: a constant, 1: nearest, 2: reflect, 3: mirror, 4: wrap
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params {
    groups: u32,
    tiles: u32,
    bands: u32,
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
    first_y: u32,
    first_x: u32,
    step: u32,
    constant: T,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<T>;
@group(0) @binding(2) var<storage, read> down: array<T>;
@group(0) @binding(3) var<storage, read> across: array<T>;
@group(0) @binding(4) var<storage, read_write> out: array<T>;

var<workgroup> tile: array<T, ROOM>;

@compute @workgroup_size(ACROSS, DOWN)
fn filter_separable(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let g = group.y * groups.x + group.x;
    let is_tile = g < params.groups;
    let start = g % params.tiles * ACROSS;
    let row = g / params.tiles % params.bands * TALL;
    let image = g / params.tiles / params.bands;
    let first = image * params.height * params.width * params.channels;
    let wide = ACROSS + (params.taps_x - 1u) * params.channels;
    let loaded = (TALL + params.taps_y - 1u) * wide;
    for (var i = lane; i < select(0u, loaded, is_tile); i += ACROSS * DOWN) {
        let at = start + i % wide;
        tile[i] = element_beside(first + at % params.channels, row + i / wide, at / params.channels);
    }
    workgroupBarrier();
    for (var i = lane; i < select(0u, TALL * wide, is_tile); i += ACROSS * DOWN) {
        var sum = T(0);
        for (var a = 0u; a < params.taps_y; a++) {
            sum += down[params.first_y + a * params.step] * tile[i + a * wide];
        }
        let column = (start + i % wide) / params.channels;
        if BOUNDARY == 0u && column - params.pad_x >= params.width { sum = params.constant; }
        tile[loaded + i] = sum;
    }
    workgroupBarrier();
    for (var i = lane; i < select(0u, TALL * ACROSS, is_tile); i += ACROSS * DOWN) {
        let r = row + i / ACROSS;
        let at = start + i % ACROSS;
        if r < params.rows && at < params.line {
            let sums = loaded + i / ACROSS * wide + i % ACROSS;
            var sum = T(0);
            for (var b = 0u; b < params.taps_x; b++) {
                sum += across[params.first_x + b * params.step] * tile[sums + b * params.channels];
            }
            out[(image * params.rows + r) * params.line + at] = sum;
        }
    }
}

// fft_to_real: out = the real parts of the discrete Fourier transforms of x along an axis, or of the last pass of them
// If PAIRS, the parts of an element are two adjacent numbers.
//
// Shape      x: batches of x_size elements, for each of `inner` columns; out: signals of out_size numbers, for each column, in
//            frames as params says; table: as params says
// Dispatch   one workgroup per tile of `share` lines, in one or two dimensions; the last tile may have fewer lines
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   those of fft_tile, and one
// Tolerance  as fft_tile
//#use butterflies
//#use fft_memory
//#use fft_spectra
//#use fft_tile
override WORKGROUP: u32 = 128;
override MIRRORED: u32 = 0;                 // 1: x has the first elements of spectra of real numbers
override PAIRS: u32 = 0;                    // 1: a result has two numbers
@group(0) @binding(0) var<uniform> params: FftPass;
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read> table: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

// Writes number r of a frame, if it is one that is kept and is inside of the signal.
fn write(line: Line, r: u32, value: f32) {
    if r < params.skip || r >= params.keep { return; }
    let place = line.start + r - params.skip;
    if place < params.out_size { out[(line.signal * params.out_size + place) * params.inner + line.column] = value; }
}

fn store(line: Line, e: u32, value: vec2<f32>) {
    let result = finished(value, e);
    if PAIRS == 1u {
        write(line, 2u * e, result.x);
        write(line, 2u * e + 1u, result.y);
    } else {
        write(line, e, result.x);
    }
}

@compute @workgroup_size(WORKGROUP)
fn fft_to_real(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let first = (group.y * groups.x + group.x) * params.share;
    let rows = rows_from(first);
    load_tile(first, rows, lane);
    tile_barrier();
    let tile = transform_tile(first, rows, lane);
    store_tile(first, rows, tile, lane);
}

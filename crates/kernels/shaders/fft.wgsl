// fft: out = the discrete Fourier transforms of x along an axis, or a pass of them
//
// Shape      x, out: batches of x_size and of out_size elements, for each of `inner` columns; table: as params says
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
@group(0) @binding(0) var<uniform> params: FftPass;
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read> table: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> out: array<vec2<f32>>;

fn store(line: Line, e: u32, value: vec2<f32>) {
    if e < params.keep {
        out[(line.batch * params.out_size + e) * params.inner + line.column] = finished(value, e);
    }
}

@compute @workgroup_size(WORKGROUP)
fn fft(
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

// fft_real: out = the discrete Fourier transforms of real numbers along an axis, or the first pass of them
// If PAIRS, two adjacent numbers are the parts of one complex element.
//
// Shape      x: signals of x_size numbers, for each of `inner` columns, in frames as params says; out: batches of out_size
//            elements, for each column; table: as params says
// Dispatch   one workgroup per tile of `share` lines, in one or two dimensions; the last tile may have fewer lines
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   those of fft_tile, and one
// Tolerance  as fft_tile
//#use butterflies
//#use fft_memory
//#use fft_tile
override WORKGROUP: u32 = 128;
override PAIRS: u32 = 0;                    // 1: an element has two numbers
@group(0) @binding(0) var<uniform> params: FftPass;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> table: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> out: array<vec2<f32>>;

// Returns number r of a frame, after the window. Numbers outside of the frame or of the signal are 0.
fn number(line: Line, r: u32) -> f32 {
    // Before the signal, the place wraps.
    let place = line.start + r - params.pad;
    if r >= params.have || place >= params.x_size { return 0.0; }
    let value = x[(line.signal * params.x_size + place) * params.inner + line.column];
    if params.window == 0u { return value; }
    let factors = table[params.window - 1u + r / 2u];
    return value * select(factors.x, factors.y, r % 2u == 1u);
}

fn load(line: Line, e: u32) -> vec2<f32> {
    if PAIRS == 1u { return entered(vec2(number(line, 2u * e), number(line, 2u * e + 1u)), e); }
    return entered(vec2(number(line, e), 0.0), e);
}

fn store(line: Line, e: u32, value: vec2<f32>) {
    if e < params.keep {
        out[(line.batch * params.out_size + e) * params.inner + line.column] = finished(value, e);
    }
}

@compute @workgroup_size(WORKGROUP)
fn fft_real(
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

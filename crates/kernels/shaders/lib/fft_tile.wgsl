// fft_tile: discrete Fourier transforms of lines, tile by tile in a memory
//
// Shape      first, rows: the first line of the tile, and the number of its lines; the shader around it has `params` of the
//            type FftPass, the array `table`, `load` and `store`, and uses butterflies and fft_memory
// Dispatch   one workgroup of WORKGROUP invocations along x for each tile
// Barriers   one for each radix
// Tolerance  relative to the norm of the elements of a line, at most 1.5 (1 + log2(size)) u, u = 2^-24

// A pass of transforms along an axis. x has batches of x_size elements in each of `inner` columns, and out of out_size. The
// transforms have steps * size elements, and each is divided into `steps` lines: the elements of a line are `steps` apart.
// The sizes of the passes before this one have the product `before`. A place in the table that may be missing is counted
// from 1, and 0 says that it is missing.
struct FftPass {
    lines: u32,                             // of all batches and columns
    share: u32,                             // lines of a tile; in fft_memory, share * size is at most TILE
    size: u32,                              // elements of a line
    radices: u32,                           // of the stages, four bits for each, the first one in the lowest bits
    stages: u32,                            // place of the roots of the stages
    steps: u32,
    before: u32,
    roots: u32,                             // place of the roots of the whole transforms; a pass after the first one reads them
    root_step: u32,                         // distance of the roots that it reads
    inner: u32,
    x_size: u32,
    out_size: u32,
    have: u32,                              // from this element on, the elements of a transform are 0
    keep: u32,                              // from this result on, the results of a transform are not written
    x_factors: u32,                         // place of the factors of the elements; may be missing
    out_factors: u32,                       // place of the factors of the results; may be missing
    swaps: u32,                             // 1: exchange the parts of an element, 2: of a result before its factor, 4: after it
    scale: f32,                             // factor of all results
    frames: u32,                            // batches of real numbers that belong to one signal
    hop: u32,                               // distance of the first elements of two frames
    pad: u32,                               // elements of the first frame that come before the signal
    skip: u32,                              // results at the beginning of a frame that are not written
    window: u32,                            // place of the factors of real elements, two in an element; may be missing
}

// Number of fine roots of a table. After them come the coarse roots, each FINE-th one.
const FINE: u32 = 1024;

fn product(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// Returns a root of unity: minus `m` steps around the circle.
fn root(m: u32) -> vec2<f32> { return product(table[params.roots + m % FINE], table[params.roots + FINE + m / FINE]); }

struct Line { batch: u32, place: u32, column: u32, k: u32, signal: u32, start: u32 }

fn line_at(line: u32) -> Line {
    let rest = line / params.inner;
    let batch = rest / params.steps;
    let place = rest % params.steps;
    let frame = batch % params.frames;
    return Line(batch, place, line % params.inner, place % params.before, batch / params.frames, frame * params.hop);
}

// Rows and places of an invocation: from `row` on each `rows`-th row, and there from `place` on each `places`-th place.
struct Lanes { row: u32, rows: u32, place: u32, places: u32 }

// Distributes a table of rows and places. Neighbouring invocations take neighbouring rows, or else neighbouring places.
fn lanes_over(rows: u32, places: u32, by_row: bool, lane: u32) -> Lanes {
    let side = clamp(select(places, rows, by_row), 1u, WORKGROUP);
    let across = WORKGROUP / side;
    let far = lane / side;
    // The invocations that are left over take no row.
    let is_over = far >= across;
    if by_row { return Lanes(select(lane % side, rows, is_over), side, far, across); }
    return Lanes(select(far, rows, is_over), across, lane % side, side);
}

// Returns an element after the steps before the transform.
fn entered(value: vec2<f32>, e: u32) -> vec2<f32> {
    var result = value;
    if (params.swaps & 1u) != 0u { result = result.yx; }
    if params.x_factors != 0u { result = product(result, table[params.x_factors - 1u + e]); }
    return result;
}

// Returns a result after the steps after the transform.
fn finished(value: vec2<f32>, e: u32) -> vec2<f32> {
    var result = value;
    if (params.swaps & 2u) != 0u { result = result.yx; }
    if params.out_factors != 0u { result = product(result, table[params.out_factors - 1u + e]); }
    if (params.swaps & 4u) != 0u { result = result.yx; }
    return result * params.scale;
}

fn load_tile(first: u32, rows: u32, lane: u32) {
    let own = lanes_over(rows, params.size, params.steps * params.inner > 1u, lane);
    for (var row = own.row; row < rows; row += own.rows) {
        let line = line_at(first + row);
        for (var r = own.place; r < params.size; r += own.places) {
            var value = load(line, line.place + r * params.steps);
            if params.before > 1u { value = product(value, root(line.k * r * params.root_step)); }
            tiles[first_tile(first) + row * params.size + r] = value;
        }
    }
}

fn store_tile(first: u32, rows: u32, tile: u32, lane: u32) {
    let own = lanes_over(rows, params.size, params.before * params.inner > 1u, lane);
    for (var row = own.row; row < rows; row += own.rows) {
        let line = line_at(first + row);
        let place = (line.place - line.k) * params.size + line.k;
        for (var r = own.place; r < params.size; r += own.places) {
            store(line, place + r * params.before, tiles[tile + row * params.size + r]);
        }
    }
}

// A stage: it transforms each `blocks`-th element of a line. `before` is the product of the earlier radices, and `source`
// and `sink` are the places of two tiles.
struct Stage { radix: u32, blocks: u32, before: u32, source: u32, sink: u32 }

// Places of the first element and of the first result of a butterfly, and its number among the roots.
struct Spot { source: u32, sink: u32, k: u32 }

// Returns element r of a butterfly, turned by its root.
fn taken(stage: Stage, spot: Spot, r: u32) -> vec2<f32> {
    let value = tiles[spot.source + r * stage.blocks];
    if stage.before == 1u || r == 0u { return value; }
    return product(value, table[params.stages + r * stage.before + spot.k - 1u]);
}

fn give(stage: Stage, spot: Spot, r: u32, value: vec2<f32>) { tiles[spot.sink + r * stage.before] = value; }

fn transform_stage(stage: Stage, rows: u32, lane: u32) {
    let own = lanes_over(rows, stage.blocks, false, lane);
    for (var row = own.row; row < rows; row += own.rows) {
        let base = row * params.size;
        for (var block = own.place; block < stage.blocks; block += own.places) {
            let k = block % stage.before;
            let sink = stage.sink + base + (block - k) * stage.radix + k;
            let spot = Spot(stage.source + base + block, sink, k);
            switch stage.radix {
                case 2u: { radix_2(stage, spot); }
                case 3u: { radix_3(stage, spot); }
                case 4u: { radix_4(stage, spot); }
                case 5u: { radix_5(stage, spot); }
                case 7u: { radix_7(stage, spot); }
                default: { radix_8(stage, spot); }
            }
        }
    }
}

// Transforms the lines of a tile, and returns the place of the tile with the results.
fn transform_tile(first: u32, rows: u32, lane: u32) -> u32 {
    var stage = Stage(1u, params.size, 1u, first_tile(first), second_tile(first));
    for (var rest = params.radices; rest != 0u; rest >>= 4u) {
        stage.radix = rest & 15u;
        stage.blocks = params.size / stage.radix;
        transform_stage(stage, rows, lane);
        tile_barrier();
        stage.before *= stage.radix;
        let written = stage.sink;
        stage.sink = stage.source;
        stage.source = written;
    }
    return stage.source;
}

// Returns the number of lines of the tile that begins with line `first`; after the last tile there are none.
fn rows_from(first: u32) -> u32 { return min(params.share, max(params.lines, first) - first); }

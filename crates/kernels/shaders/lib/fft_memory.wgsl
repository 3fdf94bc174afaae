// fft_memory: the memory of the tiles of Fourier transforms, which is that of a workgroup
//
// Shape      line: the first line of a tile; the shader around it uses fft_tile
// Dispatch   any
// Barriers   one in `tile_barrier`
// Tolerance  exact

// Number of elements of a tile.
const TILE: u32 = 1024;
// Number of elements in the memory: a stage reads one tile, and writes another one.
const TILES: u32 = 2048;
var<workgroup> tiles: array<vec2<f32>, TILES>;

// Returns the place of the tile that is loaded.
fn first_tile(line: u32) -> u32 { return 0u; }

fn second_tile(line: u32) -> u32 { return TILE; }

// Waits until all invocations have written their elements.
fn tile_barrier() { workgroupBarrier(); }

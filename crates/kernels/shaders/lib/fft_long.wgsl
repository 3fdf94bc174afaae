// fft_long: the memory of the tiles of long Fourier transforms, in place of fft_memory
//
// Shape      tiles: two elements for each one of a tile, for all tiles one after the other; line: the first line of a tile; the
//            shader around it uses fft_tile
// Dispatch   any
// Barriers   one in `tile_barrier`
// Tolerance  exact
@group(0) @binding(4) var<storage, read_write> tiles: array<vec2<f32>>;

// Returns the place of the tile that is loaded.
fn first_tile(line: u32) -> u32 { return 2u * line * params.size; }

fn second_tile(line: u32) -> u32 { return (2u * line + params.share) * params.size; }

// Waits until all invocations have written their elements.
fn tile_barrier() { storageBarrier(); }

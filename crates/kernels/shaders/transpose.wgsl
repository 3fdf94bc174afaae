// transpose: out[b, c, r] = x[b, r, c]
//
// Shape      x: batches x rows x columns elements; out: as many; as bits
// Dispatch   one workgroup per tile of TILE x TILE elements: tiles_x x tiles_y x batches in one row, folded along y
// Workgroup  [TILE, TILE, 1]
// Barriers   one
// Tolerance  exact: the bits are copied
//
// Neighbouring invocations read neighbours of a row and write neighbours of a column. A row of the tile has one extra
// element, so that the elements of a column are in different memory banks.
override TILE: u32 = 16;
struct Params { rows: u32, columns: u32, tiles_x: u32, tiles_y: u32, tiles: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
var<workgroup> tile: array<u32, TILE * (TILE + 1)>;

@compute @workgroup_size(TILE, TILE)
fn transpose(
    @builtin(local_invocation_id) lane: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let at = group.y * groups.x + group.x;
    let first = params.rows * params.columns * (at / (params.tiles_x * params.tiles_y));
    let row = at / params.tiles_x % params.tiles_y * TILE;
    let column = at % params.tiles_x * TILE;
    let inside = at < params.tiles;
    if inside && row + lane.y < params.rows && column + lane.x < params.columns {
        tile[lane.y * (TILE + 1u) + lane.x] = x[first + (row + lane.y) * params.columns + column + lane.x];
    }
    workgroupBarrier();
    if inside && column + lane.y < params.columns && row + lane.x < params.rows {
        out[first + (column + lane.y) * params.rows + row + lane.x] = tile[lane.x * (TILE + 1u) + lane.y];
    }
}

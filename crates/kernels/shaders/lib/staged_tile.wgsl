// staged_tile: moves the elements of a tile through the memory of a workgroup, and combines the elements of each invocation
//
// Shape      first, count: the elements of the tile; the shader around it has the type S of a state, `identity`, `combined` and
//            `load`
// Dispatch   any
// Barriers   one for each tile
// Tolerance  as `combined`, for a chain of STAGED elements

// Minimum size of a workgroup that stages elements in workgroup memory. A GPU loads adjacent elements in
// one access if neighbouring invocations load them. A CPU has small workgroups and gains nothing.
const STAGED_FROM: u32 = 64;
// Number of elements of an invocation in such a tile.
const STAGED: u32 = 8;
// Number of states in a row of the memory. One unused element follows each row, so that neighbouring invocations, whose
// elements are STAGED apart, use different banks.
const ROW: u32 = 32;
override TILE_STATES: u32 = WORKGROUP * STAGED + WORKGROUP * STAGED / ROW;
var<workgroup> tile_states: array<S, TILE_STATES>;

fn place_of(k: u32) -> u32 { return k + k / ROW; }

// Loads the states of a tile into workgroup memory, and returns the combined state of an invocation's adjacent
// elements. No barrier is needed first: a previous tile was read by the same invocations at the same places, or before a
// barrier.
fn staged_total(first: u32, count: u32, lane: u32) -> S {
    for (var k = lane; k < count; k += WORKGROUP) { tile_states[place_of(k)] = load(first + k); }
    workgroupBarrier();
    let start = min(count, lane * STAGED);
    let last = min(count, start + STAGED);
    var total = identity();
    for (var k = start; k < last; k++) { total = combined(total, tile_states[place_of(k)]); }
    return total;
}

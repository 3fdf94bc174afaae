// fold_share: combines the states of all elements of a share, or of any range, in order, in one workgroup
//
// Shape      g: the share, which begins at element g * share; first, end: a range of elements, which may be empty; the shader
//            around it has the type S of a state, `identity`, `combined` and `load`, and uses lanes
// Dispatch   one workgroup of WORKGROUP invocations along x for each share
// Barriers   ceil(log2(WORKGROUP)) + 2; in workgroups of at least STAGED_FROM invocations, at most
//            ceil(log2(WORKGROUP)) + 4 for each tile
// Tolerance  sums of f32: d u times the sum of the magnitudes, d = 17 + share / WORKGROUP / 8 + log2(WORKGROUP), u = 2^-24;
//            else as scan_share
//#use staged_tile

// Number of elements of a block. States of blocks are combined separately, which keeps chains short.
const BLOCK: u32 = 16u;

// Combines the states of a range. The elements of each invocation are adjacent.
fn fold_blocks(first: u32, end: u32, lane: u32) -> S {
    let each = (max(first, end) - first + WORKGROUP - 1u) / WORKGROUP;
    let last = min(end, first + (lane + 1u) * each);
    var all = identity();
    for (var block = first + lane * each; block < last; block += BLOCK) {
        var part = identity();
        for (var i = block; i < min(last, block + BLOCK); i++) { part = combined(part, load(i)); }
        all = combined(all, part);
    }
    return fold_lanes(lane, all);
}

// Combines the states of a range, tile after tile through workgroup memory.
fn fold_tiles(first: u32, end: u32, lane: u32) -> S {
    var all = identity();
    for (var tile = first; tile < end; tile += WORKGROUP * STAGED) {
        let count = min(end - tile, WORKGROUP * STAGED);
        all = combined(all, fold_lanes(lane, staged_total(tile, count, lane)));
    }
    return all;
}

fn fold_range(first: u32, end: u32, lane: u32) -> S {
    var state = identity();
    if WORKGROUP < STAGED_FROM {
        state = fold_blocks(first, end, lane);
    } else {
        state = fold_tiles(first, end, lane);
    }
    return state;
}

fn fold_share(g: u32, lane: u32) -> S {
    let first = g * params.share;
    return fold_range(first, min(params.n, first + params.share), lane);
}

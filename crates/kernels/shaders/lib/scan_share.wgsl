// scan_share: combines the state of each element of a share with the states of all elements before it, tile after tile, in
// one workgroup
//
// Shape      g: the share, which begins at element g * share; before: the state before the share; the shader around it has
//            the type S of a state, `identity`, `combined`, `load`, `store`, which is called right after `load` of the
//            element, and `keep`, which takes the state after element n - 1, and uses lanes; returns the state after the
//            share
// Dispatch   one workgroup of WORKGROUP invocations along x for each share
// Barriers   at most 2 * ceil(log2(WORKGROUP)) + 5 for each tile
// Tolerance  sums of f32: d u times the sum of the magnitudes, d = the tiles of a share + 18 + log2(WORKGROUP), u = 2^-24;
//            products of f32: relative, by twice the number of factors times u; integers exactly, wrapping
//#use staged_tile

// Number of elements of an invocation in a tile.
const PER: u32 = 16;

// Scans up to PER adjacent elements of each invocation. Each element is loaded twice. The numbers of rounds are not
// constant, because a driver that unrolls the loops needs seconds to compile the kernel.
fn scan_tile(first: u32, end: u32, lane: u32, before: S) {
    let start = min(end, first + lane * PER);
    let last = min(end, start + PER);
    var total = identity();
    for (var i = start; i < last; i++) { total = combined(total, load(i)); }
    scan_lanes(lane, total);
    var running = before_lane(lane, before);
    for (var i = start; i < last; i++) {
        let next = combined(running, load(i));
        store(i, running, next);
        running = next;
    }
}

// Scans as scan_tile does, with STAGED elements of each invocation.
fn scan_staged(first: u32, end: u32, lane: u32, before: S) {
    let count = min(end - first, WORKGROUP * STAGED);
    scan_lanes(lane, staged_total(first, count, lane));
    var running = before_lane(lane, before);
    let start = min(count, lane * STAGED);
    let last = min(count, start + STAGED);
    for (var k = start; k < last; k++) {
        let own = tile_states[place_of(k)];
        tile_states[place_of(k)] = running;
        running = combined(running, own);
    }
    workgroupBarrier();
    for (var k = lane; k < count; k += WORKGROUP) {
        let state = tile_states[place_of(k)];
        store(first + k, state, combined(state, load(first + k)));
    }
}

fn scan_share(g: u32, lane: u32, before: S) -> S {
    let first = g * params.share;
    let end = min(params.n, first + params.share);
    var running = before;
    if WORKGROUP < STAGED_FROM {
        for (var tile = first; tile < end; tile += WORKGROUP * PER) {
            scan_tile(tile, end, lane, running);
            running = combined(running, parts[WORKGROUP - 1u]);
        }
    } else {
        for (var tile = first; tile < end; tile += WORKGROUP * STAGED) {
            scan_staged(tile, end, lane, running);
            running = combined(running, parts[WORKGROUP - 1u]);
        }
    }
    // The share with the last element keeps the state; if there are no elements, the first share does.
    if lane == 0u && end == params.n && (first < end || g == 0u) { keep(running); }
    return running;
}

// scan_share: combines the state of each element of a share with the states of all elements before it, tile after tile, in
// one workgroup
//
// Shape      g: the share, which begins at element g * share; before: the state before the share; the shader around it has
//            the type S of a state, `identity`, `combined`, `load`, `store`, which is called right after `load` of the
//            element, and `keep`, which takes the state behind element n - 1
// Dispatch   one workgroup of WORKGROUP invocations along x for each share
// Barriers   two for each doubling of a distance in the workgroup, and three more, for each tile
// Tolerance  sums of f32: d u times the sum of the magnitudes, d = the tiles of a share + 16 + log2(WORKGROUP) + 2, u = 2^-24;
//            products of f32: relative, by twice the number of factors times u; integers exactly, wrapping

// Is the number of elements of an invocation in a tile.
const PER: u32 = 16;
var<workgroup> parts: array<S, WORKGROUP>;

// Scans up to PER elements of each invocation, which lie side by side. Each element is loaded twice. The numbers of rounds are
// not constant, because a driver that unrolls the loops compiles the kernel for seconds.
fn scan_tile(first: u32, end: u32, lane: u32, before: S) -> S {
    let start = min(end, first + lane * PER);
    let last = min(end, start + PER);
    var total = identity();
    for (var i = start; i < last; i++) { total = combined(total, load(i)); }
    workgroupBarrier();
    parts[lane] = total;
    for (var distance = 1u; distance < WORKGROUP; distance *= 2u) {
        workgroupBarrier();
        var part = parts[lane];
        if lane >= distance { part = combined(parts[lane - distance], part); }
        workgroupBarrier();
        parts[lane] = part;
    }
    workgroupBarrier();
    var running = before;
    if lane > 0u { running = combined(before, parts[lane - 1u]); }
    for (var i = start; i < last; i++) {
        let next = combined(running, load(i));
        store(i, running, next);
        running = next;
    }
    return combined(before, parts[WORKGROUP - 1u]);
}

fn scan_share(g: u32, lane: u32, before: S) {
    let first = g * params.share;
    let end = min(params.n, first + params.share);
    var running = before;
    for (var tile = first; tile < end; tile += WORKGROUP * PER) { running = scan_tile(tile, end, lane, running); }
    // The share with the last element keeps the state, and the first one if there is no element.
    if lane == 0u && end == params.n && (first < end || g == 0u) { keep(running); }
}

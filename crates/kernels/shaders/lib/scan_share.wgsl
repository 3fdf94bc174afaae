// scan_share: combines each element of a share with all elements before it, tile after tile, in one workgroup
//
// Shape      g: the share, which begins at element g * share; the shader around it has `load`, `store`, `carry` and `keep`
// Dispatch   one workgroup of WORKGROUP invocations along x for each share
// Barriers   two for each doubling of a distance in the workgroup, and three more, for each tile
// Tolerance  sums of f32: d u times the sum of the magnitudes, d = the tiles of a share + 16 + log2(WORKGROUP) + 2, u = 2^-24;
//            products of f32: relative, by twice the number of factors times u; integers exactly, wrapping

// Is the number of elements of an invocation in a tile.
const PER: u32 = 16;
var<workgroup> parts: array<T, WORKGROUP>;

fn combined(a: T, b: T) -> T {
    if OPERATION == 0u { return a + b; }
    if OPERATION == 1u { return a * b; }
    if OPERATION == 2u { return min(a, b); }
    return max(a, b);
}

fn of_bits(value: T) -> T {
    if KEYS == 1u { return bitcast<T>(number_key(bitcast<u32>(value), OPERATION == 3u)); }
    return value;
}

fn to_bits(value: T) -> T {
    if KEYS == 1u { return bitcast<T>(number_bits(bitcast<u32>(value))); }
    return value;
}

// Scans PER elements of each invocation, which lie side by side.
fn scan_tile(first: u32, end: u32, lane: u32, before: T) -> T {
    let start = first + lane * PER;
    var values: array<T, PER>;
    var total = params.identity;
    for (var k = 0u; k < PER; k++) {
        if start + k < end { values[k] = of_bits(load(start + k)); } else { values[k] = params.identity; }
        total = combined(total, values[k]);
    }
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
    for (var k = 0u; k < PER; k++) {
        let next = combined(running, values[k]);
        if start + k < end { store(start + k, to_bits(select(next, running, EXCLUSIVE == 1u))); }
        running = next;
    }
    return combined(before, parts[WORKGROUP - 1u]);
}

fn scan_share(g: u32, lane: u32) {
    let first = g * params.share;
    let end = min(params.n, first + params.share);
    var running = params.initial;
    if CARRIED == 1u { running = combined(params.initial, carry(g)); }
    for (var tile = first; tile < end; tile += WORKGROUP * PER) { running = scan_tile(tile, end, lane, running); }
    if lane == 0u && end == params.n { keep(to_bits(running)); }
}

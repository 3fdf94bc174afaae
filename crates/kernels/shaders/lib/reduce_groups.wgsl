// reduce_groups: combines the elements of a share in one workgroup, as groups of several vectors of four elements
//
// Shape      g: the share; start, end: its groups, which may be none; the shader around it has the type T of an element, the
//            params of reduce_vectors, and `group_result`, the result of the vectors of a group as `of_bits` returns them
// Dispatch   one workgroup of WORKGROUP invocations along x for each share
// Barriers   one for each halving of the workgroup
// Tolerance  sums of f32: d u times the sum of the magnitudes, d = 21 + share / WORKGROUP / 16 + log2(WORKGROUP), u = 2^-24;
//            else as reduce_share
alias Four = vec4<T>;

// Number of groups of an invocation in a block. Results of blocks are combined separately, which keeps chains short.
const PER: u32 = 16u;
var<workgroup> parts: array<Four, WORKGROUP>;

fn combined(a: Four, b: Four) -> Four {
    if OPERATION == 0u { return a + b; }
    if OPERATION == 1u { return a * b; }
    if OPERATION == 2u { return min(a, b); }
    return max(a, b);
}

fn key(bits: u32) -> u32 { return number_key(bits, (OPERATION == 3u) == (KEYS == 1u)); }

fn of_bits(bits: vec4<u32>) -> Four {
    if KEYS != 0u { return bitcast<Four>(vec4<u32>(key(bits.x), key(bits.y), key(bits.z), key(bits.w))); }
    return bitcast<Four>(bits);
}

// Leaves the result of the groups from start up to end in parts[0], where the first invocation reads it.
fn reduce_groups(start: u32, end: u32, lane: u32) {
    var all = Four(params.identity);
    for (var block = start; block < end; block += PER * WORKGROUP) {
        var part = Four(params.identity);
        for (var i = block + lane; i < min(end, block + PER * WORKGROUP); i += WORKGROUP) {
            part = combined(part, group_result(i));
        }
        all = combined(all, part);
    }
    parts[lane] = all;
    for (var width = WORKGROUP / 2u; width > 0u; width /= 2u) {
        workgroupBarrier();
        if lane < width { parts[lane] = combined(parts[lane], parts[lane + width]); }
    }
}

// Leaves the result of share g of the rows in parts[0]. A workgroup after the last share has no elements.
fn reduce_share_of_rows(g: u32, lane: u32) {
    let row = g / params.in_row * params.n;
    let start = g % params.in_row * params.share;
    let end = select(0u, row + min(params.n, start + params.share), g < params.shares);
    reduce_groups(row + start, end, lane);
}

// Combines the four elements of a vector.
fn reduced(four: Four) -> T {
    let halves = combined(four, four.zwxy);
    let result = combined(halves, halves.yxwz).x;
    if KEYS != 0u { return bitcast<T>(number_bits(bitcast<u32>(result))); }
    return result;
}

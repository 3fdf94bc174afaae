// reduce_wide: out[g] = the elements of share g of the rows of x, combined by an operation; each load has eight elements
//
// Shape      x: rows of n groups of eight elements of 4 bytes; out: at least shares elements, the shares of one row after the
//            other; share: a number of groups
// Dispatch   one workgroup per share, in one or two dimensions; the last share of a row may be shorter
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   one for each halving of the workgroup
// Tolerance  sums of f32: d u times the sum of the magnitudes, d = 20 + share / WORKGROUP / 16 + log2(WORKGROUP), u = 2^-24;
//            else as reduce_share
//#use number_keys
override WORKGROUP: u32 = 8;
override OPERATION: u32 = 0;                // 0: sum, 1: product, 2: smallest, 3: largest; the last two for integers
override KEYS: u32 = 0;                     // not 0: bits of f32, of which an extreme is wanted; 2: NaNs are left out
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { n: u32, share: u32, in_row: u32, shares: u32, identity: T }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<vec4<u64>>;
@group(0) @binding(2) var<storage, read_write> out: array<T>;

alias Four = vec4<T>;

// Is the number of groups of an invocation in a block. Results of blocks are combined apart, so that no chain is long.
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

// Combines the eight elements of a group in pairs.
fn pairs(i: u32) -> Four {
    let words = x[i];
    let low = of_bits(vec4<u32>(words & vec4<u64>(0xFFFFFFFFlu)));
    return combined(low, of_bits(vec4<u32>(words >> vec4<u32>(32u))));
}

// Leaves the result of the groups from start up to end in parts[0], where the first invocation reads it.
fn reduce_groups(start: u32, end: u32, lane: u32) {
    var all = Four(params.identity);
    for (var block = start; block < end; block += PER * WORKGROUP) {
        var part = Four(params.identity);
        for (var i = block + lane; i < min(end, block + PER * WORKGROUP); i += WORKGROUP) {
            part = combined(part, pairs(i));
        }
        all = combined(all, part);
    }
    parts[lane] = all;
    for (var width = WORKGROUP / 2u; width > 0u; width /= 2u) {
        workgroupBarrier();
        if lane < width { parts[lane] = combined(parts[lane], parts[lane + width]); }
    }
}

@compute @workgroup_size(WORKGROUP)
fn reduce_wide(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let g = group.y * groups.x + group.x;
    let row = g / params.in_row * params.n;
    let start = g % params.in_row * params.share;
    let end = select(0u, row + min(params.n, start + params.share), g < params.shares);
    reduce_groups(row + start, end, lane);
    if lane == 0u && g < params.shares {
        let halves = combined(parts[0], parts[0].zwxy);
        let result = combined(halves, halves.yxwz).x;
        if KEYS != 0u {
            out[g] = bitcast<T>(number_bits(bitcast<u32>(result)));
        } else {
            out[g] = result;
        }
    }
}

// bin_exact: the words of sums[b] += the weights of the elements of x in bin b, as whole numbers without rounding
//
// Shape      x: at least n elements, as bits; weights: as many, bits of f32; edges: keys of bins + 1 ascending edges, if
//            between; sums: 11 words for each bin: ten of a number that counts multiples of 2^-149, as two's complement and
//            with the lowest word first, and one for the kinds of weights that are not finite
// Dispatch   one workgroup per share, along x; the last share may be shorter, and none is empty
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   one
// Tolerance  exact: the words do not depend on the order of the weights
//#use bins
//#use order_keys
override WORKGROUP: u32 = 256;
struct Params {
    n: u32, share: u32, bins: u32, flip_clear: u32, flip_set: u32,
    between: u32,                           // 0: the bin is the element modulo bins; 1: it is between two edges;
                                            // 2: the bin is the element modulo bins, a power of two
                                            // 3: the bin is the element; without such a bin, its weight is not added
    copies: u32,                            // sums of each bin in workgroup memory; 0: weights are added only to sums
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> weights: array<u32>;
@group(0) @binding(3) var<storage, read> edges: array<u32>;
@group(0) @binding(4) var<storage, read_write> sums: array<atomic<u32>>;

const SIGN: u32 = 0x80000000u;
const FRACTION: u32 = 0x007FFFFFu;          // the bits of a float after those of its exponent
const INFINITY: u32 = 0x7F800000u;
// Number of words of a sum: 277 bits hold each weight, 309 the sum of 2^32 weights.
const WORDS: u32 = 10;
// Number of words of a bin. The last one has a bit for infinity, for minus infinity and for a NaN.
const OF_BIN: u32 = 11;
// Number of sums of a workgroup.
const COUNTERS: u32 = 256;
var<workgroup> own: array<atomic<u32>, COUNTERS * WORDS>;

// Adds to a word, or subtracts from it if `minus`. Returns 1 if the word has wrapped, so that the next word changes too.
fn change(in_own: bool, at: u32, part: u32, minus: bool) -> u32 {
    let by = select(part, ~part + 1u, minus);
    var old = 0u;
    if in_own { old = atomicAdd(&own[at], by); } else { old = atomicAdd(&sums[at], by); }
    return select(0u, 1u, select(old > ~part, old < part, minus));
}

// Adds a number to a sum, or subtracts it: `low` to the word `word`, and `high` to the next one. `first` is the first word
// of the sum.
fn accumulate(in_own: bool, first: u32, word: u32, low: u32, high: u32, minus: bool) {
    var part = low;
    var next = high;
    for (var w = word; w < WORDS && (part | next) != 0u; w++) {
        part = next + change(in_own, first + w, part, minus);
        next = 0u;
    }
}

// Adds the weight of an element. `copy` selects the invocation's sum among the sums of a bin.
fn add(i: u32, copy: u32) {
    let bin = bin_of(x[i]);
    if bin >= params.bins { return; }
    let bits = weights[i];
    let minus = (bits & SIGN) != 0u;
    if (bits & INFINITY) == INFINITY {
        let kind = select(select(1u, 2u, minus), 4u, (bits & FRACTION) != 0u);
        atomicOr(&sums[bin * OF_BIN + WORDS], kind);
        return;
    }
    let exponent = (bits & INFINITY) >> 23u;
    let digits = (bits & FRACTION) | select(FRACTION + 1u, 0u, exponent == 0u);
    // Subnormal numbers have the unit of the smallest normal ones.
    let place = max(exponent, 1u) - 1u;
    let shift = place % 32u;
    let low = digits << shift;
    let high = (digits >> 1u) >> (31u - shift);
    if params.copies == 0u {
        accumulate(false, bin * OF_BIN, place / 32u, low, high, minus);
    } else {
        accumulate(true, (bin * params.copies + copy) * WORDS, place / 32u, low, high, minus);
    }
}

@compute @workgroup_size(WORKGROUP)
fn bin_exact(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let first = group.x * params.share;
    let end = min(params.n, first + params.share);
    let copy = lane % max(1u, params.copies);
    for (var i = first + lane; i < end; i += WORKGROUP) { add(i, copy); }
    workgroupBarrier();
    if params.copies == 0u { return; }
    for (var at = lane; at < params.bins * params.copies * WORDS; at += WORKGROUP) {
        let bin = at / (params.copies * WORDS);
        accumulate(false, bin * OF_BIN, at % WORDS, atomicLoad(&own[at]), 0u, false);
    }
}

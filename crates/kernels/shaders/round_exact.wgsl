// round_exact: out[b] = the f32 nearest to the exact sum of bin b, as bits
//
// Shape      sums: 11 words for each bin, as bin_exact writes them; out: at least bins elements
// Dispatch   one invocation per bin; invocations past bins do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact: rounded once, of two nearest numbers to the even one, and to an infinity past the largest number; an
//            infinite weight makes a sum infinite; a NaN, or infinities of both signs, make it a NaN
//
// A device chooses the rounding of its operations, so the kernel rounds with integers.
//#use linear
override WORKGROUP: u32 = 256;
struct Params { bins: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> sums: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

const SIGN: u32 = 0x80000000u;
const DIGITS: u32 = 0x00FFFFFFu;            // the bits of a float's digits, with the first one
const INFINITY: u32 = 0x7F800000u;
const NAN: u32 = 0x7FC00000u;
// Number of words of a sum, and of a bin, whose last word has the kinds of weights that are not finite.
const WORDS: u32 = 10;
const OF_BIN: u32 = 11;

// Words of the magnitude of a sum, and a word of zeros after them.
var<private> magnitude: array<u32, 11>;

// Reads the magnitude of the sum that begins at a word. Returns true if the sum is negative.
fn read_magnitude(first: u32) -> bool {
    let minus = (sums[first + WORDS - 1u] & SIGN) != 0u;
    // The opposite of a number is its complement and 1.
    var carry = select(0u, 1u, minus);
    for (var w = 0u; w < WORDS; w++) {
        let word = select(sums[first + w], ~sums[first + w], minus) + carry;
        carry = select(0u, carry, word == 0u);
        magnitude[w] = word;
    }
    return minus;
}

// Returns 32 bits of the magnitude, from a bit on.
fn bits_at(begin: u32) -> u32 {
    let shift = begin % 32u;
    return (magnitude[begin / 32u] >> shift) | ((magnitude[begin / 32u + 1u] << 1u) << (31u - shift));
}

fn has_bits_below(end: u32) -> bool {
    for (var w = 0u; w < end / 32u; w++) { if magnitude[w] != 0u { return true; } }
    return (magnitude[end / 32u] & ((1u << (end % 32u)) - 1u)) != 0u;
}

// Returns the bits of the number nearest to the magnitude.
fn rounded() -> u32 {
    var top = WORDS - 1u;
    while top > 0u && magnitude[top] == 0u { top -= 1u; }
    let highest = top * 32u + 31u - min(countLeadingZeros(magnitude[top]), 31u);
    // Up to 24 digits of the smallest unit are the bits of the number.
    if highest < 24u { return magnitude[0]; }
    let lost = highest - 23u;
    let kept = bits_at(lost) & DIGITS;
    let up = (bits_at(lost - 1u) & 1u) == 1u && (has_bits_below(lost - 1u) || (kept & 1u) == 1u);
    // The first digit increments the exponent, and so do digits that overflow when rounded up.
    return min((lost << 23u) + kept + select(0u, 1u, up), INFINITY);
}

@compute @workgroup_size(WORKGROUP)
fn round_exact(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.bins { return; }
    let kinds = sums[i * OF_BIN + WORDS];
    if kinds > 2u {
        out[i] = NAN;
    } else if kinds > 0u {
        out[i] = select(INFINITY, INFINITY | SIGN, kinds == 2u);
    } else {
        let minus = read_magnitude(i * OF_BIN);
        out[i] = rounded() | select(0u, SIGN, minus);
    }
}

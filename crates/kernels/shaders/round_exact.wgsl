// round_exact: out[b] = the f32 nearest to the exact sum of bin b, as bits
// If ADD, out[b] is a term of the sum too. Without other terms, and if their sum is 0, it stays as it is.
//
// Shape      sums: 11 words for each bin, as bin_exact writes them; out: at least bins elements
// Dispatch   one invocation per bin; invocations past bins do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact: rounded once, of two nearest numbers to the even one, and to an infinity past the largest number; an
//            infinite weight makes a sum infinite; a NaN, or infinities of both signs, make it a NaN
//#use exact_rounding
//#use exact_words
//#use linear
override WORKGROUP: u32 = 256;
override ADD: u32 = 0;                      // 1: out[b] is a term of sum b
struct Params { bins: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> sums: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

// Number of words of a sum, and of a bin, whose last word has the kinds of weights that are not finite.
const WORDS: u32 = 10u;
const OF_BIN: u32 = 11u;
// A sum counts the smallest float.
const SMALLEST: u32 = 0u;

@compute @workgroup_size(WORKGROUP)
fn round_exact(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.bins { return; }
    kinds = sums[i * OF_BIN + WORDS];
    var any_bits = kinds;
    for (var w = 0u; w < WORDS; w++) {
        words[w] = sums[i * OF_BIN + w];
        any_bits |= words[w];
    }
    if ADD == 1u {
        if any_bits == 0u { return; }
        add_term(out[i]);
    }
    out[i] = rounded_sum();
}

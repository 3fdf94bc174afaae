// exact_rounding: the f32 nearest to a sum of exact_words, as bits
//
// Shape      as exact_words, which the shader around it uses
// Dispatch   any
// Barriers   none
// Tolerance  exact: rounded once, of two nearest numbers to the even one, and to an infinity past the largest number; a device
//            chooses the rounding of its own operations
const SIGNIFICAND: u32 = 0x00FFFFFFu;       // the bits of a float's digits, with the first one
const NAN: u32 = 0x7FC00000u;

// Returns 32 bits of the magnitude, from a bit on.
fn bits_at(begin: u32) -> u32 {
    let word = begin / 32u;
    let shift = begin % 32u;
    var above = 0u;
    if word + 1u < WORDS { above = words[word + 1u]; }
    return (words[word] >> shift) | ((above << 1u) << (31u - shift));
}

fn has_bits_below(end: u32) -> bool {
    for (var w = 0u; w < end / 32u; w++) { if words[w] != 0u { return true; } }
    return (words[end / 32u] & ((1u << (end % 32u)) - 1u)) != 0u;
}

// Returns the highest bit of the magnitude, or 0 if the magnitude is 0.
fn highest_bit() -> u32 {
    var top = WORDS - 1u;
    while top > 0u && words[top] == 0u { top -= 1u; }
    return top * 32u + 31u - min(countLeadingZeros(words[top]), 31u);
}

// Returns the float nearest to the magnitude, and to a fraction of its last bit more if `rest`.
fn rounded(rest: bool) -> u32 {
    // Up to 24 digits from the smallest unit on are the bits of a number.
    let lost = max(highest_bit(), SMALLEST + 23u) - 23u;
    let kept = bits_at(lost) & SIGNIFICAND;
    var up = false;
    if lost > 0u {
        let is_half = (bits_at(lost - 1u) & 1u) == 1u;
        up = is_half && (rest || (kept & 1u) == 1u || has_bits_below(lost - 1u));
    }
    // The first digit increments the exponent, and so do digits that overflow when rounded up.
    return min(((lost - SMALLEST) << 23u) + kept + select(0u, 1u, up), INFINITY);
}

// Returns the result of terms that are not all finite.
fn of_kinds() -> u32 {
    if kinds > 2u { return NAN; }
    return select(INFINITY, INFINITY | SIGN, kinds == 2u);
}

// Returns the float nearest to the sum. Afterwards, the invocation has its magnitude.
fn rounded_sum() -> u32 {
    if kinds != 0u { return of_kinds(); }
    let minus = take_magnitude();
    return rounded(false) | select(0u, SIGN, minus);
}

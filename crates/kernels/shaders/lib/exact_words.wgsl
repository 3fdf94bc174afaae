// exact_words: a sum of floats in the memory of an invocation, as an integer that counts a power of two
//
// Shape      the shader around it has WORDS, the number of words of a sum, and SMALLEST, the bit of a sum that counts 2^-149
// Dispatch   any
// Barriers   none
// Tolerance  exact, if the words hold the sum
const SIGN: u32 = 0x80000000u;
const FRACTION: u32 = 0x007FFFFFu;          // the bits of a float after those of its exponent
const INFINITY: u32 = 0x7F800000u;
// The sum as two's complement, with the lowest word first.
var<private> words: array<u32, WORDS>;
// A bit for infinity, one for minus infinity and one for a NaN among the terms.
var<private> kinds: u32;

// Adds to a word, or subtracts from it if `minus`. Returns 1 if the word has wrapped, so that the next word changes too.
fn change(word: u32, part: u32, minus: bool) -> u32 {
    let old = words[word];
    let changed = old + select(part, ~part + 1u, minus);
    words[word] = changed;
    let is_less = changed < old;
    let is_more = changed > old;
    return select(0u, 1u, select(is_less, is_more, minus));
}

// Adds `number * 2^bit` to the sum, or subtracts it.
fn add_number(number: u32, bit: u32, minus: bool) {
    let shift = bit % 32u;
    var part = number << shift;
    var next = (number >> 1u) >> (31u - shift);
    for (var word = bit / 32u; word < WORDS && (part | next) != 0u; word++) {
        part = next + change(word, part, minus);
        next = 0u;
    }
}

// Returns the digits of a finite float as an integer.
fn digits_of(size: u32) -> u32 { return (size & FRACTION) | select(FRACTION + 1u, 0u, size <= FRACTION); }

// Returns the power of two of the last digit, of which 0 is 2^-149. Subnormal numbers have that of the smallest normal ones.
fn place_of(size: u32) -> u32 { return max(size >> 23u, 1u) - 1u; }

// Adds a float, given by its bits.
fn add_term(bits: u32) {
    let size = bits & ~SIGN;
    let minus = bits != size;
    if size >= INFINITY {
        kinds |= select(select(1u, 2u, minus), 4u, size > INFINITY);
        return;
    }
    add_number(digits_of(size), SMALLEST + place_of(size), minus);
}

// Replaces the sum by its magnitude. Returns true if it was negative.
fn take_magnitude() -> bool {
    let minus = (words[WORDS - 1u] & SIGN) != 0u;
    // The opposite of a number is its complement and 1.
    var carry = select(0u, 1u, minus);
    for (var w = 0u; w < WORDS; w++) {
        let word = select(words[w], ~words[w], minus) + carry;
        carry = select(0u, carry, word == 0u);
        words[w] = word;
    }
    return minus;
}

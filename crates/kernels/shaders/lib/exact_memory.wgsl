// exact_memory: adds the sum of an invocation to a sum in memory
//
// Shape      out: OF_SUM words for each sum, as exact_sum describes; place: a sum of it; the shader around it has the array `out`,
//            and uses exact_sum and exact_words
// Dispatch   any
// Barriers   none
// Tolerance  exact: the words do not depend on the order of the additions

// Adds to a word, or subtracts from it, as `change` does.
fn change_in_memory(at: u32, part: u32, minus: bool) -> u32 {
    let old = atomicAdd(&out[at], select(part, ~part + 1u, minus));
    return select(0u, 1u, select(old > ~part, old < part, minus));
}

// Adds the sum. Afterwards, the invocation has its magnitude.
fn add_to_memory(place: u32) {
    let first = place * OF_SUM;
    if kinds != 0u { atomicOr(&out[first + WORDS], kinds); }
    let minus = take_magnitude();
    for (var w = 0u; w < WORDS; w++) {
        var part = words[w];
        for (var word = w; word < WORDS && part != 0u; word++) {
            part = change_in_memory(first + word, part, minus);
        }
    }
}

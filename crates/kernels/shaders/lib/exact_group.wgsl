// exact_group: adds the sums of the invocations of a workgroup
//
// Shape      the shader around it uses exact_sum and exact_words; the workgroup memory begins with zeros
// Dispatch   any
// Barriers   none; one is needed between the two functions
// Tolerance  exact: the words do not depend on the order of the additions
var<workgroup> all_words: array<atomic<u32>, WORDS>;
var<workgroup> all_kinds: atomic<u32>;

// Adds to a word, or subtracts from it, as `change` does.
fn change_in_group(word: u32, part: u32, minus: bool) -> u32 {
    let old = atomicAdd(&all_words[word], select(part, ~part + 1u, minus));
    return select(0u, 1u, select(old > ~part, old < part, minus));
}

// Adds the sum of an invocation.
fn add_to_group() {
    if kinds != 0u { atomicOr(&all_kinds, kinds); }
    let minus = take_magnitude();
    for (var w = 0u; w < WORDS; w++) {
        var part = words[w];
        for (var word = w; word < WORDS && part != 0u; word++) { part = change_in_group(word, part, minus); }
    }
}

// Replaces the sum of an invocation by that of the workgroup.
fn take_group() {
    for (var w = 0u; w < WORDS; w++) { words[w] = atomicLoad(&all_words[w]); }
    kinds = atomicLoad(&all_kinds);
}

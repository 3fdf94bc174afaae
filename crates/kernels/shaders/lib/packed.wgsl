// packed: reads and writes numbers of one or two bytes, packed four or two to a word, the first in the lowest bits
//
// Shape      word: the word that holds element `index` of the host's array: element `index / 4u` of a buffer of u32
//            for bytes, and `index / 2u` for numbers of two bytes
// Dispatch   any; an invocation that writes a word writes all elements in it
// Barriers   none
// Tolerance  exact
fn u8_of(word: u32, index: u32) -> u32 {
    return extractBits(word, 8u * (index % 4u), 8u);
}

fn i8_of(word: u32, index: u32) -> i32 {
    return extractBits(i32(word), 8u * (index % 4u), 8u);
}

fn u16_of(word: u32, index: u32) -> u32 {
    return extractBits(word, 16u * (index % 2u), 16u);
}

fn i16_of(word: u32, index: u32) -> i32 {
    return extractBits(i32(word), 16u * (index % 2u), 16u);
}

// Returns the word with one of its elements replaced by the lowest bits of `value`.
fn with_8(word: u32, index: u32, value: u32) -> u32 {
    return insertBits(word, value, 8u * (index % 4u), 8u);
}

fn with_16(word: u32, index: u32, value: u32) -> u32 {
    return insertBits(word, value, 16u * (index % 2u), 16u);
}

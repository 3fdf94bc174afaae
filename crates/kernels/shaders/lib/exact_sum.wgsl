// exact_sum: the words of an exact sum of floats or of products of two floats
//
// Shape      a sum counts 2^-298, the smallest product; in memory, it has one word more for the kinds of terms that are not finite
// Dispatch   any
// Barriers   none
// Tolerance  exact: 554 bits hold each product of two floats, 587 the sum of 2^32 of them
const WORDS: u32 = 19u;
// Number of words of a sum in memory.
const OF_SUM: u32 = 20u;
// The bit of a sum that counts 2^-149, the smallest float.
const SMALLEST: u32 = 149u;

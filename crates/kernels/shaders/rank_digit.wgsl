// rank_digit: decides the next digit of the key at a rank, from the counts of the digits, and clears the counts
//
// Shape      table: 258 elements: the counts of the digits, the decided digits, the rank among the keys with these digits; found:
//            at least one element, which gets the element with the key after the last digit; without such an element, it stays
// Dispatch   one invocation
// Workgroup  [1, 1, 1]
// Barriers   none
// Tolerance  exact
struct Params {
    rank: u32,                              // the rank among all keys
    shift: u32,                             // the lowest bit of the digit: 24, 16, 8 or 0
    flip_clear: u32, flip_set: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> table: array<u32>;
@group(0) @binding(2) var<storage, read_write> found: array<u32>;

const DIGITS: u32 = 256;
const FIRST: u32 = 24;

// Returns the element of a key, the inverse of the keys' flips.
fn element_of(key: u32) -> u32 {
    let element = key ^ params.flip_clear;
    return select(element, key ^ params.flip_set, (element & 0x80000000u) != 0u);
}

@compute @workgroup_size(1)
fn rank_digit() {
    var rank = select(table[DIGITS + 1u], params.rank, params.shift == FIRST);
    var digit = 0u;
    while digit < DIGITS - 1u && table[digit] <= rank {
        rank -= table[digit];
        digit++;
    }
    let exists = rank < table[digit];
    let key = table[DIGITS] | (digit << params.shift);
    table[DIGITS] = key;
    table[DIGITS + 1u] = rank;
    for (var d = 0u; d < DIGITS; d++) { table[d] = 0u; }
    if params.shift == 0u && exists { found[0] = element_of(key); }
}

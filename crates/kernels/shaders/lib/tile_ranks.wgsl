// tile_ranks: the places of the elements of a tile after a stable sort by one digit, in one workgroup
//
// Shape      first, end: the elements of the tile, at most 65,535; the shader around it has `digit_at`, the digit of one
// Dispatch   one workgroup of WORKGROUP invocations, a multiple of 8 up to 64
// Barriers   four for each tile
// Tolerance  exact

// Number of values of a digit of four bits.
const DIGITS: u32 = 16;
// Number of words in which an invocation counts its digits. The halves of a word count two digits, 8 apart.
const ROWS: u32 = 8;
const HALF: u32 = 16;
const LOW: u32 = 0xFFFFu;
// Number of invocations whose sums are added by one of them.
const BLOCK: u32 = 8;
override COUNTERS: u32 = ROWS * WORKGROUP;
var<workgroup> counters: array<u32, COUNTERS>;
var<workgroup> parts: array<u32, WORKGROUP>;
var<workgroup> blocks: array<u32, BLOCK>;

fn counter_of(digit: u32, lane: u32) -> u32 { return digit % ROWS * WORKGROUP + lane; }

fn half_of(digit: u32) -> u32 { return digit / ROWS * HALF; }

// Returns the first element of an invocation. An invocation's elements are adjacent.
fn own_first(first: u32, end: u32, lane: u32) -> u32 {
    return min(end, first + lane * ((end - first + WORKGROUP - 1u) / WORKGROUP));
}

// Counts the elements of the tile that come before this invocation's elements, for each digit.
fn rank_tile(first: u32, end: u32, lane: u32) {
    for (var row = 0u; row < ROWS; row++) { counters[row * WORKGROUP + lane] = 0u; }
    let own_end = own_first(first, end, lane + 1u);
    for (var i = own_first(first, end, lane); i < own_end; i++) {
        let digit = digit_at(i);
        counters[counter_of(digit, lane)] += 1u << half_of(digit);
    }
    sum_counters(lane);
}

// Replaces each counter by the sum of all counters before it: those of lower digits, and those of the same digit in
// earlier invocations.
fn sum_counters(lane: u32) {
    workgroupBarrier();
    let first = lane * ROWS;
    var own = 0u;
    for (var row = 0u; row < ROWS; row++) { own += counters[first + row]; }
    parts[lane] = own;
    workgroupBarrier();
    if lane < WORKGROUP / BLOCK {
        var sum = 0u;
        for (var k = 0u; k < BLOCK; k++) {
            let part = parts[lane * BLOCK + k];
            parts[lane * BLOCK + k] = sum;
            sum += part;
        }
        blocks[lane] = sum;
    }
    workgroupBarrier();
    var running = parts[lane];
    var all = 0u;
    for (var block = 0u; block < WORKGROUP / BLOCK; block++) {
        if block == lane / BLOCK { running += all; }
        all += blocks[block];
    }
    // The digits of the upper halves come after all of the lower ones.
    running += all << HALF;
    for (var row = 0u; row < ROWS; row++) {
        let count = counters[first + row];
        counters[first + row] = running;
        running += count;
    }
    workgroupBarrier();
}

// Returns the number of elements of the tile with a lower digit. Call it before any invocation takes a rank.
fn elements_before(digit: u32) -> u32 { return (counters[counter_of(digit, 0u)] >> half_of(digit)) & LOW; }

// Returns the sorted position in the tile of the invocation's next element with a digit.
fn take_rank(digit: u32, lane: u32) -> u32 {
    let at = counter_of(digit, lane);
    let rank = (counters[at] >> half_of(digit)) & LOW;
    counters[at] += 1u << half_of(digit);
    return rank;
}

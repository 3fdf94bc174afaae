// select_rows: out[at + r] = a quantile of row or segment r of x, or of the deviations of its elements from centers[r]
//
// Shape      x: at least n elements, as bits: rows of `row` elements, or segments; offsets: one element more than there are
//            segments, or x itself; centers: one number for each row, as bits, or x itself; out: at least at + rows elements, as
//            bits
// Dispatch   one workgroup per row, in one or two dimensions; the others do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   four for each of four digits, and one
// Tolerance  as between and deviation
//
// The digits of the key at a rank are found from the highest one on: the counts of the values of a digit decide it, and only the
// keys with the decided digits are counted for the next one.
//#use between
//#use deviation
//#use element_keys
//#use quantile
override WORKGROUP: u32 = 256;
override TYPE: u32 = 0;                     // 0: u32, 1: i32, 2: f32
override SKIP_NAN: u32 = 0;                 // 1: NaNs are left out, 0: a row with a NaN has a NaN as its quantile
override DEVIATIONS: u32 = 0;               // 1: the elements are deviations
override SEGMENTS: u32 = 0;                 // 1: the rows lie between offsets
override COPIES: u32 = 1;                   // number of counters of each digit; neighbouring invocations use different ones
struct Params {
    factor: vec3<u32>, rounding: u32,
    offset: vec3<u32>,
    n: u32, rows: u32, row: u32, at: u32,
    none: u32,                              // the result for a segment without elements
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> offsets: array<u32>;
@group(0) @binding(3) var<storage, read> centers: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<u32>;

const LAST: u32 = 0xFFFFFFFFu;
const BITS: u32 = 8u;
const DIGITS: u32 = 256u;
// Number of digits whose counts are added by one invocation.
const BLOCK: u32 = 16u;
const BLOCKS: u32 = 16u;
override COUNTERS: u32 = DIGITS * COPIES;
var<workgroup> counters: array<atomic<u32>, COUNTERS>;
var<workgroup> counts: array<u32, DIGITS>;
var<workgroup> blocks: array<u32, BLOCKS>;
var<workgroup> next: atomic<u32>;

// The elements of the row, the decided digits of the key, and the lowest bit of the digit that is counted.
var<private> end: u32;
var<private> center: u32;
var<private> decided: u32;
var<private> shift: u32;
var<private> copy_of_lane: u32;
var<private> least: u32;

// Counts the digit of an element, if the element has the decided digits.
fn count(i: u32) {
    if i >= end { return; }
    let bits = deviation(x[i], center);
    let key = key_of(bits);
    if is_nan(bits) || ((key ^ decided) >> shift) >> BITS != 0u { return; }
    atomicAdd(&counters[(key >> shift) % DIGITS * COPIES + copy_of_lane], 1u);
}

// Finds the least key above the decided one.
fn compare(i: u32) {
    if i >= end { return; }
    let bits = deviation(x[i], center);
    let key = key_of(bits);
    if !is_nan(bits) && key > decided { least = min(least, key); }
}

// The loops take 16 elements at a time, because a driver limits the number of rounds.
fn count_four(i: u32) {
    count(i);
    count(i + WORKGROUP);
    count(i + 2u * WORKGROUP);
    count(i + 3u * WORKGROUP);
}

fn compare_four(i: u32) {
    compare(i);
    compare(i + WORKGROUP);
    compare(i + 2u * WORKGROUP);
    compare(i + 3u * WORKGROUP);
}

// Counts a digit of the elements from `first` on, and leaves the counts in `counts`, and their sums in `blocks`.
fn count_digits(first: u32, lane: u32) {
    for (var at = lane; at < COUNTERS; at += WORKGROUP) { atomicStore(&counters[at], 0u); }
    workgroupBarrier();
    for (var i = first + lane; i < end; i += 16u * WORKGROUP) {
        count_four(i);
        count_four(i + 4u * WORKGROUP);
        count_four(i + 8u * WORKGROUP);
        count_four(i + 12u * WORKGROUP);
    }
    workgroupBarrier();
    for (var digit = lane; digit < DIGITS; digit += WORKGROUP) {
        var all = 0u;
        for (var copy = 0u; copy < COPIES; copy++) { all += atomicLoad(&counters[digit * COPIES + copy]); }
        counts[digit] = all;
    }
    workgroupBarrier();
    for (var block = lane; block < BLOCKS; block += WORKGROUP) {
        var all = 0u;
        for (var digit = block * BLOCK; digit < (block + 1u) * BLOCK; digit++) { all += counts[digit]; }
        blocks[block] = all;
    }
    workgroupBarrier();
}

@compute @workgroup_size(WORKGROUP)
fn select_rows(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let row = group.y * groups.x + group.x;
    var first = row * params.row;
    end = min(params.n, first + params.row);
    if SEGMENTS == 1u && row < params.rows {
        end = min(params.n, offsets[row + 1u]);
        first = offsets[row];
    }
    if row >= params.rows { end = 0u; }
    if DEVIATIONS == 1u && row < params.rows { center = centers[row]; }
    let length = max(first, end) - first;
    copy_of_lane = lane % COPIES;
    if lane == 0u { atomicStore(&next, LAST); }
    var numbers = 0u;
    var place = Place(0u, 0u);
    var rank = 0u;
    var equal = 0u;
    for (var top = 32u; top > 0u; top -= BITS) {
        shift = top - BITS;
        count_digits(first, lane);
        if top == 32u {
            for (var block = 0u; block < BLOCKS; block++) { numbers += blocks[block]; }
            if numbers > 0u { place = place_of_quantile(numbers); }
            rank = place.rank;
        }
        var block = 0u;
        while block < BLOCKS - 1u && blocks[block] <= rank {
            rank -= blocks[block];
            block++;
        }
        var digit = block * BLOCK;
        while digit < block * BLOCK + BLOCK - 1u && counts[digit] <= rank {
            rank -= counts[digit];
            digit++;
        }
        decided |= digit << shift;
        equal = counts[digit];
    }
    // The element at the next rank has the same key, or the least key above it.
    least = decided;
    if place.fraction > 0u && rank + 1u >= equal {
        least = LAST;
        for (var i = first + lane; i < end; i += 16u * WORKGROUP) {
            compare_four(i);
            compare_four(i + 4u * WORKGROUP);
            compare_four(i + 8u * WORKGROUP);
            compare_four(i + 12u * WORKGROUP);
        }
    }
    atomicMin(&next, least);
    workgroupBarrier();
    if lane != 0u || row >= params.rows { return; }
    var result = between(decided, atomicLoad(&next), place.fraction);
    if numbers == 0u || (SKIP_NAN == 0u && numbers < length) { result = A_NAN; }
    if length == 0u { result = params.none; }
    out[params.at + row] = result;
}

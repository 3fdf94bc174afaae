// rank_rows: adds to the table of row r the number of keys of row r of x with each digit, counting only keys with the decided higher
// digits; or finds the least key above the decided one
//
// Shape      x: rows of n elements, as bits; centers: one number for each row, as bits, or x itself; tables: 262 elements for each
//            row: the counts of the digits, the decided digits, a rank, a fraction, the number of counted elements, the next key,
//            and the number of elements with the decided key
// Dispatch   one workgroup per share, in one or two dimensions; the last share of a row may be shorter
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   one, and two for the next key
// Tolerance  as deviation
//#use deviation
//#use element_keys
override WORKGROUP: u32 = 256;
override TYPE: u32 = 0;                     // 0: u32, 1: i32, 2: f32, whose NaNs are not counted
override DEVIATIONS: u32 = 0;               // 1: the elements are deviations from the centers
override STEP: u32 = 0;                     // 0: counts a digit, 1: finds the next key
struct Params {
    n: u32, share: u32, in_row: u32, shares: u32,
    shift: u32,                             // the lowest bit of the digit; if it is 24, no digit is decided yet
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> centers: array<u32>;
@group(0) @binding(3) var<storage, read_write> tables: array<atomic<u32>>;

const TABLE: u32 = 262u;
const KEY: u32 = 256u;
const NEXT: u32 = 260u;
const BITS: u32 = 8u;
const DIGITS: u32 = 256u;
const LAST: u32 = 0xFFFFFFFFu;
var<workgroup> counters: array<atomic<u32>, DIGITS>;
var<workgroup> least: atomic<u32>;

@compute @workgroup_size(WORKGROUP)
fn rank_rows(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let g = group.y * groups.x + group.x;
    let row = min(g, params.shares - 1u) / params.in_row;
    let start = g % params.in_row * params.share;
    let end = select(0u, min(params.n, start + params.share), g < params.shares);
    var center = 0u;
    if DEVIATIONS == 1u { center = centers[row]; }
    let decided = atomicLoad(&tables[row * TABLE + KEY]);
    if STEP == 1u && lane == 0u { atomicStore(&least, LAST); }
    if STEP == 1u { workgroupBarrier(); }
    for (var i = start + lane; i < end; i += WORKGROUP) {
        let bits = deviation(x[row * params.n + i], center);
        if is_nan(bits) { continue; }
        let key = key_of(bits);
        if STEP == 1u {
            if key > decided { atomicMin(&least, key); }
        } else if ((key ^ decided) >> params.shift) >> BITS == 0u {
            atomicAdd(&counters[(key >> params.shift) % DIGITS], 1u);
        }
    }
    workgroupBarrier();
    if STEP == 1u {
        if lane == 0u { atomicMin(&tables[row * TABLE + NEXT], atomicLoad(&least)); }
        return;
    }
    for (var digit = lane; digit < DIGITS; digit += WORKGROUP) {
        let count = atomicLoad(&counters[digit]);
        if count > 0u { atomicAdd(&tables[row * TABLE + digit], count); }
    }
}

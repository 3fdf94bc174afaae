// rank_quantile: decides the next digit of the key of a quantile in each table of rank_rows, and clears the counts; or out[at + r]
// = the quantile of row r
//
// Shape      tables: as rank_rows, one for each of `rows` rows of n elements; out: at least at + rows elements, as bits
// Dispatch   one invocation per row; the others do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  as between
//#use between
//#use element_keys
//#use linear
//#use quantile
override WORKGROUP: u32 = 64;
override TYPE: u32 = 0;                     // 0: u32, 1: i32, 2: f32
override SKIP_NAN: u32 = 0;                 // 1: NaNs are left out, 0: a row with a NaN has a NaN as its quantile
override STEP: u32 = 0;                     // 0: decides a digit, 1: writes the quantile
struct Params {
    factor: vec3<u32>, rounding: u32,
    offset: vec3<u32>,
    n: u32, rows: u32, at: u32,
    none: u32,                              // the quantile of no elements
    shift: u32,                             // the lowest bit of the digit: 24, 16, 8 or 0
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> tables: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

const TABLE: u32 = 262u;
const KEY: u32 = 256u;
const RANK: u32 = 257u;
const FRACTION: u32 = 258u;
const NUMBERS: u32 = 259u;
const NEXT: u32 = 260u;
const EQUAL: u32 = 261u;
const DIGITS: u32 = 256u;
const FIRST: u32 = 24u;
const LAST: u32 = 0xFFFFFFFFu;

fn decide_digit(table: u32) {
    if params.shift == FIRST {
        var numbers = 0u;
        for (var digit = 0u; digit < DIGITS; digit++) { numbers += tables[table + digit]; }
        var place = Place(0u, 0u);
        if numbers > 0u { place = place_of_quantile(numbers); }
        tables[table + RANK] = place.rank;
        tables[table + FRACTION] = place.fraction;
        tables[table + NUMBERS] = numbers;
        tables[table + NEXT] = LAST;
    }
    var rank = tables[table + RANK];
    var digit = 0u;
    while digit < DIGITS - 1u && tables[table + digit] <= rank {
        rank -= tables[table + digit];
        digit++;
    }
    tables[table + KEY] |= digit << params.shift;
    tables[table + RANK] = rank;
    tables[table + EQUAL] = tables[table + digit];
    for (var d = 0u; d < DIGITS; d++) { tables[table + d] = 0u; }
}

fn quantile_of(table: u32) -> u32 {
    let numbers = tables[table + NUMBERS];
    if params.n == 0u { return params.none; }
    if numbers == 0u || (SKIP_NAN == 0u && numbers < params.n) { return A_NAN; }
    let key = tables[table + KEY];
    let is_last = tables[table + RANK] + 1u >= tables[table + EQUAL];
    return between(key, select(key, tables[table + NEXT], is_last), tables[table + FRACTION]);
}

@compute @workgroup_size(WORKGROUP)
fn rank_quantile(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let row = linear_id(gid, groups, WORKGROUP);
    if row >= params.rows { return; }
    if STEP == 1u { out[params.at + row] = quantile_of(row * TABLE); } else { decide_digit(row * TABLE); }
}

// sort_small: sorts elements by the bits from `low` to `high` of their keys, stably, in one workgroup
//
// Shape      keys, out_keys, scratch_keys: at least n elements, as bits, n up to 65,535; values, out_values,
//            scratch_values: the same if they move
// Dispatch   one workgroup
// Workgroup  [WORKGROUP, 1, 1], as tile_ranks
// Barriers   those of tile_ranks and one, for each pass
// Tolerance  exact
//#use order_keys
//#use tile_ranks
override WORKGROUP: u32 = 64;
struct Params {
    n: u32, low: u32, high: u32, flip_clear: u32, flip_set: u32,
    payload: u32,                           // 0: no values, 1: values move too, 2: indices of keys move instead of values
    passes: u32,                            // one for each digit; further ones keep the order
    in_place: u32,                          // 1: out_keys and out_values are the input, and the passes are even
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> keys: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<u32>;
@group(0) @binding(3) var<storage, read_write> out_keys: array<u32>;
@group(0) @binding(4) var<storage, read_write> out_values: array<u32>;
@group(0) @binding(5) var<storage, read_write> scratch_keys: array<u32>;
@group(0) @binding(6) var<storage, read_write> scratch_values: array<u32>;

// Number of bits of a digit.
const BITS: u32 = 4;
var<private> pass_number: u32;

// Returns true if a pass writes to out_keys: the last pass does, and every second one before it.
fn writes_out(number: u32) -> bool { return (params.passes - number) % 2u == 1u; }

fn reads_input() -> bool { return pass_number == 0u && params.in_place == 0u; }

fn key_at(i: u32) -> u32 {
    if reads_input() { return keys[i]; }
    if writes_out(pass_number) { return scratch_keys[i]; }
    return out_keys[i];
}

fn value_at(i: u32) -> u32 {
    if params.payload == 2u && pass_number == 0u { return i; }
    if reads_input() { return values[i]; }
    if writes_out(pass_number) { return scratch_values[i]; }
    return out_values[i];
}

fn digit_at(i: u32) -> u32 {
    let bit = params.low + pass_number * BITS;
    if bit >= params.high { return 0u; }
    return (order_key(key_at(i)) >> bit) & ((1u << min(BITS, params.high - bit)) - 1u);
}

fn move_element(i: u32, lane: u32) {
    let place = take_rank(digit_at(i), lane);
    // Another queue may change the keys between the two reads.
    if place >= params.n { return; }
    let to_out = writes_out(pass_number);
    if to_out { out_keys[place] = key_at(i); } else { scratch_keys[place] = key_at(i); }
    if params.payload == 0u { return; }
    if to_out { out_values[place] = value_at(i); } else { scratch_values[place] = value_at(i); }
}

@compute @workgroup_size(WORKGROUP)
fn sort_small(@builtin(local_invocation_index) lane: u32) {
    let own_end = own_first(0u, params.n, lane + 1u);
    for (var number = 0u; number < params.passes; number++) {
        pass_number = number;
        rank_tile(0u, params.n, lane);
        for (var i = own_first(0u, params.n, lane); i < own_end; i++) { move_element(i, lane); }
        storageBarrier();
    }
}

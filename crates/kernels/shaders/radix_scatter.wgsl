// radix_scatter: moves each element and its value to its position in a stable sort by one digit of the keys
//
// Shape      keys, out_keys: at least n elements, as bits; values, out_values: the same if they move; starts: for each of
//            16 digits, the place of the first element of each share with that digit; `bit`, `mask`: as in radix_count
// Dispatch   one workgroup per share, along x; the last share may be shorter, and none is empty
// Workgroup  [WORKGROUP, 1, 1], as tile_ranks, at least 16
// Barriers   those of tile_ranks and one, for each tile; two more in workgroups of at least STAGED_FROM invocations
// Tolerance  exact
//#use order_keys
//#use tile_ranks
override WORKGROUP: u32 = 64;
override PER: u32 = 16;                     // elements of an invocation in a tile
struct Params {
    n: u32, share: u32, groups: u32, bit: u32, mask: u32, flip_clear: u32, flip_set: u32,
    payload: u32,                           // 0: no values, 1: values move too, 2: indices of keys move instead of values
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> keys: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<u32>;
@group(0) @binding(3) var<storage, read> starts: array<u32>;
@group(0) @binding(4) var<storage, read_write> out_keys: array<u32>;
@group(0) @binding(5) var<storage, read_write> out_values: array<u32>;

var<workgroup> offsets: array<u32, DIGITS>;

// Minimum size of a workgroup that stages elements in workgroup memory. A GPU loads and stores adjacent
// elements in one access if neighbouring invocations do it. A CPU has small workgroups and gains nothing.
const STAGED_FROM: u32 = 64;
// Number of elements of a tile in the memory of the workgroup, plus one.
override STAGED: u32 = WORKGROUP / STAGED_FROM * STAGED_FROM * PER + 1u;
var<workgroup> tile_keys: array<u32, STAGED>;
var<workgroup> sorted_keys: array<u32, STAGED>;
var<workgroup> sorted_from: array<u32, STAGED>;
// First element of the tile.
var<private> tile_first: u32;

fn key_at(i: u32) -> u32 {
    var key = 0u;
    if WORKGROUP < STAGED_FROM { key = keys[i]; } else { key = tile_keys[i - tile_first]; }
    return key;
}

fn digit_of(key: u32) -> u32 { return (order_key(key) >> params.bit) & params.mask; }

fn digit_at(i: u32) -> u32 { return digit_of(key_at(i)); }

// Another queue may change the keys between the two reads; then a position may be outside the array.
fn move_element(i: u32, key: u32, place: u32) {
    if place >= arrayLength(&out_keys) { return; }
    out_keys[place] = key;
    if params.payload == 1u { out_values[place] = values[i]; }
    if params.payload == 2u { out_values[place] = i; }
}

// Finds the positions of a tile's elements. Invocation d keeps the position of the next element with digit d, and
// returns it.
fn place_digits(first: u32, end: u32, lane: u32, next: u32) -> u32 {
    rank_tile(first, end, lane);
    var behind = next;
    if lane < DIGITS {
        let before = elements_before(lane);
        var through = end - first;
        if lane + 1u < DIGITS { through = elements_before(lane + 1u); }
        offsets[lane] = next - before;
        behind += through - before;
    }
    workgroupBarrier();
    return behind;
}

// Moves the elements of a tile. Each invocation moves its own adjacent elements.
fn scatter_own(first: u32, end: u32, lane: u32) {
    let own_end = own_first(first, end, lane + 1u);
    for (var i = own_first(first, end, lane); i < own_end; i++) {
        let key = key_at(i);
        let digit = digit_of(key);
        move_element(i, key, offsets[digit] + take_rank(digit, lane));
    }
}

fn load_tile(first: u32, end: u32, lane: u32) {
    tile_first = first;
    for (var i = first + lane; i < end; i += WORKGROUP) { tile_keys[i - first] = keys[i]; }
    workgroupBarrier();
}

// Moves the elements of a tile after sorting them in workgroup memory, so that elements with one digit are stored
// adjacently.
fn scatter_sorted(first: u32, end: u32, lane: u32) {
    let own_end = own_first(first, end, lane + 1u);
    for (var i = own_first(first, end, lane); i < own_end; i++) {
        let key = key_at(i);
        // If another queue changes the number of elements meanwhile, some invocations end in an earlier tile, and ranks
        // are wrong.
        let rank = min(take_rank(digit_of(key), lane), STAGED - 1u);
        sorted_keys[rank] = key;
        sorted_from[rank] = i;
    }
    workgroupBarrier();
    for (var k = lane; k < end - first; k += WORKGROUP) {
        let key = sorted_keys[k];
        move_element(sorted_from[k], key, offsets[digit_of(key)] + k);
    }
}

@compute @workgroup_size(WORKGROUP)
fn radix_scatter(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let first = group.x * params.share;
    let end = min(params.n, first + params.share);
    var next = 0u;
    if lane < DIGITS { next = starts[lane * params.groups + group.x]; }
    for (var tile = first; tile < end; tile += WORKGROUP * PER) {
        let tile_end = min(end, tile + WORKGROUP * PER);
        if WORKGROUP >= STAGED_FROM { load_tile(tile, tile_end, lane); }
        next = place_digits(tile, tile_end, lane, next);
        if WORKGROUP >= STAGED_FROM { scatter_sorted(tile, tile_end, lane); } else { scatter_own(tile, tile_end, lane); }
    }
}

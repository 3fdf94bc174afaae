// radix_scatter: moves each element and its value to its place in the stable order of one digit of the keys
//
// Shape      keys, out_keys: at least n elements, as bits; values, out_values: the same if they move; starts: for each of
//            16 digits, the place of the first element of each share with that digit; `bit`, `mask`: as in radix_count
// Dispatch   one workgroup per share, along x; the last share may be shorter, and none is empty
// Workgroup  [WORKGROUP, 1, 1], as tile_ranks, at least 16
// Barriers   those of tile_ranks and one, for each tile
// Tolerance  exact
//#use order_keys
//#use tile_ranks
override WORKGROUP: u32 = 64;
override PER: u32 = 64;                     // the elements of an invocation in a tile
struct Params {
    n: u32, share: u32, groups: u32, bit: u32, mask: u32, flip_clear: u32, flip_set: u32,
    payload: u32,                           // 0: no value moves, 1: the values do, 2: the places in keys do
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> keys: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<u32>;
@group(0) @binding(3) var<storage, read> starts: array<u32>;
@group(0) @binding(4) var<storage, read_write> out_keys: array<u32>;
@group(0) @binding(5) var<storage, read_write> out_values: array<u32>;

var<workgroup> offsets: array<u32, DIGITS>;

fn digit_at(i: u32) -> u32 { return (order_key(keys[i]) >> params.bit) & params.mask; }

fn move_element(i: u32, lane: u32) {
    let digit = digit_at(i);
    let place = offsets[digit] + take_rank(digit, lane);
    out_keys[place] = keys[i];
    if params.payload == 1u { out_values[place] = values[i]; }
    if params.payload == 2u { out_values[place] = i; }
}

// Moves the elements of a tile. Invocation d has the place of the next element with digit d, and returns it.
fn scatter_tile(first: u32, end: u32, lane: u32, next: u32) -> u32 {
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
    let own_end = own_first(first, end, lane + 1u);
    for (var i = own_first(first, end, lane); i < own_end; i++) { move_element(i, lane); }
    return behind;
}

@compute @workgroup_size(WORKGROUP)
fn radix_scatter(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let first = group.x * params.share;
    let end = min(params.n, first + params.share);
    var next = 0u;
    if lane < DIGITS { next = starts[lane * params.groups + group.x]; }
    for (var tile = first; tile < end; tile += WORKGROUP * PER) {
        next = scatter_tile(tile, min(end, tile + WORKGROUP * PER), lane, next);
    }
}

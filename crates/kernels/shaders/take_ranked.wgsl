// take_ranked: values, places = the elements of x with the lowest keys and their indices, in the order of x
//
// Shape      x: at least n elements, as bits; table: 258 elements: after the counts of rank_digit a key, and the number of
//            elements with that key that are taken, less one; partials, states: two elements for each share; values, places:
//            at least as many elements as are taken
// Dispatch   one workgroup per share, along x; the last share may be shorter, and none is empty
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   as scan_share and fold_share
// Tolerance  exact; bits are copied
//#use fold_partials
//#use fold_share
//#use lanes
//#use order_keys
//#use run_stage
//#use scan_share
override WORKGROUP: u32 = 64;
override STAGE: u32 = 0;                    // 0: writes the elements of each share, 1: counts, 2: writes all of a single share
struct Params { n: u32, share: u32, flip_clear: u32, flip_set: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> table: array<u32>;
@group(0) @binding(3) var<storage, read> partials: array<u32>;
@group(0) @binding(4) var<storage, read_write> values: array<u32>;
@group(0) @binding(5) var<storage, read_write> places: array<u32>;
@group(0) @binding(6) var<storage, read_write> states: array<u32>;

const KEY: u32 = 256;
// Numbers of elements with a lower key and with the key itself.
alias S = vec2<u32>;

fn identity() -> S { return S(0u, 0u); }

fn combined(a: S, b: S) -> S { return a + b; }

fn load(i: u32) -> S {
    let key = order_key(x[i]);
    return S(select(0u, 1u, key < table[KEY]), select(0u, 1u, key == table[KEY]));
}

fn partial(g: u32) -> S { return S(partials[2u * g], partials[2u * g + 1u]); }

fn store(i: u32, before: S, after: S) {
    let equal = table[KEY + 1u] + 1u;
    if after.x == before.x && (after.y == before.y || before.y >= equal) { return; }
    let place = before.x + min(before.y, equal);
    // Another queue may change the elements between the two reads.
    if place >= min(arrayLength(&values), arrayLength(&places)) { return; }
    values[place] = x[i];
    places[place] = i;
}

fn keep_partial(g: u32, state: S) {
    states[2u * g] = state.x;
    states[2u * g + 1u] = state.y;
}

fn keep(all: S) { keep_partial(0u, all); }

@compute @workgroup_size(WORKGROUP)
fn take_ranked(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    run_stage(group.x, lane);
}

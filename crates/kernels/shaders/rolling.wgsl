// rolling: out[i] = the median, the smallest or the largest element of a window around element i of x
//
// Shape      x, out: [outer, size_a, middle, size_b, inner], as bits; a window has up to half_a elements before and after its
//            center along the axis of size_a, and half_b along that of size_b; it ends at the ends of x, and has at most 2,048
//            elements; mask: an array of up to the same shape, in which an axis of stride 0 has one element, or x itself
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  as between
//#use between
//#use element_keys
//#use key_at_rank
//#use linear
override WORKGROUP: u32 = 64;
override TYPE: u32 = 0;                     // 0: u32, 1: i32, 2: f32
override OPERATION: u32 = 0;                // 0: median, 1: smallest, 2: largest
override SKIP_NAN: u32 = 0;                 // 1: NaNs are left out, 0: a window with a NaN has a NaN as its result
override MASKED: u32 = 0;                   // elements that are left out: 0: none, 1: where mask is 0, 2: where mask is not 0
struct Params {
    n: u32,
    none: u32,                              // the result of a window without elements
    size_a: u32, middle: u32, size_b: u32, inner: u32, half_a: u32, half_b: u32,
    mask_outer: u32, mask_a: u32, mask_middle: u32, mask_b: u32, mask_inner: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> mask: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

// The first element of the window and of its mask, and the number of elements along the second axis.
var<private> first: u32;
var<private> first_of_mask: u32;
var<private> columns: u32;

// Returns the indices of element k of the window along both axes. A quotient of integers takes much longer on a processor. The
// rounded one is right, because it is at least half of a column away from a whole number.
fn place_in_window(k: u32) -> vec2<u32> {
    if columns == 1u { return vec2<u32>(k, 0u); }
    let row = u32((f32(k) + 0.5) / f32(columns));
    return vec2<u32>(row, k - row * columns);
}

fn is_left_out(place: vec2<u32>) -> bool {
    if MASKED == 0u { return false; }
    let is_zero = mask[first_of_mask + place.x * params.mask_a + place.y * params.mask_b] == 0u;
    return is_zero == (MASKED == 1u);
}

fn bits_at(place: vec2<u32>) -> u32 {
    return x[first + (place.x * params.middle * params.size_b + place.y) * params.inner];
}

fn key_at(k: u32) -> u32 {
    let place = place_in_window(k);
    let bits = bits_at(place);
    return select(key_of(bits), LAST, is_nan(bits) || is_left_out(place));
}

fn result_of_window(count: u32) -> u32 {
    var kept = 0u;
    var numbers = 0u;
    var least = LAST;
    var most = 0u;
    for (var k = 0u; k < count; k++) {
        let place = place_in_window(k);
        if is_left_out(place) { continue; }
        kept++;
        let bits = bits_at(place);
        if is_nan(bits) { continue; }
        numbers++;
        least = min(least, key_of(bits));
        most = max(most, key_of(bits));
    }
    if kept == 0u { return params.none; }
    if numbers == 0u || (SKIP_NAN == 0u && numbers < kept) { return A_NAN; }
    if OPERATION == 1u { return bits_of(least); }
    if OPERATION == 2u { return bits_of(most); }
    let rank = (numbers - 1u) / 2u;
    let low = key_at_rank(count, rank);
    if numbers % 2u == 1u { return bits_of(low); }
    return between(low, key_at_next_rank(count, rank, low), 0x80000000u);
}

@compute @workgroup_size(WORKGROUP)
fn rolling(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.n { return; }
    let inner = i % params.inner;
    let b = i / params.inner % params.size_b;
    let middle = i / params.inner / params.size_b % params.middle;
    let a = i / params.inner / params.size_b / params.middle % params.size_a;
    let outer = i / params.inner / params.size_b / params.middle / params.size_a;
    let before_a = min(a, params.half_a);
    let before_b = min(b, params.half_b);
    first = i - (before_a * params.middle * params.size_b + before_b) * params.inner;
    first_of_mask = outer * params.mask_outer + (a - before_a) * params.mask_a + middle * params.mask_middle
        + (b - before_b) * params.mask_b + inner * params.mask_inner;
    let rows = before_a + min(params.half_a, params.size_a - 1u - a) + 1u;
    columns = before_b + min(params.half_b, params.size_b - 1u - b) + 1u;
    out[i] = result_of_window(rows * columns);
}

// reduce_segments: out[s] = the elements of x from offsets[s] up to offsets[s + 1], combined by an operation
// If PRODUCTS, each element is first multiplied by the element of y.
//
// Shape      x, y: at least n elements; offsets: segments + 1; out: segments, which keep their values if they are empty; partials:
//            two words for each share, in stage 0; states: two words for each share, in stage 1; offsets above n count as n
// Dispatch   one workgroup per share of x, along x; the last share may be shorter, and none is empty
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   as segment_stages
// Tolerance  sums of f32: d u times the sum of the magnitudes, d = 20 + share / WORKGROUP / 16 + log2(WORKGROUP) in a share, and
//            twice as many and shares / WORKGROUP more in several, u = 2^-24; products of f32: relative, by twice the number of
//            factors times u; integers exactly, wrapping
//#use finish
//#use fold_partials
//#use keyed
//#use lanes
//#use number_keys
//#use operation
//#use segment_of
//#use segment_stages
override WORKGROUP: u32 = 64;
override STAGE: u32 = 0;                    // 0: writes the segments that end in each share, 1: states, 2: writes all of a single share
override OPERATION: u32 = 0;                // 0: sum, 1: product, 2: smallest, 3: largest; the last two for integers
override KEYS: u32 = 0;                     // not 0: bits of f32, whose min or max is computed; 2: NaNs are left out
override BITS: u32 = 0;                     // not 0: an element counts as 1 if any of these bits is set, else as 0
override PRODUCTS: u32 = 0;                 // 1: an element is x[i] * y[i]
override FINISH: u32 = 0;                   // 0: the result itself, 1: divided by the length of its segment, 2: its square root
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { n: u32, share: u32, identity: T, segments: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<T>;
@group(0) @binding(3) var<storage, read> y: array<T>;
@group(0) @binding(4) var<storage, read> partials: array<u32>;
@group(0) @binding(5) var<storage, read_write> out: array<T>;
@group(0) @binding(6) var<storage, read_write> states: array<u32>;

fn element(i: u32) -> T {
    if BITS != 0u { return select(T(0), T(1), (bitcast<u32>(x[i]) & BITS) != 0u); }
    if PRODUCTS == 1u { return x[i] * y[i]; }
    return of_bits(x[i]);
}

// Number of elements of a block. Results of blocks are combined separately, which keeps chains short.
const BLOCK: u32 = 16u;

// Combines adjacent elements.
fn combined_elements(first: u32, end: u32) -> T {
    var all = params.identity;
    for (var block = first; block < end; block += BLOCK) {
        var part = params.identity;
        for (var i = block; i < min(end, block + BLOCK); i++) { part = operation(part, element(i)); }
        all = operation(all, part);
    }
    return all;
}

// Returns the number of elements of a segment that is not empty.
fn length_of(place: u32) -> T { return T(min(params.n, offsets[place + 1u]) - min(params.n, offsets[place])); }

fn store(place: u32, value: T) {
    if place < params.segments {
        var divisor = T(1);
        if FINISH == 1u { divisor = length_of(place); }
        out[place] = finished(to_bits(value), divisor);
    }
}

@compute @workgroup_size(WORKGROUP)
fn reduce_segments(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    segment_stage(group.x, lane);
}

// reduce_rows: out[g] = the elements of share g of the rows of x, combined by an operation; each row has several shares
// If PRODUCTS, each element is first multiplied by the element of y.
//
// Shape      x, y: rows of n elements; out: at least shares elements, the shares of one row after the other
// Dispatch   one workgroup per share, in one or two dimensions; the last share of a row may be shorter
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   as reduce_share
// Tolerance  as reduce, with the share of a row; counts of elements exactly
//#use finish
//#use number_keys
//#use reduce_share
override WORKGROUP: u32 = 256;
override OPERATION: u32 = 0;                // 0: sum, 1: product, 2: smallest, 3: largest; the last two for integers
override KEYS: u32 = 0;                     // not 0: bits of f32, whose min or max is computed; 2: NaNs are left out
override BITS: u32 = 0;                     // not 0: an element counts as 1 if any of these bits is set, else as 0
override PRODUCTS: u32 = 0;                 // 1: an element is x[i] * y[i]
override FINISH: u32 = 0;                   // 0: the result itself, 1: divided by the divisor, 2: its square root
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { n: u32, share: u32, in_row: u32, shares: u32, identity: T, divisor: T }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<T>;
@group(0) @binding(2) var<storage, read> y: array<T>;
@group(0) @binding(3) var<storage, read_write> out: array<T>;

alias S = T;

fn identity() -> S { return params.identity; }

fn combined(a: S, b: S) -> S {
    if OPERATION == 0u { return a + b; }
    if OPERATION == 1u { return a * b; }
    if OPERATION == 2u { return min(a, b); }
    return max(a, b);
}

fn element(i: u32) -> S {
    if KEYS != 0u { return bitcast<T>(number_key(bitcast<u32>(x[i]), (OPERATION == 3u) == (KEYS == 1u))); }
    if BITS != 0u { return select(S(0), S(1), (bitcast<u32>(x[i]) & BITS) != 0u); }
    if PRODUCTS == 1u { return x[i] * y[i]; }
    return x[i];
}

@compute @workgroup_size(WORKGROUP)
fn reduce_rows(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let g = group.y * groups.x + group.x;
    let row = g / params.in_row * params.n;
    let start = g % params.in_row * params.share;
    let end = select(0u, row + min(params.n, start + params.share), g < params.shares);
    reduce_share(row + start, end, lane);
    if lane == 0u && g < params.shares {
        if KEYS != 0u {
            out[g] = bitcast<T>(number_bits(bitcast<u32>(parts[0])));
        } else {
            out[g] = finished(parts[0], params.divisor);
        }
    }
}

// fold: out[g] = the elements of share g of the rows of x, combined by an operation in their order; each row has several shares
//
// Shape      x: rows of n elements; out: at least shares elements, the shares of one row after the other
// Dispatch   one workgroup per share, in one or two dimensions; the last share of a row may be shorter
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   as fold_share
// Tolerance  as fold_share
//#use fold_share
//#use lanes
//#use number_keys
//#use operation
override WORKGROUP: u32 = 256;
override OPERATION: u32 = 0;                // 0: sum, 1: product, 2: smallest, 3: largest; the last two for integers
override KEYS: u32 = 0;                     // 1: the elements are bits of f32, whose smallest or largest is computed
alias T = f32;                              // f32 | i32 | u32, or a vector: replaced on the host's request
struct Params { n: u32, share: u32, in_row: u32, shares: u32, identity: T }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<T>;
@group(0) @binding(2) var<storage, read_write> out: array<T>;

alias S = T;

fn identity() -> S { return params.identity; }

fn combined(a: S, b: S) -> S { return operation(a, b); }

fn load(i: u32) -> S { return of_bits(x[i]); }

@compute @workgroup_size(WORKGROUP)
fn fold(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let g = group.y * groups.x + group.x;
    let row = g / params.in_row * params.n;
    let start = row + g % params.in_row * params.share;
    // A workgroup after the last share has no elements, but executes the same barriers.
    let end = select(start, min(row + params.n, start + params.share), g < params.shares);
    let all = fold_range(start, end, lane);
    if lane == 0u && g < params.shares { out[g] = to_bits(all); }
}

// reduce_vectors: out[g] = the elements of share g of the rows of x, combined by an operation; each load has 16 elements
//
// Shape      x: rows of n groups of 16 elements of 4 bytes; out: at least shares elements, the shares of one row after the
//            other; share: a number of groups
// Dispatch   one workgroup per share, in one or two dimensions; the last share of a row may be shorter
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   as reduce_groups
// Tolerance  as reduce_groups
//#use number_keys
//#use reduce_groups
override WORKGROUP: u32 = 4;
override OPERATION: u32 = 0;                // 0: sum, 1: product, 2: smallest, 3: largest; the last two for integers
override KEYS: u32 = 0;                     // not 0: bits of f32, whose min or max is computed; 2: NaNs are left out
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { n: u32, share: u32, in_row: u32, shares: u32, identity: T }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<mat4x4<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<T>;

fn column(bits: vec4<f32>) -> Four { return of_bits(bitcast<vec4<u32>>(bits)); }

// Combines the four vectors of a group. The matrix only holds the bits of the elements.
fn group_result(i: u32) -> Four {
    let group = x[i];
    return combined(combined(column(group[0]), column(group[1])), combined(column(group[2]), column(group[3])));
}

@compute @workgroup_size(WORKGROUP)
fn reduce_vectors(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let g = group.y * groups.x + group.x;
    reduce_share_of_rows(g, lane);
    if lane == 0u && g < params.shares { out[g] = reduced(parts[0]); }
}

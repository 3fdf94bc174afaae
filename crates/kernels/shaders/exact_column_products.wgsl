// exact_column_products: out[t] = the exact sum of the products of column t, rounded once; or a share of it is added to its sum
//
// Shape      x, y: bits of f32; factor i of the column with the numbers o and c is at o * outer + c * inner + i * step, where each
//            array has its own distances; there are count / inner / in_column numbers o, and inner numbers c; out, zero: as
//            exact_columns
// Dispatch   as exact_columns
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact: the result does not depend on the order of the elements
//#use exact_finish
//#use exact_memory
//#use exact_product_range
//#use exact_products
//#use exact_rounding
//#use exact_sum
//#use exact_window
//#use exact_words
//#use linear
override WORKGROUP: u32 = 64;
override STAGE: u32 = 0;                    // 0: the results of the columns, 1: the sums of the columns
override FINISH: u32 = 0;                   // 0: the sum itself, 1: divided by n, 2: its square root
struct Params {
    n: u32, share: u32, in_column: u32, inner: u32, count: u32,
    outer_x: u32, inner_x: u32, step_x: u32, outer_y: u32, inner_y: u32, step_y: u32,
    zero: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> y: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<atomic<u32>>;

@compute @workgroup_size(WORKGROUP)
fn exact_column_products(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let t = linear_id(gid, groups, WORKGROUP);
    if t >= params.count { return; }
    let column = t / params.inner;
    let o = column / params.in_column;
    let c = t % params.inner;
    let start = column % params.in_column * params.share;
    let first_x = o * params.outer_x + c * params.inner_x + start * params.step_x;
    let first_y = o * params.outer_y + c * params.inner_y + start * params.step_y;
    let terms = min(params.n, start + params.share) - start;
    add_range(Places(first_x, params.step_x), Places(first_y, params.step_y), terms);
    if STAGE == 0u { atomicStore(&out[t], exact_result(params.n)); } else { add_to_memory(o * params.inner + c); }
}

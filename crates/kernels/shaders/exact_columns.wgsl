// exact_columns: out[t] = the exact sum of column t of x, rounded once; or a share of a column is added to the sum of the column
//
// Shape      x: bits of f32, [outer, n, inner]; out: if STAGE is 0, count elements, bits of f32; if it is 1, OF_SUM words for each
//            column, as exact_sum describes; zero: 0
// Dispatch   one invocation per share of a column; invocations past count do nothing; if STAGE is 0, a column is one share
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact: the result does not depend on the order of the elements
//#use exact_column_share
//#use exact_range
//#use exact_rounding
//#use exact_sum
//#use exact_window
//#use exact_words
//#use linear
override WORKGROUP: u32 = 64;
override STAGE: u32 = 0;                    // 0: the results of the columns, 1: the sums of the columns
override FINISH: u32 = 0;                   // 0: the sum itself, 1: divided by n, 2: its square root
struct Params { n: u32, share: u32, in_column: u32, inner: u32, count: u32, zero: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<atomic<u32>>;

@compute @workgroup_size(WORKGROUP)
fn exact_columns(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let t = linear_id(gid, groups, WORKGROUP);
    if t >= params.count { return; }
    add_column_share(t);
}

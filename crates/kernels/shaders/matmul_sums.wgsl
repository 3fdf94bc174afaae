// matmul_sums: out = activation(alpha * the sum of the shares + beta * out + bias)
//
// Shape      partials: shares stacks of count sums of products, each with all rows and columns of all matrices; out: the places
//            are given by strides
// Dispatch   one invocation per result; invocations past count do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  f32: (shares + 4) u times the sum of the magnitudes of the terms, u = 2^-24; integers exactly, wrapping
//#use linear
//#use matrix_block
//#use matrix_result
override WORKGROUP: u32 = 64;
override BIASED: u32 = 0;                   // 1: a bias is added
alias Number = f32;                         // sums: f32, i32 or u32
alias Product = f32;                        // results: a Number, or f16 if that is f32
struct Params {
    count: u32,
    shares: u32,
    rows: u32,
    columns: u32,
    count_1: u32,
    count_2: u32,
    out_row: u32,
    out_column: u32,
    out_0: u32,
    out_1: u32,
    out_2: u32,
    bias_row: u32,
    bias_column: u32,
    alpha: Number,
    beta: Number,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> partials: array<Number>;
@group(0) @binding(2) var<storage, read> bias: array<Product>;
@group(0) @binding(3) var<storage, read_write> out: array<Product>;

@compute @workgroup_size(WORKGROUP)
fn matmul_sums(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.count { return; }
    var sum = partials[i];
    for (var share = 1u; share < params.shares; share++) { sum += partials[share * params.count + i]; }
    let line = i / params.columns;
    let first = distance_of(index_of(line / params.rows), params.out_0, params.out_1, params.out_2);
    write_at(sum, line % params.rows, i % params.columns, first);
}

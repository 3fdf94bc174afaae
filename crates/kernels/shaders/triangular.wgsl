// triangular: out = the solutions x of a x = b, of which a is the upper triangle, or with LOWER = 1 the lower one
//
// Shape      a: a stack of matrices of n rows and columns, with strides; b: n rows and `columns` columns; out: the same; order: n
//            elements for each matrix, if ORDERED is 1; info: one element for each matrix, the number of the first element of the
//            diagonal that is 0, counted from 1, or 0. With LOWER = 1, the strides of a and out begin at the last row
// Dispatch   one invocation for each column of b, or for each matrix if it has none; invocations past them do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  as substitution; a matrix with a 0 on its diagonal, or a number below the smallest normal one, has NaNs
//#use linear
//#use matrix_index
//#use substitution
override WORKGROUP: u32 = 64;
override LOWER: u32 = 0;                    // 1: rows and columns are counted from the last one on
override UNIT: u32 = 0;                     // 1: the diagonal has ones, and is not read
override ORDERED: u32 = 0;                  // 1: the right side has the rows of b in another order
struct Params {
    matrices: u32,
    n: u32,
    columns: u32,
    nan: f32,
    count_1: u32,
    count_2: u32,
    a_first: u32,
    a_row: u32,
    a_column: u32,
    a_0: u32,
    a_1: u32,
    a_2: u32,
    b_first: u32,
    b_row: u32,
    b_column: u32,
    b_0: u32,
    b_1: u32,
    b_2: u32,
    out_first: u32,
    out_row: u32,
    out_column: u32,
    out_0: u32,
    out_1: u32,
    out_2: u32,
    order_first: u32,
    order_row: u32,
    order_0: u32,
    order_1: u32,
    order_2: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read> order: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;
@group(0) @binding(5) var<storage, read_write> info: array<u32>;

var<private> first_a: u32;

fn upper(row: u32, column: u32) -> f32 {
    return a[first_a + row * params.a_row + column * params.a_column];
}

fn diagonal(row: u32) -> f32 {
    if UNIT == 1u { return 1.0; }
    return upper(row, row);
}

// Returns the row of a, and of b without another order, that row `row` of the upper triangle is.
fn row_of(row: u32) -> u32 { return select(row, params.n - 1u - row, LOWER == 1u); }

// Returns the number of the first element of the diagonal that is 0, counted from 1, or 0.
fn first_zero() -> u32 {
    for (var row = 0u; row < params.n; row++) {
        if (bitcast<u32>(diagonal(row_of(row))) & 0x7F800000u) == 0u { return row + 1u; }
    }
    return 0u;
}

@compute @workgroup_size(WORKGROUP)
fn triangular(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    let across = max(params.columns, 1u);
    let matrix = i / across;
    let column = i % across;
    if matrix >= params.matrices { return; }
    let index = index_of(matrix);
    first_a = params.a_first + distance_of(index, params.a_0, params.a_1, params.a_2);
    let zero = first_zero();
    if column == 0u { info[matrix] = zero; }
    if params.columns == 0u { return; }
    let first_b = params.b_first + distance_of(index, params.b_0, params.b_1, params.b_2) + column * params.b_column;
    let first_order = params.order_first + distance_of(index, params.order_0, params.order_1, params.order_2);
    let stack = distance_of(index, params.out_0, params.out_1, params.out_2);
    let first = params.out_first + stack + column * params.out_column;
    if zero > 0u {
        fail(first);
        return;
    }
    for (var row = 0u; row < params.n; row++) {
        var source = row_of(row);
        if ORDERED == 1u { source = min(order[first_order + source * params.order_row], params.n - 1u); }
        out[first + row * params.out_row] = b[first_b + source * params.b_row];
    }
    substitute(first);
}

// matrix_params: the parameters and the arrays of a launch that computes products of matrices
//
// Shape      as matmul_tiles; index: the indices of a matrix along the axes of the stack; the shader around it has the types
//            Factor, Number and Product
// Dispatch   any
// Barriers   none
// Tolerance  exact
//#use matrix_index
struct Params {
    groups: u32,
    rows: u32,
    columns: u32,
    inner: u32,
    share: u32,
    shares: u32,
    count_1: u32,
    count_2: u32,
    a_first: u32,
    a_row: u32,
    a_inner: u32,
    a_0: u32,
    a_1: u32,
    a_2: u32,
    b_first: u32,
    b_inner: u32,
    b_column: u32,
    b_0: u32,
    b_1: u32,
    b_2: u32,
    out_row: u32,
    out_column: u32,
    out_share: u32,
    out_0: u32,
    out_1: u32,
    out_2: u32,
    bias_row: u32,
    bias_column: u32,
    alpha: Number,
    beta: Number,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<Factor>;
@group(0) @binding(2) var<storage, read> b: array<Factor>;
@group(0) @binding(3) var<storage, read> bias: array<Product>;
@group(0) @binding(4) var<storage, read_write> out: array<Product>;

// Returns the place of the first element of a matrix of a.
fn first_of_a(index: vec3<u32>) -> u32 {
    return params.a_first + distance_of(index, params.a_0, params.a_1, params.a_2);
}

fn first_of_b(index: vec3<u32>) -> u32 {
    return params.b_first + distance_of(index, params.b_0, params.b_1, params.b_2);
}

// Returns the place of the first result of a share of a matrix.
fn first_of_out(index: vec3<u32>, share: u32) -> u32 {
    return share * params.out_share + distance_of(index, params.out_0, params.out_1, params.out_2);
}

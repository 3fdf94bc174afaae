// matmul_columns: out = activation(alpha * a * b + beta * out + bias), a few rows of one column for each invocation
//
// Shape      as matmul_tiles; neighbouring columns of b are neighbours in memory, unless b has one column
// Dispatch   one workgroup per share of the inner index, for each block of ROWS x WIDTH results; groups of them, in one or
//            two dimensions
// Workgroup  [WIDTH, 1, 1]
// Barriers   none
// Tolerance  as matmul_tiles
//
// All invocations of a workgroup load the same elements of a. A row beyond the last one loads that one.
//#use matrix_block
//#use matrix_result
override WIDTH: u32 = 64;
override ROWS: u32 = 8;                     // 1, 4 or 8
override BIASED: u32 = 0;                   // 1: a bias is added
alias Factor = f32;                         // elements of a and b: f32, f16, i32 or u32
alias Number = f32;                         // sums: f32, i32 or u32
alias Product = f32;                        // results: a Number, or f16 if that is f32
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

// Returns the elements of a at four places.
fn four_of_a(places: vec4<u32>) -> vec4<Number> {
    return vec4<Number>(Number(a[places.x]), Number(a[places.y]), Number(a[places.z]), Number(a[places.w]));
}

@compute @workgroup_size(WIDTH)
fn matmul_columns(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let g = group.y * groups.x + group.x;
    let share = g % params.shares;
    let block = block_of(g / params.shares, ROWS, WIDTH);
    let row = block.x;
    let column = block.y + lane;
    if g >= params.groups || column >= params.columns { return; }
    let start = share * params.share;
    let end = min(params.inner, start + params.share);
    let index = index_of(block.z);
    let first_a = params.a_first + distance_of(index, params.a_0, params.a_1, params.a_2);
    let first_b = params.b_first + distance_of(index, params.b_0, params.b_1, params.b_2) + column;
    let last = vec4<u32>(params.rows - 1u);
    let places = first_a + min(row + vec4<u32>(0u, 1u, 2u, 3u), last) * params.a_row;
    let more_places = first_a + min(row + vec4<u32>(4u, 5u, 6u, 7u), last) * params.a_row;
    var sums = vec4<Number>();
    var more_sums = vec4<Number>();
    for (var k = start; k < end; k++) {
        let factor = Number(b[first_b + k * params.b_inner]);
        let at = k * params.a_inner;
        if ROWS == 1u {
            sums.x += factor * Number(a[places.x + at]);
        } else {
            sums += factor * four_of_a(places + at);
        }
        if ROWS == 8u { more_sums += factor * four_of_a(more_places + at); }
    }
    let stack = distance_of(index, params.out_0, params.out_1, params.out_2);
    let first = share * params.out_share + stack;
    for (var i = 0u; i < ROWS; i++) {
        let four = select(more_sums, sums, i < 4u);
        write_at(four[i % 4u], row + i, column, first);
    }
}

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
//#use matrix_params
//#use matrix_result
override WIDTH: u32 = 64;
override ROWS: u32 = 8;                     // 1, 4 or 8
override BIASED: u32 = 0;                   // 1: a bias is added
alias Factor = f32;                         // elements of a and b: f32, f16, i32 or u32
alias Number = f32;                         // sums: f32, i32 or u32
alias Product = f32;                        // results: a Number, or f16 if that is f32

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
    let first_a = first_of_a(index);
    let first_b = first_of_b(index) + column;
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
    let first = first_of_out(index, share);
    for (var i = 0u; i < ROWS; i++) {
        let four = select(more_sums, sums, i < 4u);
        write_at(four[i % 4u], row + i, column, first);
    }
}

// matmul_rows: out = activation(alpha * a * b + beta * out + bias) for up to four columns, four rows in each workgroup
//
// Shape      as matmul_tiles, with COLUMNS columns
// Dispatch   one workgroup per share of the inner index, for each block of four rows; groups of them, in one or two dimensions
// Workgroup  [WORKGROUP, 1, 1], a power of two and at least 4
// Barriers   ceil(log2(WORKGROUP)) + 2 for each column
// Tolerance  as matmul_tiles
//
// The invocations divide the inner index, and a tree adds their sums. A row beyond the last one loads that one.
//#use lanes
//#use matrix_block
//#use matrix_params
//#use matrix_result
override WORKGROUP: u32 = 128;
override COLUMNS: u32 = 1;                  // 1 to 4
override BIASED: u32 = 0;                   // 1: a bias is added
alias Factor = f32;                         // elements of a and b: f32, f16, i32 or u32
alias Number = f32;                         // sums: f32, i32 or u32
alias Product = f32;                        // results: a Number, or f16 if that is f32

alias S = vec4<Number>;

fn combined(one: S, other: S) -> S { return one + other; }

@compute @workgroup_size(WORKGROUP)
fn matmul_rows(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let g = group.y * groups.x + group.x;
    let inside = g < params.groups;
    let share = g % params.shares;
    let start = share * params.share;
    let end = select(0u, min(params.inner, start + params.share), inside);
    let block = block_of(g / params.shares, 4u, COLUMNS);
    let index = index_of(block.z);
    let first_a = first_of_a(index);
    let first_b = first_of_b(index);
    let rows = min(block.x + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(params.rows - 1u));
    let places = first_a + rows * params.a_row;
    var sum_0 = S();
    var sum_1 = S();
    var sum_2 = S();
    var sum_3 = S();
    for (var k = start + lane; k < end; k += WORKGROUP) {
        let at = places + k * params.a_inner;
        let four = S(Number(a[at.x]), Number(a[at.y]), Number(a[at.z]), Number(a[at.w]));
        let place = first_b + k * params.b_inner;
        sum_0 += four * Number(b[place]);
        if COLUMNS > 1u { sum_1 += four * Number(b[place + params.b_column]); }
        if COLUMNS > 2u { sum_2 += four * Number(b[place + 2u * params.b_column]); }
        if COLUMNS > 3u { sum_3 += four * Number(b[place + 3u * params.b_column]); }
    }
    let first = first_of_out(index, share);
    for (var column = 0u; column < COLUMNS; column++) {
        var sums = sum_0;
        if column == 1u { sums = sum_1; }
        if column == 2u { sums = sum_2; }
        if column == 3u { sums = sum_3; }
        let totals = fold_lanes(lane, sums);
        if inside && lane < 4u { write_at(totals[lane], block.x + lane, column, first); }
    }
}

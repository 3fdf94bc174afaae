// matmul_tiles: out = activation(alpha * a * b + beta * out + bias), in tiles of the result
//
// Shape      a: stacks of matrices of rows x inner elements; b: inner x columns; out: rows x columns, or one stack for each
//            share of the inner index. Strides may be negative: their products with indices wrap
// Dispatch   one workgroup per share of the inner index, for each tile of 4 DOWN x 4 ACROSS results; groups of them, in one
//            or two dimensions
// Workgroup  [ACROSS, DOWN, 1]; DEPTH is a multiple of 4
// Barriers   two for each DEPTH inner indices
// Tolerance  f32: (share + 5) u times the sum of the magnitudes of the terms, u = 2^-24; integers exactly, wrapping
//
// A workgroup keeps DEPTH columns of a and DEPTH rows of b in its memory, and an invocation the sums of 4 x 4 results in
// registers. One unused vector follows each row of the memory, so that the invocations that write a column use different banks.
//#use matrix_block
//#use matrix_params
//#use matrix_tile
override ACROSS: u32 = 16;
override DOWN: u32 = 16;
override DEPTH: u32 = 16;
override A_INNER: u32 = 1;                  // 1: neighbours in the memory of a are those along the inner index
override B_INNER: u32 = 0;
override BIASED: u32 = 0;                   // 1: a bias is added
alias Factor = f32;                         // elements of a and b: f32, f16, i32 or u32
alias Number = f32;                         // sums: f32, i32 or u32
alias Product = f32;                        // results: a Number, or f16 if that is f32

var<workgroup> left: array<vec4<Number>, DEPTH * (DOWN + 1)>;
var<workgroup> right: array<vec4<Number>, DEPTH * (ACROSS + 1)>;

// Returns the elements of four rows of a, with zeros beyond its end.
fn four_of_a(first: u32, row: u32, k: u32, end: u32) -> vec4<Number> {
    let place = first + row * params.a_row + k * params.a_inner;
    var four = vec4<Number>();
    if k < end {
        if row < params.rows { four.x = Number(a[place]); }
        if row + 1u < params.rows { four.y = Number(a[place + params.a_row]); }
        if row + 2u < params.rows { four.z = Number(a[place + 2u * params.a_row]); }
        if row + 3u < params.rows { four.w = Number(a[place + 3u * params.a_row]); }
    }
    return four;
}

// Returns the elements of four columns of b, with zeros beyond its end.
fn four_of_b(first: u32, column: u32, k: u32, end: u32) -> vec4<Number> {
    let place = first + k * params.b_inner + column * params.b_column;
    var four = vec4<Number>();
    if k < end {
        if column < params.columns { four.x = Number(b[place]); }
        if column + 1u < params.columns { four.y = Number(b[place + params.b_column]); }
        if column + 2u < params.columns { four.z = Number(b[place + 2u * params.b_column]); }
        if column + 3u < params.columns { four.w = Number(b[place + 3u * params.b_column]); }
    }
    return four;
}

@compute @workgroup_size(ACROSS, DOWN)
fn matmul_tiles(
    @builtin(local_invocation_id) lane: vec3<u32>,
    @builtin(local_invocation_index) number: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let g = group.y * groups.x + group.x;
    let share = g % params.shares;
    let start = share * params.share;
    let end = select(0u, min(params.inner, start + params.share), g < params.groups);
    let block = block_of(g / params.shares, 4u * DOWN, 4u * ACROSS);
    let index = index_of(block.z);
    let first_a = first_of_a(index);
    let first_b = first_of_b(index);
    var sum_0 = vec4<Number>();
    var sum_1 = vec4<Number>();
    var sum_2 = vec4<Number>();
    var sum_3 = vec4<Number>();
    for (var k = start; k < end; k += DEPTH) {
        // Neighbouring invocations load neighbours in memory.
        for (var i = number; i < DEPTH * DOWN; i += ACROSS * DOWN) {
            let at = select(vec2<u32>(i / DOWN, i % DOWN), vec2<u32>(i % DEPTH, i / DEPTH), A_INNER == 1u);
            left[at.x * (DOWN + 1u) + at.y] = four_of_a(first_a, block.x + 4u * at.y, k + at.x, end);
        }
        for (var i = number; i < DEPTH * ACROSS; i += ACROSS * DOWN) {
            let at = select(vec2<u32>(i / ACROSS, i % ACROSS), vec2<u32>(i % DEPTH, i / DEPTH), B_INNER == 1u);
            right[at.x * (ACROSS + 1u) + at.y] = four_of_b(first_b, block.y + 4u * at.y, k + at.x, end);
        }
        workgroupBarrier();
        for (var j = 0u; j < DEPTH; j += 4u) {
            let l = j * (DOWN + 1u) + lane.y;
            let r = j * (ACROSS + 1u) + lane.x;
            let left_0 = left[l];
            let left_1 = left[l + DOWN + 1u];
            let left_2 = left[l + 2u * (DOWN + 1u)];
            let left_3 = left[l + 3u * (DOWN + 1u)];
            let right_0 = right[r];
            let right_1 = right[r + ACROSS + 1u];
            let right_2 = right[r + 2u * (ACROSS + 1u)];
            let right_3 = right[r + 3u * (ACROSS + 1u)];
            sum_0 += left_0.x * right_0 + left_1.x * right_1 + left_2.x * right_2 + left_3.x * right_3;
            sum_1 += left_0.y * right_0 + left_1.y * right_1 + left_2.y * right_2 + left_3.y * right_3;
            sum_2 += left_0.z * right_0 + left_1.z * right_1 + left_2.z * right_2 + left_3.z * right_3;
            sum_3 += left_0.w * right_0 + left_1.w * right_1 + left_2.w * right_2 + left_3.w * right_3;
        }
        workgroupBarrier();
    }
    if g < params.groups {
        let row = block.x + 4u * lane.y;
        let column = block.y + 4u * lane.x;
        write_tile(sum_0, sum_1, sum_2, sum_3, row, column, first_of_out(index, share));
    }
}

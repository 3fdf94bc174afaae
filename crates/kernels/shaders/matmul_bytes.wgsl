// matmul_bytes: out = activation(alpha * a * b + beta * out + bias) for bytes with a sign, in tiles of the result
//
// Shape      as matmul_tiles; a, b: bytes, four in a word, the first in the lowest bits; strides and places count bytes
// Dispatch   as matmul_tiles
// Workgroup  [ACROSS, DOWN, 1]
// Barriers   two for each 4 DEPTH inner indices
// Tolerance  exact, wrapping
//
// A word in the memory of the workgroup has the bytes of four neighbouring inner indices, so that one instruction adds four
// products. Otherwise as matmul_tiles.
//#use matrix_block
//#use matrix_params
//#use matrix_tile
override ACROSS: u32 = 16;
override DOWN: u32 = 16;
override DEPTH: u32 = 16;
override A_INNER: u32 = 1;                  // 1: neighbours in the memory of a are those along the inner index
override B_INNER: u32 = 0;
override BIASED: u32 = 0;                   // 1: a bias is added
alias Factor = u32;                         // four elements of a or b
alias Number = i32;
alias Product = i32;

var<workgroup> left: array<vec4<u32>, DEPTH * (DOWN + 1)>;
var<workgroup> right: array<vec4<u32>, DEPTH * (ACROSS + 1)>;

// Returns a byte of a, or zero.
fn byte_of_a(place: u32, is_inside: bool) -> u32 {
    var byte = 0u;
    if is_inside { byte = (a[place / 4u] >> (place % 4u * 8u)) & 0xFFu; }
    return byte;
}

fn byte_of_b(place: u32, is_inside: bool) -> u32 {
    var byte = 0u;
    if is_inside { byte = (b[place / 4u] >> (place % 4u * 8u)) & 0xFFu; }
    return byte;
}

// Returns the bytes of four inner indices of a row of a, with zeros beyond its end.
fn word_of_a(first: u32, row: u32, k: u32, end: u32) -> u32 {
    let place = first + row * params.a_row + k * params.a_inner;
    let stride = params.a_inner;
    var word = 0u;
    if row < params.rows {
        if stride == 1u && place % 4u == 0u && k + 4u <= end {
            word = a[place / 4u];
        } else {
            word = byte_of_a(place, k < end);
            word |= byte_of_a(place + stride, k + 1u < end) << 8u;
            word |= byte_of_a(place + 2u * stride, k + 2u < end) << 16u;
            word |= byte_of_a(place + 3u * stride, k + 3u < end) << 24u;
        }
    }
    return word;
}

// Returns the bytes of four inner indices of a column of b, with zeros beyond its end.
fn word_of_b(first: u32, column: u32, k: u32, end: u32) -> u32 {
    let place = first + k * params.b_inner + column * params.b_column;
    let stride = params.b_inner;
    var word = 0u;
    if column < params.columns {
        if stride == 1u && place % 4u == 0u && k + 4u <= end {
            word = b[place / 4u];
        } else {
            word = byte_of_b(place, k < end);
            word |= byte_of_b(place + stride, k + 1u < end) << 8u;
            word |= byte_of_b(place + 2u * stride, k + 2u < end) << 16u;
            word |= byte_of_b(place + 3u * stride, k + 3u < end) << 24u;
        }
    }
    return word;
}

// Returns the words of four rows of a.
fn four_of_a(first: u32, row: u32, k: u32, end: u32) -> vec4<u32> {
    return vec4<u32>(
        word_of_a(first, row, k, end),
        word_of_a(first, row + 1u, k, end),
        word_of_a(first, row + 2u, k, end),
        word_of_a(first, row + 3u, k, end),
    );
}

// Returns the words of four columns of b.
fn four_of_b(first: u32, column: u32, k: u32, end: u32) -> vec4<u32> {
    return vec4<u32>(
        word_of_b(first, column, k, end),
        word_of_b(first, column + 1u, k, end),
        word_of_b(first, column + 2u, k, end),
        word_of_b(first, column + 3u, k, end),
    );
}

// Returns the sums of the products of four bytes and four others.
fn products(word: u32, four: vec4<u32>) -> vec4<Number> {
    return vec4<Number>(
        dot4I8Packed(word, four.x),
        dot4I8Packed(word, four.y),
        dot4I8Packed(word, four.z),
        dot4I8Packed(word, four.w),
    );
}

@compute @workgroup_size(ACROSS, DOWN)
fn matmul_bytes(
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
    for (var k = start; k < end; k += 4u * DEPTH) {
        // Neighbouring invocations load neighbours in memory.
        for (var i = number; i < DEPTH * DOWN; i += ACROSS * DOWN) {
            let at = select(vec2<u32>(i / DOWN, i % DOWN), vec2<u32>(i % DEPTH, i / DEPTH), A_INNER == 1u);
            left[at.x * (DOWN + 1u) + at.y] = four_of_a(first_a, block.x + 4u * at.y, k + 4u * at.x, end);
        }
        for (var i = number; i < DEPTH * ACROSS; i += ACROSS * DOWN) {
            let at = select(vec2<u32>(i / ACROSS, i % ACROSS), vec2<u32>(i % DEPTH, i / DEPTH), B_INNER == 1u);
            right[at.x * (ACROSS + 1u) + at.y] = four_of_b(first_b, block.y + 4u * at.y, k + 4u * at.x, end);
        }
        workgroupBarrier();
        for (var j = 0u; j < DEPTH; j++) {
            let words = left[j * (DOWN + 1u) + lane.y];
            let others = right[j * (ACROSS + 1u) + lane.x];
            sum_0 += products(words.x, others);
            sum_1 += products(words.y, others);
            sum_2 += products(words.z, others);
            sum_3 += products(words.w, others);
        }
        workgroupBarrier();
    }
    if g < params.groups {
        let row = block.x + 4u * lane.y;
        let column = block.y + 4u * lane.x;
        write_tile(sum_0, sum_1, sum_2, sum_3, row, column, first_of_out(index, share));
    }
}

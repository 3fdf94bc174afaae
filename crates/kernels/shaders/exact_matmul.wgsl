// exact_matmul: out = a * b, each result rounded once; or the products of a share are added to the sums of the results
//
// Shape      a, b: bits of f32, as matmul_tiles; out: if STAGE is 0, rows x columns elements of each matrix, bits of f32; if it is
//            1, OF_SUM words for each of them, as exact_sum describes; share: at most 8,192
// Dispatch   one workgroup per share of the inner index, for each tile of DOWN x ACROSS results; groups of them, in one or two
//            dimensions; if STAGE is 0, there is one share
// Workgroup  [ACROSS, DOWN, 1]
// Barriers   four for each 32 inner indices
// Tolerance  exact: the result does not depend on the order of the products
//
// A line is 32 elements of a row of a, or of a column of b. The last digit of its largest element counts 2^12 units, so most of
// the elements are integers of up to 36 bits. Each is divided into three of 12 bits, whose products are below 2^24: an i32 holds
// the sum of 96 of them. An element that is smaller than the unit, or not finite, has integers of 0, and its products are added
// one by one.
//#use exact_carries
//#use exact_memory
//#use exact_product
//#use exact_rounding
//#use exact_sum
//#use exact_words
//#use matrix_block
override ACROSS: u32 = 16;
override DOWN: u32 = 16;
override STAGE: u32 = 0;                    // 0: the results, 1: their sums
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
    out_0: u32,
    out_1: u32,
    out_2: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read> b: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<atomic<u32>>;

// Inner indices of a line: a word has a bit for each.
const LENGTH: u32 = 32u;
// Bits of each integer.
const BITS: u32 = 12u;
const MASK: u32 = 0xFFFu;

// Four elements of each line in turn: their bits, then the lowest, the middle and the highest integers of all lines.
var<workgroup> integers: array<vec4<i32>, 24u * (DOWN + ACROSS)>;
// For each line, the place of its largest element, and the bits of the elements without integers.
var<workgroup> places: array<atomic<u32>, DOWN + ACROSS>;
var<workgroup> others: array<atomic<u32>, DOWN + ACROSS>;

// The tile of a workgroup: its first row and column, the first elements of both matrices, and the end of the inner indices.
struct Tile { row: u32, column: u32, first_a: u32, first_b: u32, end: u32 }

fn place_of_a(tile: Tile, row: u32, k: u32) -> u32 { return tile.first_a + row * params.a_row + k * params.a_inner; }

fn place_of_b(tile: Tile, column: u32, k: u32) -> u32 {
    return tile.first_b + k * params.b_inner + column * params.b_column;
}

// Returns the bits of up to four elements of a line from the inner index k on, and zeros.
fn four_of(tile: Tile, line: u32, k: u32) -> vec4<u32> {
    var four = vec4<u32>(0u);
    if line < DOWN {
        let row = tile.row + line;
        let place = place_of_a(tile, row, k);
        let end = select(0u, tile.end, row < params.rows);
        if k < end { four.x = a[place]; }
        if k + 1u < end { four.y = a[place + params.a_inner]; }
        if k + 2u < end { four.z = a[place + 2u * params.a_inner]; }
        if k + 3u < end { four.w = a[place + 3u * params.a_inner]; }
    } else {
        let column = tile.column + line - DOWN;
        let place = place_of_b(tile, column, k);
        let end = select(0u, tile.end, column < params.columns);
        if k < end { four.x = b[place]; }
        if k + 1u < end { four.y = b[place + params.b_inner]; }
        if k + 2u < end { four.z = b[place + 2u * params.b_inner]; }
        if k + 3u < end { four.w = b[place + 3u * params.b_inner]; }
    }
    return four;
}

// Returns the powers of two of the last digits, as place_of.
fn places_of(sizes: vec4<u32>) -> vec4<u32> { return max(sizes >> vec4<u32>(23u), vec4<u32>(1u)) - vec4<u32>(1u); }

// Loads the elements of all lines from the inner index k on, and finds the largest one of each.
fn load_lines(tile: Tile, lane: u32, k: u32) {
    let lines = DOWN + ACROSS;
    for (var i = lane; i < 8u * lines; i += ACROSS * DOWN) {
        let four = four_of(tile, i % lines, k + 4u * (i / lines));
        integers[i] = vec4<i32>(four);
        let sizes = four & vec4<u32>(~SIGN);
        let finite = select(places_of(sizes), vec4<u32>(0u), sizes >= vec4<u32>(INFINITY));
        atomicMax(&places[i % lines], max(max(finite.x, finite.y), max(finite.z, finite.w)));
    }
}

// Returns the place of the largest element of a line. The units of two lines together are not below the smallest product.
fn top_of(line: u32) -> u32 { return max(atomicLoad(&places[line]), BITS); }

// Replaces the bits of all elements by integers.
fn divide_lines(lane: u32) {
    let lines = DOWN + ACROSS;
    for (var i = lane; i < 8u * lines; i += ACROSS * DOWN) {
        let line = i % lines;
        let top = top_of(line);
        let four = vec4<u32>(integers[i]);
        let sizes = four & vec4<u32>(~SIGN);
        let orders = places_of(sizes) + vec4<u32>(BITS);
        let is_small = (sizes != vec4<u32>(0u)) & (orders < vec4<u32>(top));
        let is_other = is_small | (sizes >= vec4<u32>(INFINITY));
        if any(is_other) {
            let bits = select(vec4<u32>(0u), vec4<u32>(1u, 2u, 4u, 8u), is_other);
            atomicOr(&others[line], (bits.x | bits.y | bits.z | bits.w) << (4u * (i / lines)));
        }
        let first = select(vec4<u32>(FRACTION + 1u), vec4<u32>(0u), sizes <= vec4<u32>(FRACTION));
        let number = select((sizes & vec4<u32>(FRACTION)) | first, vec4<u32>(0u), is_other);
        let shift = min(max(orders, vec4<u32>(top)) - vec4<u32>(top), vec4<u32>(BITS));
        let sign = select(vec4<i32>(1), vec4<i32>(-1), four != sizes);
        integers[i] = sign * vec4<i32>((number << shift) & vec4<u32>(MASK));
        integers[i + 8u * lines] = sign * vec4<i32>((number >> (vec4<u32>(BITS) - shift)) & vec4<u32>(MASK));
        integers[i + 16u * lines] = sign * vec4<i32>(number >> (vec4<u32>(2u * BITS) - shift));
    }
}

fn add_total(four: vec4<i32>, bit: u32) {
    let total = (four.x + four.y) + (four.z + four.w);
    add_part(u32(abs(total)), bit, total < 0);
}

// Adds the products of the integers of two lines.
fn add_lines(of_a: u32, of_b: u32) {
    let lines = DOWN + ACROSS;
    var sum_0 = vec4<i32>(0);
    var sum_1 = vec4<i32>(0);
    var sum_2 = vec4<i32>(0);
    var sum_3 = vec4<i32>(0);
    var sum_4 = vec4<i32>(0);
    for (var i = 0u; i < 8u * lines; i += lines) {
        let a_0 = integers[i + of_a];
        let a_1 = integers[i + of_a + 8u * lines];
        let a_2 = integers[i + of_a + 16u * lines];
        let b_0 = integers[i + of_b];
        let b_1 = integers[i + of_b + 8u * lines];
        let b_2 = integers[i + of_b + 16u * lines];
        sum_0 += a_0 * b_0;
        sum_1 += a_0 * b_1 + a_1 * b_0;
        sum_2 += a_0 * b_2 + a_1 * b_1 + a_2 * b_0;
        sum_3 += a_1 * b_2 + a_2 * b_1;
        sum_4 += a_2 * b_2;
    }
    let bit = top_of(of_a) + top_of(of_b) - 2u * BITS;
    add_total(sum_0, bit);
    add_total(sum_1, bit + BITS);
    add_total(sum_2, bit + 2u * BITS);
    add_total(sum_3, bit + 3u * BITS);
    add_total(sum_4, bit + 4u * BITS);
}

@compute @workgroup_size(ACROSS, DOWN)
fn exact_matmul(
    @builtin(local_invocation_id) lane: vec3<u32>,
    @builtin(local_invocation_index) number: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let g = group.y * groups.x + group.x;
    let start = g % params.shares * params.share;
    let end = select(0u, min(params.inner, start + params.share), g < params.groups);
    let block = block_of(g / params.shares, DOWN, ACROSS);
    let index = index_of(block.z);
    let first_a = params.a_first + distance_of(index, params.a_0, params.a_1, params.a_2);
    let first_b = params.b_first + distance_of(index, params.b_0, params.b_1, params.b_2);
    let tile = Tile(block.x, block.y, first_a, first_b, end);
    let row = tile.row + lane.y;
    let column = tile.column + lane.x;
    let is_result = g < params.groups && row < params.rows && column < params.columns;
    for (var k = start; k < end; k += LENGTH) {
        for (var line = number; line < DOWN + ACROSS; line += ACROSS * DOWN) {
            atomicStore(&places[line], 0u);
            atomicStore(&others[line], 0u);
        }
        workgroupBarrier();
        load_lines(tile, number, k);
        workgroupBarrier();
        divide_lines(number);
        workgroupBarrier();
        add_lines(lane.y, DOWN + lane.x);
        var left = atomicLoad(&others[lane.y]) | atomicLoad(&others[DOWN + lane.x]);
        while is_result && left != 0u {
            let i = k + firstTrailingBit(left);
            left &= left - 1u;
            add_product(a[place_of_a(tile, row, i)], b[place_of_b(tile, column, i)]);
        }
        workgroupBarrier();
    }
    if is_result {
        let first = distance_of(index, params.out_0, params.out_1, params.out_2);
        let place = first + row * params.out_row + column * params.out_column;
        take_digits();
        if STAGE == 0u { atomicStore(&out[place], rounded_sum()); } else { add_to_memory(place); }
    }
}

// jacobi: values = the eigenvalues of each symmetric matrix of a in ascending order, and vectors = the eigenvectors as columns
//
// Shape      a: a stack of matrices of n rows and columns, with strides, of which only the lower triangles are read; values: n
//            elements for each matrix; vectors: matrices of n rows and columns, if VECTORS is 1; info: one element for each
//            matrix, 1 if it has an element that is not finite, or if the sweeps do not suffice, and else 0; work: n * n
//            elements for each matrix of the launch, if IN_GROUP is 0 and VECTORS is 1
// Dispatch   as lu
// Workgroup  [WIDTH, MATRICES, 1]
// Barriers   5, and 2 n + 4 for each sweep, and n for `work`
// Tolerance  the difference of a v and v w is at most 8 n u times the norm of a in the tests, for random matrices, and that of the
//            products of the columns of v from 0 and 1 is at most 8 n u; a matrix with info 1 has NaNs
//
// In a round, each row has one partner, and a rotation of both makes the element of the two vanish. A sweep has a round for
// each pair of rows. Rotations of different pairs change different elements: one invocation computes a block of four, of
// two pairs. The sweeps end with one that finds no element to turn. The numbers are scaled to be close to 1.
//#use matrix_index
//#use matrix_work
//#use number_keys
//#use power_of_two
override WIDTH: u32 = 16;
override MATRICES: u32 = 1;
override SIDE: u32 = 16;                    // most rows of a matrix, an even number
override IN_GROUP: u32 = 1;                 // 1: the vectors are in the memory of the workgroup
override VECTORS: u32 = 1;                  // 1: computes the vectors
struct Params {
    first_task: u32,
    end_task: u32,
    n: u32,
    nan: f32,
    count_1: u32,
    count_2: u32,
    a_first: u32,
    a_row: u32,
    a_column: u32,
    a_0: u32,
    a_1: u32,
    a_2: u32,
    vectors_first: u32,
    vectors_row: u32,
    vectors_column: u32,
    vectors_0: u32,
    vectors_1: u32,
    vectors_2: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read_write> work: array<f32>;
@group(0) @binding(3) var<storage, read_write> values: array<f32>;
@group(0) @binding(4) var<storage, read_write> vectors: array<f32>;
@group(0) @binding(5) var<storage, read_write> info: array<u32>;

// Most sweeps: nine suffice for random matrices of 64 rows, and the loops of an invocation have fewer than 2^16 iterations.
const SWEEPS: u32 = 16u;
// Elements of this magnitude are left as they are, and so are those of this part of an element on the diagonal in their row
// or column: the rounding of the diagonal would turn rows of equal eigenvalues in many more sweeps. The largest element of
// the matrix is at least 1.
const SMALL: f32 = 9.313226e-10;
const PART: f32 = 1.1920929e-7;
const INFINITY: u32 = 0x7F800000u;

// Rows of the lower triangles, one after the other. With an odd n, there is one more row, of zeros.
var<workgroup> triangles: array<f32, MATRICES * SIDE * (SIDE + 1) / 2>;
// Pairs of the round, with the sines of their rotations, and the tangents of half the angles.
var<workgroup> pairs: array<vec2<u32>, MATRICES * SIDE / 2>;
var<workgroup> sines: array<f32, MATRICES * SIDE / 2>;
var<workgroup> tangents: array<f32, MATRICES * SIDE / 2>;
// A number of each invocation, and the sum of those of all.
var<workgroup> notes: array<u32, MATRICES * WIDTH>;
var<workgroup> sum_of_notes: u32;
var<private> first_row: u32;
var<private> first_pair: u32;
var<private> first_note: u32;

fn place_of(row: u32, column: u32) -> u32 {
    let low = min(row, column);
    let high = max(row, column);
    return first_row + high * (high + 1u) / 2u + low;
}

// Returns a pair of a round, the smaller number first. In `count` - 1 rounds, each of the numbers below `count`, which is
// even, has each other number as its partner once.
fn pair_of(round: u32, number: u32, count: u32) -> vec2<u32> {
    let last = count - 1u;
    let one = (round + number) % last;
    let other = select((round + last - number) % last, last, number == 0u);
    return vec2<u32>(min(one, other), max(one, other));
}

// Returns two numbers after a rotation.
fn rotated(x: vec2<f32>, number: u32) -> vec2<f32> {
    let sine = sines[first_pair + number];
    let tangent = tangents[first_pair + number];
    return vec2<f32>(x.x - sine * (x.y + tangent * x.x), x.y + sine * (x.x - tangent * x.y));
}

// Makes the rotation of a pair, and rotates the elements of its two rows and columns. Returns 1 if there is a rotation.
fn rotate_pair(number: u32, pair: vec2<u32>) -> u32 {
    let beside = place_of(pair.y, pair.x);
    let low = place_of(pair.x, pair.x);
    let high = place_of(pair.y, pair.y);
    let x = triangles[beside];
    let size = max(abs(triangles[low]), abs(triangles[high]));
    let is_turned = abs(x) > max(SMALL, PART * size);
    var sine = 0.0;
    var half_tangent = 0.0;
    if is_turned {
        let cotangent = (triangles[high] - triangles[low]) / (2.0 * x);
        let smaller = 1.0 / (abs(cotangent) + sqrt(cotangent * cotangent + 1.0));
        let tangent = select(smaller, -smaller, cotangent < 0.0);
        let cosine = 1.0 / sqrt(tangent * tangent + 1.0);
        sine = tangent * cosine;
        half_tangent = sine / (1.0 + cosine);
        triangles[low] -= tangent * x;
        triangles[high] += tangent * x;
        triangles[beside] = 0.0;
    }
    pairs[first_pair + number] = pair;
    sines[first_pair + number] = sine;
    tangents[first_pair + number] = half_tangent;
    return select(0u, 1u, is_turned);
}

// Rotates the four elements that are in the rows of one pair and in the columns of another.
fn rotate_block(one: u32, other: u32) {
    let rows = pairs[first_pair + one];
    let columns = pairs[first_pair + other];
    let upper_left = place_of(rows.x, columns.x);
    let upper_right = place_of(rows.x, columns.y);
    let lower_left = place_of(rows.y, columns.x);
    let lower_right = place_of(rows.y, columns.y);
    let left = rotated(vec2<f32>(triangles[upper_left], triangles[lower_left]), one);
    let right = rotated(vec2<f32>(triangles[upper_right], triangles[lower_right]), one);
    let upper = rotated(vec2<f32>(left.x, right.x), other);
    let lower = rotated(vec2<f32>(left.y, right.y), other);
    triangles[upper_left] = upper.x;
    triangles[upper_right] = upper.y;
    triangles[lower_left] = lower.x;
    triangles[lower_right] = lower.y;
}

// Rotates the elements that are in the rows of two pairs.
fn rotate_blocks(lane: u32, count: u32) {
    let even = (count + 1u) / 2u * 2u;
    for (var i = lane; i < (even - 1u) * (even / 2u); i += WIDTH) {
        let two = pair_of(i / (even / 2u), i % (even / 2u), even);
        if two.y < count { rotate_block(two.x, two.y); }
    }
}

fn rotate_vectors(lane: u32, count: u32) {
    for (var i = lane; i < params.n * count; i += WIDTH) {
        let number = i % count;
        let row = i / count;
        if sines[first_pair + number] != 0.0 {
            let pair = pairs[first_pair + number];
            let x = rotated(vec2<f32>(element(row, pair.x), element(row, pair.y)), number);
            set_element(row, pair.x, x.x);
            set_element(row, pair.y, x.y);
        }
    }
}

// Returns the bits of the largest magnitude in the columns of an invocation.
fn size_of(lane: u32, first: u32) -> u32 {
    var size = 0u;
    for (var column = lane; column < params.n; column += WIDTH) {
        for (var row = column; row < params.n; row++) {
            let x = a[first + row * params.a_row + column * params.a_column];
            size = max(size, bitcast<u32>(x) & 0x7FFFFFFFu);
        }
    }
    return size;
}

// Returns the largest number that an invocation of the matrix has noted.
fn largest_note() -> u32 {
    var largest = 0u;
    for (var lane = 0u; lane < WIDTH; lane++) { largest = max(largest, notes[first_note + lane]); }
    return largest;
}

// Loads the columns of an invocation. If an element is not finite, all are zeros.
fn load_matrix(lane: u32, first: u32, size: u32) {
    let factor = power(scale_of(size));
    let even = (params.n + 1u) / 2u * 2u;
    for (var column = lane; column < even; column += WIDTH) {
        for (var row = column; row < even; row++) {
            var x = 0.0;
            if row < params.n && size < INFINITY {
                x = a[first + row * params.a_row + column * params.a_column] * factor;
            }
            triangles[place_of(row, column)] = x;
        }
        if VECTORS == 1u && column < params.n {
            for (var row = 0u; row < params.n; row++) { set_element(row, column, select(0.0, 1.0, row == column)); }
        }
    }
}

fn key_of(row: u32) -> u32 { return number_key(bitcast<u32>(triangles[place_of(row, row)]), true); }

// Returns the number of eigenvalues that are smaller than that of a row, or equal and before it.
fn rank_of(row: u32) -> u32 {
    let key = key_of(row);
    var rank = 0u;
    for (var other = 0u; other < params.n; other++) {
        let key_of_other = key_of(other);
        if key_of_other < key || (key_of_other == key && other < row) { rank += 1u; }
    }
    return rank;
}

fn write_results(matrix: u32, lane: u32, first: u32, size: u32) {
    let failed = size >= INFINITY || largest_note() > 0u;
    let factor = power(254u - scale_of(size));
    for (var column = lane; column < params.n; column += WIDTH) {
        let rank = rank_of(column);
        let value = triangles[place_of(column, column)] * factor;
        values[matrix * params.n + rank] = select(value, params.nan, failed);
        if VECTORS == 1u {
            let place = first + rank * params.vectors_column;
            for (var row = 0u; row < params.n; row++) {
                vectors[place + row * params.vectors_row] = select(element(row, column), params.nan, failed);
            }
        }
    }
    if lane == 0u { info[matrix] = select(0u, 1u, failed); }
}

// Adds the numbers of all invocations of the workgroup.
fn add_notes() {
    var sum = 0u;
    for (var i = 0u; i < MATRICES * WIDTH; i++) { sum += notes[i]; }
    sum_of_notes = sum;
}

@compute @workgroup_size(WIDTH, MATRICES)
fn jacobi(
    @builtin(local_invocation_id) id: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let number = (group.y * groups.x + group.x) * MATRICES + id.y;
    let matrix = params.first_task + number;
    let is_inside = matrix < params.end_task;
    let index = index_of(matrix);
    let first = params.a_first + distance_of(index, params.a_0, params.a_1, params.a_2);
    let count = (params.n + 1u) / 2u;
    begin_matrix(id.y, number, params.n, params.n);
    first_row = id.y * (SIDE * (SIDE + 1u) / 2u);
    first_pair = id.y * (SIDE / 2u);
    first_note = id.y * WIDTH;
    var own_size = 0u;
    if is_inside { own_size = size_of(id.x, first); }
    notes[first_note + id.x] = own_size;
    workgroupBarrier();
    let size = largest_note();
    if is_inside { load_matrix(id.x, first, size); }
    work_barrier();
    for (var sweep = 0u; sweep < SWEEPS; sweep++) {
        var turns = 0u;
        for (var round = 0u; round + 1u < 2u * count; round++) {
            if is_inside {
                for (var pair = id.x; pair < count; pair += WIDTH) {
                    turns += rotate_pair(pair, pair_of(round, pair, 2u * count));
                }
            }
            workgroupBarrier();
            if is_inside {
                rotate_blocks(id.x, count);
                if VECTORS == 1u { rotate_vectors(id.x, count); }
            }
            work_barrier();
        }
        notes[first_note + id.x] = turns;
        workgroupBarrier();
        if id.x == 0u && id.y == 0u { add_notes(); }
        // A uniform load has a barrier before it, and one after it.
        let all = workgroupUniformLoad(&sum_of_notes);
        if all == 0u { break; }
    }
    if is_inside {
        let stack = distance_of(index, params.vectors_0, params.vectors_1, params.vectors_2);
        write_results(matrix, id.x, params.vectors_first + stack, size);
    }
}

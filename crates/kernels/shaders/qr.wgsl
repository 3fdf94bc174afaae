// qr: q = orthonormal columns and r = an upper triangle, with q r = a for each matrix of a
//
// Shape      a: a stack of matrices of `rows` rows and `columns` columns, with strides; q: `rows` rows and `steps` columns; r: `steps`
//            rows and `columns` columns; steps is the smaller number of rows and columns; work: rows * columns elements for
//            each matrix of the launch, if IN_GROUP is 0
// Dispatch   as lu
// Workgroup  [WIDTH, MATRICES, 1]
// Barriers   steps + 1, and as many for `work`
// Tolerance  the difference of the product and a is at most 8 n u times the norm of a in the tests, and that of the products of the
//            columns of q from 0 and 1 is at most 8 n u, with the larger number n of rows and columns
//
// Step k reflects the columns so that column k has zeros below the diagonal. The WIDTH invocations of a matrix divide the
// columns. The one with column k makes the vector of the reflection, v, in that column, at the end of the step before.
// Each column is scaled so that the squares of its elements neither overflow nor vanish.
//#use matrix_index
//#use matrix_work
//#use power_of_two
override WIDTH: u32 = 16;
override MATRICES: u32 = 1;
override SIDE: u32 = 16;                    // most rows and columns of a matrix
override IN_GROUP: u32 = 1;                 // 1: the elements are in the memory of the workgroup
struct Params {
    first_task: u32,
    end_task: u32,
    rows: u32,
    columns: u32,
    steps: u32,
    count_1: u32,
    count_2: u32,
    a_first: u32,
    a_row: u32,
    a_column: u32,
    a_0: u32,
    a_1: u32,
    a_2: u32,
    q_first: u32,
    q_row: u32,
    q_column: u32,
    q_0: u32,
    q_1: u32,
    q_2: u32,
    r_first: u32,
    r_row: u32,
    r_column: u32,
    r_0: u32,
    r_1: u32,
    r_2: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read_write> work: array<f32>;
@group(0) @binding(3) var<storage, read_write> q: array<f32>;
@group(0) @binding(4) var<storage, read_write> r: array<f32>;

// Bits of 2^-100: a column whose squares below the diagonal have a smaller sum is not reflected.
const LEAST: u32 = 0x0D800000u;

// Elements of the diagonal of r, and halves of the squared lengths of the vectors, or 0 without a reflection.
var<workgroup> heads: array<f32, MATRICES * SIDE>;
var<workgroup> halves: array<f32, MATRICES * SIDE>;
// Exponents of the factors of the columns.
var<workgroup> scales: array<u32, MATRICES * SIDE>;
var<private> first_head: u32;

// Makes the vector that reflects column k, from the diagonal on.
fn make_vector(k: u32) {
    var tail = 0.0;
    for (var row = k + 1u; row < params.rows; row++) {
        let x = element(row, k);
        tail += x * x;
    }
    let x = element(k, k);
    var head = x;
    var half = 0.0;
    // The sum of squares has no sign, and a NaN is larger than the bits of the least number.
    if (bitcast<u32>(tail) & 0x7FFFFFFFu) >= LEAST {
        let length = sqrt(x * x + tail);
        head = select(-length, length, x < 0.0);
        let v = x - head;
        half = 0.5 * (v * v + tail);
        set_element(k, k, v);
    }
    heads[first_head + k] = head;
    halves[first_head + k] = half;
}

fn is_reflected(k: u32) -> bool { return (bitcast<u32>(halves[first_head + k]) & 0x7FFFFFFFu) > 0u; }

// Loads the columns of an invocation from the matrix that begins at an element of a.
fn load_matrix(lane: u32, first: u32) {
    for (var column = lane; column < params.columns; column += WIDTH) {
        let place = first + column * params.a_column;
        var size = 0u;
        for (var row = 0u; row < params.rows; row++) {
            size = max(size, bitcast<u32>(a[place + row * params.a_row]) & 0x7FFFFFFFu);
        }
        let scale = scale_of(size);
        scales[first_head + column] = scale;
        for (var row = 0u; row < params.rows; row++) {
            set_element(row, column, a[place + row * params.a_row] * power(scale));
        }
        if column == 0u && params.steps > 0u { make_vector(column); }
    }
}

// Reflects the columns of an invocation in step k.
fn reflect(k: u32, lane: u32) {
    let half = halves[first_head + k];
    for (var column = lane; column < params.columns; column += WIDTH) {
        if column > k && is_reflected(k) {
            var sum = 0.0;
            for (var row = k; row < params.rows; row++) { sum += element(row, k) * element(row, column); }
            let factor = sum / half;
            for (var row = k; row < params.rows; row++) {
                set_element(row, column, element(row, column) - factor * element(row, k));
            }
        }
        if column == k + 1u && column < params.steps { make_vector(column); }
    }
}

fn write_r(lane: u32, first: u32) {
    for (var column = lane; column < params.columns; column += WIDTH) {
        let unscaled = power(254u - scales[first_head + column]);
        for (var row = 0u; row < params.steps; row++) {
            var x = 0.0;
            if row < column { x = element(row, column); }
            if row == column { x = heads[first_head + row]; }
            r[first + row * params.r_row + column * params.r_column] = x * unscaled;
        }
    }
}

// Reflects columns with a one on the diagonal, in the opposite order. Later steps do not change them.
fn write_q(lane: u32, first: u32) {
    for (var column = lane; column < params.steps; column += WIDTH) {
        let place = first + column * params.q_column;
        for (var row = 0u; row < params.rows; row++) {
            q[place + row * params.q_row] = select(0.0, 1.0, row == column);
        }
        for (var end = column + 1u; end > 0u; end--) {
            let k = end - 1u;
            if is_reflected(k) {
                var sum = 0.0;
                for (var row = k; row < params.rows; row++) { sum += element(row, k) * q[place + row * params.q_row]; }
                let factor = sum / halves[first_head + k];
                for (var row = k; row < params.rows; row++) { q[place + row * params.q_row] -= factor * element(row, k); }
            }
        }
    }
}

@compute @workgroup_size(WIDTH, MATRICES)
fn qr(
    @builtin(local_invocation_id) id: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let number = (group.y * groups.x + group.x) * MATRICES + id.y;
    let matrix = params.first_task + number;
    let is_inside = matrix < params.end_task;
    let index = index_of(matrix);
    begin_matrix(id.y, number, params.rows, params.columns);
    first_head = id.y * SIDE;
    if is_inside { load_matrix(id.x, params.a_first + distance_of(index, params.a_0, params.a_1, params.a_2)); }
    work_barrier();
    for (var k = 0u; k < params.steps; k++) {
        if is_inside { reflect(k, id.x); }
        work_barrier();
    }
    if is_inside {
        write_r(id.x, params.r_first + distance_of(index, params.r_0, params.r_1, params.r_2));
        write_q(id.x, params.q_first + distance_of(index, params.q_0, params.q_1, params.q_2));
    }
}

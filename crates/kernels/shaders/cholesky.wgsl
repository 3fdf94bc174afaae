// cholesky: out = the lower triangle l of each matrix of a, with a = l times l with rows and columns exchanged
//
// Shape      a: a stack of matrices of n rows and columns, with strides, of which only the lower triangles are read; out: the same,
//            with zeros in the upper triangles; info: one element for each matrix, the number of the first diagonal element that
//            is not positive, counted from 1, or 0; work: as lu
// Dispatch   as lu
// Workgroup  [WIDTH, MATRICES, 1]
// Barriers   n + 1, and as many for `work`
// Tolerance  the difference of the product and a is at most 8 n u times the norm of a in the tests, for random matrices; a matrix
//            that is not positive definite has NaNs
//
// The WIDTH invocations of a matrix divide its columns. A step leaves its own column as it is, so that a barrier between
// steps suffices; the root of the diagonal element divides it at the end.
//#use matrix_index
//#use matrix_work
//#use quotient
override WIDTH: u32 = 16;
override MATRICES: u32 = 1;
override SIDE: u32 = 16;                    // most rows of a matrix
override IN_GROUP: u32 = 1;                 // 1: the elements are in the memory of the workgroup
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
    out_first: u32,
    out_row: u32,
    out_column: u32,
    out_0: u32,
    out_1: u32,
    out_2: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read_write> work: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<storage, read_write> info: array<u32>;

const LEAST: u32 = 0x00800000u;             // the smallest normal number: a device may take smaller ones as 0
const INFINITY: u32 = 0x7F800000u;

// Number of the first diagonal element that is not positive, counted from 1, or 0.
var<private> failure: u32;

// Returns true for positive numbers, and for an infinity.
fn is_positive(x: f32) -> bool {
    let bits = bitcast<u32>(x);
    return bits >= LEAST && bits <= INFINITY;
}

fn load_matrix(lane: u32, first: u32) {
    for (var column = lane; column < params.n; column += WIDTH) {
        for (var row = column; row < params.n; row++) {
            set_element(row, column, a[first + row * params.a_row + column * params.a_column]);
        }
    }
}

// Subtracts the products of the elements of column k from the columns of an invocation.
fn eliminate(k: u32, lane: u32) {
    let pivot = element(k, k);
    if failure == 0u && !is_positive(pivot) { failure = k + 1u; }
    if failure > 0u { return; }
    for (var column = lane; column < params.n; column += WIDTH) {
        if column > k {
            let factor = quotient(element(column, k), pivot);
            for (var row = column; row < params.n; row++) {
                set_element(row, column, element(row, column) - element(row, k) * factor);
            }
        }
    }
}

fn write_factor(lane: u32, first: u32) {
    for (var column = lane; column < params.n; column += WIDTH) {
        var root = params.nan;
        if failure == 0u { root = sqrt(element(column, column)); }
        for (var row = 0u; row < params.n; row++) {
            var x = 0.0;
            if row == column { x = root; }
            if row > column { x = element(row, column) / root; }
            out[first + row * params.out_row + column * params.out_column] = x;
        }
    }
}

@compute @workgroup_size(WIDTH, MATRICES)
fn cholesky(
    @builtin(local_invocation_id) id: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let number = (group.y * groups.x + group.x) * MATRICES + id.y;
    let matrix = params.first_task + number;
    let is_inside = matrix < params.end_task;
    let index = index_of(matrix);
    begin_matrix(id.y, number, params.n, params.n);
    if is_inside { load_matrix(id.x, params.a_first + distance_of(index, params.a_0, params.a_1, params.a_2)); }
    work_barrier();
    for (var k = 0u; k < params.n; k++) {
        if is_inside { eliminate(k, id.x); }
        work_barrier();
    }
    if is_inside {
        write_factor(id.x, params.out_first + distance_of(index, params.out_0, params.out_1, params.out_2));
        if id.x == 0u { info[matrix] = failure; }
    }
}

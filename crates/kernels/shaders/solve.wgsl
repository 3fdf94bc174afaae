// solve: out = the solutions x of a x = b, for each matrix of a and each column of b, or with IDENTITY = 1 the inverse of a
//
// Shape      a: a stack of matrices of n rows and columns, with strides; b: n rows and `columns` columns, or any element with
//            IDENTITY = 1; out: the same; info: one element for each matrix, the number of the first step without a pivot,
//            counted from 1, or 0; work: n * n elements for each workgroup of the launch, if IN_GROUP is 0
// Dispatch   one workgroup for MATRICES tasks, from first_task up to end_task, in one or two dimensions; a task is a matrix with up
//            to `share` columns of b, and a matrix has `blocks` tasks, at least one
// Workgroup  [WIDTH, MATRICES, 1]
// Barriers   as lu
// Tolerance  the difference of a out and b is at most 8 n u times the norms of a and out in the tests, for random matrices; a
//            matrix without a pivot has NaNs
//
// The WIDTH invocations of a task divide the columns of a, and those of out, which only they read and write.
//#use elimination
//#use matrix_index
//#use substitution
override WIDTH: u32 = 16;
override MATRICES: u32 = 1;
override SIDE: u32 = 16;                    // most rows of a matrix
override IN_GROUP: u32 = 1;                 // 1: the elements are in the memory of the workgroup
override IDENTITY: u32 = 0;                 // 1: b is the matrix with ones on its diagonal
struct Params {
    first_task: u32,
    end_task: u32,
    n: u32,
    columns: u32,
    share: u32,
    blocks: u32,
    nan: f32,
    count_1: u32,
    count_2: u32,
    a_first: u32,
    a_row: u32,
    a_column: u32,
    a_0: u32,
    a_1: u32,
    a_2: u32,
    b_first: u32,
    b_row: u32,
    b_column: u32,
    b_0: u32,
    b_1: u32,
    b_2: u32,
    out_first: u32,
    out_row: u32,
    out_column: u32,
    out_0: u32,
    out_1: u32,
    out_2: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> work: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;
@group(0) @binding(5) var<storage, read_write> info: array<u32>;

fn upper(row: u32, column: u32) -> f32 { return element(row, column); }

fn diagonal(row: u32) -> f32 { return pivots[first_pivot + row]; }

// Writes the right side of a column. `place` is its first element in out, and `first` is that of the matrix in b.
fn load_right(column: u32, first: u32, place: u32) {
    for (var row = 0u; row < params.n; row++) {
        var x = select(0.0, 1.0, row == column);
        if IDENTITY == 0u { x = b[first + row * params.b_row + column * params.b_column]; }
        out[place + row * params.out_row] = x;
    }
}

// Does to a right side what step k does to a column of the matrix.
fn eliminate_right(k: u32, place: u32) {
    let of_k = place + k * params.out_row;
    let of_pivot = place + pivot_rows[first_pivot + k] * params.out_row;
    let x = out[of_pivot];
    out[of_pivot] = out[of_k];
    out[of_k] = x;
    for (var row = k + 1u; row < params.n; row++) { out[place + row * params.out_row] -= element(row, k) * x; }
}

@compute @workgroup_size(WIDTH, MATRICES)
fn solve(
    @builtin(local_invocation_id) id: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let number = (group.y * groups.x + group.x) * MATRICES + id.y;
    let task = params.first_task + number;
    let is_inside = task < params.end_task;
    let matrix = task / params.blocks;
    let begin = task % params.blocks * params.share;
    let first = begin + id.x;
    let end = select(0u, min(params.columns, begin + params.share), is_inside);
    let index = index_of(matrix);
    let first_b = params.b_first + distance_of(index, params.b_0, params.b_1, params.b_2);
    let first_out = params.out_first + distance_of(index, params.out_0, params.out_1, params.out_2);
    begin_elimination(id.y, number);
    if is_inside { load_matrix(id.x, params.a_first + distance_of(index, params.a_0, params.a_1, params.a_2)); }
    for (var column = first; column < end; column += WIDTH) {
        load_right(column, first_b, first_out + column * params.out_column);
    }
    work_barrier();
    for (var k = 0u; k < params.n; k++) {
        if is_inside { divide_column(k, id.x); }
        work_barrier();
        if is_inside { eliminate(k, id.x); }
        for (var column = first; column < end; column += WIDTH) {
            eliminate_right(k, first_out + column * params.out_column);
        }
        work_barrier();
    }
    if is_inside {
        let failure = first_failure();
        for (var column = first; column < end; column += WIDTH) {
            let place = first_out + column * params.out_column;
            if failure == 0u { substitute(place); } else { fail(place); }
        }
        if id.x == 0u && begin == 0u { info[matrix] = failure; }
    }
}

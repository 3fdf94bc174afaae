// lu: out = the triangular factors of each matrix of a, l below the diagonal and u from it on, and order = the order of its rows
//
// Shape      a: a stack of matrices of n rows and columns, with strides; out: the same; order: n elements for each matrix; info: one
//            element for each matrix, the number of the first row of u with a pivot of 0, counted from 1, or 0; work: n * n
//            elements for each matrix of the launch, if IN_GROUP is 0
// Dispatch   one workgroup for MATRICES matrices, from first_task up to end_task, in one or two dimensions
// Workgroup  [WIDTH, MATRICES, 1]
// Barriers   2 n + 1, and as many for `work`
// Tolerance  as elimination
//
// The WIDTH invocations of a matrix divide its columns.
//#use elimination
//#use matrix_index
override WIDTH: u32 = 16;
override MATRICES: u32 = 1;
override SIDE: u32 = 16;                    // most rows of a matrix
override IN_GROUP: u32 = 1;                 // 1: the elements are in the memory of the workgroup
struct Params {
    first_task: u32,
    end_task: u32,
    n: u32,
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
@group(0) @binding(4) var<storage, read_write> order: array<u32>;
@group(0) @binding(5) var<storage, read_write> info: array<u32>;

// Returns the row of a that is a row of the product.
fn source_of(row: u32) -> u32 {
    var source = row;
    for (var end = params.n; end > 0u; end--) {
        let k = end - 1u;
        let pivot_row = pivot_rows[first_pivot + k];
        if source == k {
            source = pivot_row;
        } else if source == pivot_row {
            source = k;
        }
    }
    return source;
}

fn write_factors(matrix: u32, lane: u32, first: u32) {
    for (var column = lane; column < params.n; column += WIDTH) {
        order[matrix * params.n + column] = source_of(column);
        for (var row = 0u; row < params.n; row++) {
            out[first + row * params.out_row + column * params.out_column] = element(row, column);
        }
    }
    if lane == 0u { info[matrix] = first_failure(); }
}

@compute @workgroup_size(WIDTH, MATRICES)
fn lu(
    @builtin(local_invocation_id) id: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let number = (group.y * groups.x + group.x) * MATRICES + id.y;
    let matrix = params.first_task + number;
    let is_inside = matrix < params.end_task;
    let index = index_of(matrix);
    begin_elimination(id.y, number);
    if is_inside { load_matrix(id.x, params.a_first + distance_of(index, params.a_0, params.a_1, params.a_2)); }
    work_barrier();
    for (var k = 0u; k < params.n; k++) {
        if is_inside { divide_column(k, id.x); }
        work_barrier();
        if is_inside {
            eliminate(k, id.x);
            for (var column = id.x; column < k; column += WIDTH) { exchanged(k, column); }
        }
        work_barrier();
    }
    if is_inside {
        write_factors(matrix, id.x, params.out_first + distance_of(index, params.out_0, params.out_1, params.out_2));
    }
}

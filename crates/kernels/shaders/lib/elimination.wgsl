// elimination: the triangular factors of the matrices of a workgroup, with rows exchanged for the largest pivots
//
// Shape      lane: the number of the invocation among the WIDTH of its matrix; k: a step, from 0 to n - 1; the shader around it
//            has `a`, the overrides of matrix_work and WIDTH, and params with n, a_row and a_column
// Dispatch   any
// Barriers   none: the shader around it has one after load_matrix, one after divide_column and one after eliminate
// Tolerance  the difference of the products and a is at most 8 n u times the norm of a in the tests, for random matrices
//
// After step k, row k has elements of u, and column k has elements of l below the diagonal. Only lu.wgsl exchanges those.
// The pivot of a step is the element with the largest magnitude; if it is 0 or below the smallest normal number, which a
// device may take as 0, the step subtracts nothing.
//#use matrix_work
//#use quotient

// Pivots of all steps, and their rows.
var<workgroup> pivots: array<f32, MATRICES * SIDE>;
var<workgroup> pivot_rows: array<u32, MATRICES * SIDE>;
var<private> first_pivot: u32;
// Bits of the largest magnitude of a column so far, and its row. The bits of a NaN are larger than those of numbers.
var<private> largest: u32;
var<private> largest_row: u32;

// Begins the matrix with number `slot` of the workgroup, and number `number` of the launch.
fn begin_elimination(slot: u32, number: u32) {
    begin_matrix(slot, number, params.n, params.n);
    first_pivot = slot * SIDE;
}

fn compare(row: u32, x: f32) {
    let size = bitcast<u32>(x) & 0x7FFFFFFFu;
    if size > largest {
        largest = size;
        largest_row = row;
    }
}

// Begins to compare elements from a row on.
fn begin_column(row: u32) {
    largest = 0u;
    largest_row = row;
}

fn keep_pivot(column: u32) {
    pivots[first_pivot + column] = element(largest_row, column);
    pivot_rows[first_pivot + column] = largest_row;
}

fn is_zero(x: f32) -> bool { return (bitcast<u32>(x) & 0x7F800000u) == 0u; }

// Loads the columns of an invocation from the matrix that begins at an element of a.
fn load_matrix(lane: u32, first: u32) {
    for (var column = lane; column < params.n; column += WIDTH) {
        begin_column(0u);
        for (var row = 0u; row < params.n; row++) {
            let x = a[first + row * params.a_row + column * params.a_column];
            set_element(row, column, x);
            compare(row, x);
        }
        if column == 0u { keep_pivot(column); }
    }
}

// Divides the elements of column k below the diagonal by the pivot.
fn divide_column(k: u32, lane: u32) {
    let pivot = pivots[first_pivot + k];
    let pivot_row = pivot_rows[first_pivot + k];
    for (var row = k + 1u + lane; row < params.n; row += WIDTH) {
        var factor = 0.0;
        if !is_zero(pivot) { factor = quotient(element(select(row, k, row == pivot_row), k), pivot); }
        set_element(row, k, factor);
    }
}

// Exchanges the element of a column in row k and that in the row of the pivot. Returns the one that is in row k now.
fn exchanged(k: u32, column: u32) -> f32 {
    let pivot_row = pivot_rows[first_pivot + k];
    let x = element(pivot_row, column);
    set_element(pivot_row, column, element(k, column));
    set_element(k, column, x);
    return x;
}

// Subtracts multiples of row k from the rows below it, in the columns of an invocation.
fn eliminate(k: u32, lane: u32) {
    for (var column = lane; column < params.n; column += WIDTH) {
        if column == k { set_element(k, k, pivots[first_pivot + k]); }
        if column > k {
            let upper = exchanged(k, column);
            begin_column(k + 1u);
            for (var row = k + 1u; row < params.n; row++) {
                let x = element(row, column) - element(row, k) * upper;
                set_element(row, column, x);
                compare(row, x);
            }
            if column == k + 1u { keep_pivot(column); }
        }
    }
}

// Returns the number of the first step without a pivot, counted from 1, or 0.
fn first_failure() -> u32 {
    for (var k = 0u; k < params.n; k++) { if is_zero(pivots[first_pivot + k]) { return k + 1u; } }
    return 0u;
}

// matrix_work: the elements of the matrices that a workgroup changes, in its memory or in `work`
//
// Shape      row, column: an element of the own matrix; the shader around it has `work` and the overrides MATRICES, SIDE and
//            IN_GROUP
// Dispatch   any
// Barriers   work_barrier: one, or two for elements in `work`
// Tolerance  exact
var<workgroup> elements: array<f32, MATRICES * SIDE * SIDE * IN_GROUP + 1>;
// Place of the first element of the own matrix, and distance of its rows.
var<private> matrix_first: u32;
var<private> row_length: u32;

// Begins a matrix of this shape: number `slot` of the workgroup, and number `number` of the launch.
fn begin_matrix(slot: u32, number: u32, rows: u32, columns: u32) {
    matrix_first = select(number * rows * columns, slot * SIDE * SIDE, IN_GROUP == 1u);
    row_length = select(columns, SIDE, IN_GROUP == 1u);
}

fn element(row: u32, column: u32) -> f32 {
    let place = matrix_first + row * row_length + column;
    if IN_GROUP == 1u { return elements[place]; }
    return work[place];
}

fn set_element(row: u32, column: u32, x: f32) {
    let place = matrix_first + row * row_length + column;
    if IN_GROUP == 1u { elements[place] = x; } else { work[place] = x; }
}

// Waits until all invocations of the workgroup see the elements that each has written.
fn work_barrier() {
    workgroupBarrier();
    if IN_GROUP == 0u { storageBarrier(); }
}

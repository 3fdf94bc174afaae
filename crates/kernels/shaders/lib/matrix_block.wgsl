// matrix_block: the results that a workgroup computes in a stack of products of matrices
//
// Shape      block: the number of a block of height x width results, counted row by row in each matrix, and matrix by matrix;
//            matrix: the number of a matrix; index: its indices along the three axes of the stack; step_0 to step_2: the
//            distances of neighbours along them
// Dispatch   any
// Barriers   none
// Tolerance  exact

// Returns the first row and the first column of a block, and its matrix.
fn block_of(block: u32, height: u32, width: u32) -> vec3<u32> {
    let across = (params.columns + width - 1u) / width;
    let down = (params.rows + height - 1u) / height;
    let line = block / across;
    return vec3<u32>(line % down * height, block % across * width, line / down);
}

// Returns the indices of a matrix in the stack.
fn index_of(matrix: u32) -> vec3<u32> {
    let line = matrix / params.count_2;
    return vec3<u32>(line / params.count_1, line % params.count_1, matrix % params.count_2);
}

// Returns the distance of a matrix from the first one.
fn distance_of(index: vec3<u32>, step_0: u32, step_1: u32, step_2: u32) -> u32 {
    return index.x * step_0 + index.y * step_1 + index.z * step_2;
}

// matrix_index: the place of a matrix in a stack
//
// Shape      matrix: the number of a matrix; index: its indices along the three axes of the stack; step_0 to step_2: the
//            distances of neighbours along them; the shader around it has params with the lengths count_1 and count_2 of the
//            last two axes
// Dispatch   any
// Barriers   none
// Tolerance  exact

// Returns the indices of a matrix in the stack.
fn index_of(matrix: u32) -> vec3<u32> {
    let line = matrix / params.count_2;
    return vec3<u32>(line / params.count_1, line % params.count_1, matrix % params.count_2);
}

// Returns the distance of a matrix from the first one.
fn distance_of(index: vec3<u32>, step_0: u32, step_1: u32, step_2: u32) -> u32 {
    return index.x * step_0 + index.y * step_1 + index.z * step_2;
}

// matrix_block: the results that a workgroup computes in a stack of products of matrices
//
// Shape      block: the number of a block of height x width results, counted row by row in each matrix, and matrix by matrix
// Dispatch   any
// Barriers   none
// Tolerance  exact
//#use matrix_index

// Returns the first row and the first column of a block, and its matrix.
fn block_of(block: u32, height: u32, width: u32) -> vec3<u32> {
    let across = (params.columns + width - 1u) / width;
    let down = (params.rows + height - 1u) / height;
    let line = block / across;
    return vec3<u32>(line % down * height, block % across * width, line / down);
}

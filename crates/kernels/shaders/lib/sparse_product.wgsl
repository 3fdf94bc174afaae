// sparse_product: the product of an entry of a sparse matrix and an element of x
//
// Shape      entry: below the number of entries; column: of x, below its width; the shader around it has the arrays `columns`,
//            `values` and `x`, the type T, and the params of sparse_rows
// Dispatch   any
// Barriers   none
// Tolerance  f32: one rounding; integers exactly, wrapping

// Returns the product; 0 if the entry is in no column of the matrix.
fn product(entry: u32, column: u32) -> T {
    let row = columns[entry];
    if row >= params.x_rows { return T(0); }
    return values[entry] * x[row * params.width + column];
}

// sparse_product: the product of an entry of a sparse matrix and an element of x
//
// Shape      columns, values: of the entries; x: the right factor; entry: below the number of entries; column: of x, below its
//            width; the shader around it has the type T and the snippet sparse_row
// Dispatch   any
// Barriers   none
// Tolerance  f32: one rounding; integers exactly, wrapping
@group(0) @binding(2) var<storage, read> columns: array<u32>;
@group(0) @binding(3) var<storage, read> values: array<T>;
@group(0) @binding(4) var<storage, read> x: array<T>;

// Returns the product; 0 if the entry is in no column of the matrix.
fn product(entry: u32, column: u32) -> T {
    let row = columns[entry];
    if row >= params.x_rows { return T(0); }
    return values[entry] * x[row * params.width + column];
}

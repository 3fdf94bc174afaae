// sparse_result: the first entries of a row of a sparse matrix, and the result of their sum
//
// Shape      row: below the number of rows; i: below the number of results; the shader around it has the array `out`, the type
//            T and the snippet sparse_row
// Dispatch   any
// Barriers   none
// Tolerance  f32: 3 u times the sum of the magnitudes of the terms, u = 2^-24; integers exactly, wrapping

// Returns the entries of a row before its first division: all of them if it is not divided.
fn first_entries(row: u32) -> vec2<u32> {
    let entries = entries_of(row);
    if is_divided(entries) { return vec2<u32>(entries.x, first_division(entries.x)); }
    return entries;
}

// Writes alpha * sum + beta * out. With beta = 0, out is not read.
fn write_result(i: u32, sum: T) {
    var result = params.alpha * sum;
    if params.beta != T(0) { result += params.beta * out[i]; }
    out[i] = result;
}

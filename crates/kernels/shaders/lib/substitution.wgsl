// substitution: the solution of the equations of an upper triangle, from the last row to the first
//
// Shape      first: the first element of a column of out, with the right side; the shader around it has `out`, params with n,
//            out_row and nan, and the functions `upper`, an element of the matrix, and `diagonal`, an element on its diagonal
// Dispatch   any
// Barriers   none
// Tolerance  the solution is that of a matrix whose elements differ by at most (n + 3) u of their magnitudes
//#use quotient

// Replaces the right side by the solution.
fn substitute(first: u32) {
    for (var end = params.n; end > 0u; end--) {
        let row = end - 1u;
        var x = out[first + row * params.out_row];
        for (var column = end; column < params.n; column++) {
            x -= upper(row, column) * out[first + column * params.out_row];
        }
        out[first + row * params.out_row] = quotient(x, diagonal(row));
    }
}

// Replaces the right side of equations without a solution by NaNs.
fn fail(first: u32) {
    for (var row = 0u; row < params.n; row++) { out[first + row * params.out_row] = params.nan; }
}

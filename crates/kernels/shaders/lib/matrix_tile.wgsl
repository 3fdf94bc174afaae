// matrix_tile: writes the results of an invocation that computes 4 x 4 neighbouring results of a product of matrices
//
// Shape      sum_0 to sum_3: the sums of the products of each row; row, column: the first result, as matrix_result
// Dispatch   any
// Barriers   none
// Tolerance  as matrix_result
//#use matrix_result
fn write_tile(
    sum_0: vec4<Number>,
    sum_1: vec4<Number>,
    sum_2: vec4<Number>,
    sum_3: vec4<Number>,
    row: u32,
    column: u32,
    first: u32,
) {
    for (var i = 0u; i < 4u; i++) {
        var sums = sum_0;
        if i == 1u { sums = sum_1; }
        if i == 2u { sums = sum_2; }
        if i == 3u { sums = sum_3; }
        let of_row = sums;
        for (var j = 0u; j < 4u; j++) { write_at(of_row[j], row + i, column + j, first); }
    }
}

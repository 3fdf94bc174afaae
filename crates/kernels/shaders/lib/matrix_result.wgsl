// matrix_result: writes a result of a product of matrices: activation(alpha * sum + beta * out + bias)
//
// Shape      sum: the sum of the products; row, column: the result in its matrix, which begins at element `first` of out; the
//            shader around it has the types Number and Product, and the override BIASED
// Dispatch   any
// Barriers   none
// Tolerance  f32: 4 u times the sum of the magnitudes of the terms, u = 2^-24, and that of the activation; integers exactly,
//            wrapping. With beta = 0, out is not read
//#use activation
fn write_at(sum: Number, row: u32, column: u32, first: u32) {
    if row < params.rows && column < params.columns {
        let place = first + row * params.out_row + column * params.out_column;
        var x = params.alpha * sum;
        if params.beta != Number(0) { x += params.beta * Number(out[place]); }
        if BIASED == 1u { x += Number(bias[row * params.bias_row + column * params.bias_column]); }
        out[place] = Product(activation(x));
    }
}

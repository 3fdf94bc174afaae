// exact_column_share: adds the terms of a share of a column, and writes the result or adds it to the sum of the column
//
// Shape      t: the number of a share; the shader around it has the parameters n, share, in_column and inner, `out` and the
//            override STAGE as exact_columns; it uses exact_range or exact_product_range, exact_rounding, exact_sum and
//            exact_words
// Dispatch   as exact_columns
// Barriers   none
// Tolerance  exact: the result does not depend on the order of the terms
//#use exact_finish
//#use exact_memory
fn add_column_share(t: u32) {
    let column = t / params.inner;
    let outer = column / params.in_column;
    let start = column % params.in_column * params.share;
    let first = (outer * params.n + start) * params.inner + t % params.inner;
    add_range(Places(first, params.inner), min(params.n, start + params.share) - start);
    if STAGE == 0u {
        atomicStore(&out[t], exact_result(params.n));
    } else {
        add_to_memory(outer * params.inner + t % params.inner);
    }
}

// exact_row_share: adds the terms of a share of a row in a workgroup, and writes the result or adds it to the sum of the row
//
// Shape      g: the number of a share; terms: the number of terms of a row; the shader around it has the parameters n, share,
//            in_row and shares, `out` and the override STAGE as exact_rows, and `add_terms`, by which all invocations add the
//            terms of a range; it uses exact_rounding, exact_sum and exact_words
// Dispatch   as exact_rows
// Barriers   one
// Tolerance  exact: the result does not depend on the order of the terms
//#use exact_finish
//#use exact_group
//#use exact_memory
fn add_row_share(g: u32, lane: u32, terms: u32) {
    let row = g / params.in_row * params.n;
    let start = g % params.in_row * params.share;
    let end = select(0u, row + min(params.n, start + params.share), g < params.shares);
    add_terms(row + start, end, lane);
    add_to_group();
    workgroupBarrier();
    if lane == 0u && g < params.shares {
        take_group();
        if STAGE == 0u { atomicStore(&out[g], exact_result(terms)); } else { add_to_memory(g / params.in_row); }
    }
}

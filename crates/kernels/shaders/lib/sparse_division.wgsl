// sparse_division: the row of a sparse matrix that a division is in
//
// Shape      entry: above 0; the shader around it has the snippet sparse_row
// Dispatch   any
// Barriers   none
// Tolerance  exact

// Returns the last row that begins before an entry. It is not below the number of rows if no row does, or if all rows end.
fn row_before(entry: u32) -> u32 {
    var low = 0u;
    var high = params.rows + 1u;
    while low < high {
        let middle = low + (high - low) / 2u;
        if offsets[middle] < entry { low = middle + 1u; } else { high = middle; }
    }
    return low - 1u;
}

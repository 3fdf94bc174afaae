// sparse_row: the parameters of a product of a sparse matrix, the entries of a row, and where a long row is divided
//
// Shape      row: below the number of rows; offsets: one element more than rows; the shader around it has the type T
// Dispatch   any
// Barriers   none
// Tolerance  exact
struct Params {
    results: u32,
    rows: u32,
    entries: u32,
    x_rows: u32,
    width: u32,
    share: u32,
    alpha: T,
    beta: T,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> offsets: array<u32>;

// Returns the first entry of a row, and the entry after its last one. An offset past the last entry counts as the end.
fn entries_of(row: u32) -> vec2<u32> {
    return min(vec2<u32>(offsets[row], offsets[row + 1u]), vec2<u32>(params.entries));
}

// Returns true if a row is divided: it has more entries than a share.
fn is_divided(entries: vec2<u32>) -> bool {
    return entries.y > entries.x + params.share;
}

// Returns the first entry after the first division of a row, which is before the next multiple of a share.
fn first_division(first: u32) -> u32 {
    return (first / params.share + 1u) * params.share;
}

// sparse_rows: out = alpha * a * x + beta * out for a sparse matrix, one result for each invocation
//
// Shape      a: rows, of which each has the entries from offsets[row] up to offsets[row + 1], with a column and a value each; x:
//            x_rows x width elements; out: rows x width results. A row with more entries than a share ends at its first division
// Dispatch   one invocation per result; invocations past results do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  f32: (k + 3) u times the sum of the magnitudes of the terms, k = the entries of a row, u = 2^-24; integers exactly,
//            wrapping
//#use linear
//#use sparse_product
//#use sparse_result
//#use sparse_row
override WORKGROUP: u32 = 256;
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
@group(0) @binding(5) var<storage, read_write> out: array<T>;

@compute @workgroup_size(WORKGROUP)
fn sparse_rows(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.results { return; }
    let entries = first_entries(i / params.width);
    let column = i % params.width;
    var sum = T(0);
    for (var entry = entries.x; entry < entries.y; entry++) { sum += product(entry, column); }
    write_result(i, sum);
}

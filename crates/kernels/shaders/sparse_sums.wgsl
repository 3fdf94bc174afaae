// sparse_sums: out = out + alpha * the partial sums of each divided row of a sparse matrix
//
// Shape      offsets, out: as sparse_rows; partials: as sparse_shares
// Dispatch   one invocation per partial sum; invocations past results do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  f32: d u times the sum of the magnitudes, d = the number of divisions of a row + 3, u = 2^-24; integers exactly,
//            wrapping
//#use linear
//#use sparse_division
//#use sparse_row
override WORKGROUP: u32 = 64;
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
@group(0) @binding(2) var<storage, read> partials: array<T>;
@group(0) @binding(3) var<storage, read_write> out: array<T>;

@compute @workgroup_size(WORKGROUP)
fn sparse_sums(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.results { return; }
    let start = (i / params.width + 1u) * params.share;
    let row = row_before(start);
    if row >= params.rows { return; }
    let entries = entries_of(row);
    // The invocation of the first division of a row adds the sums of all.
    if !is_divided(entries) || start != first_division(entries.x) { return; }
    var sum = T(0);
    var at = i;
    for (var entry = start; entry < entries.y; entry += params.share) {
        sum += partials[at];
        at += params.width;
    }
    out[row * params.width + i % params.width] += params.alpha * sum;
}

// sparse_shares: partials[i] = the sum of the products of the entries of a row after a division, up to the next one
//
// Shape      a, x: as sparse_rows; partials: width sums for each multiple of a share below the number of entries, 0 if no row is
//            divided there
// Dispatch   one workgroup per partial sum, in one or two dimensions; workgroups past results do nothing
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   as fold_lanes
// Tolerance  f32: d u times the sum of the magnitudes of the products, d = share / WORKGROUP + log2(WORKGROUP) + 2, u = 2^-24;
//            integers exactly, wrapping
//#use lanes
//#use sparse_division
//#use sparse_product
//#use sparse_row
override WORKGROUP: u32 = 64;
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
@group(0) @binding(5) var<storage, read_write> partials: array<T>;

alias S = T;

fn combined(a: S, b: S) -> S { return a + b; }

@compute @workgroup_size(WORKGROUP)
fn sparse_shares(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let i = group.y * groups.x + group.x;
    let start = (i / params.width + 1u) * params.share;
    let column = i % params.width;
    let row = row_before(start);
    var end = 0u;
    if i < params.results && row < params.rows {
        let entries = entries_of(row);
        if is_divided(entries) { end = min(entries.y, start + params.share); }
    }
    var sum = T(0);
    for (var entry = start + lane; entry < end; entry += WORKGROUP) { sum += product(entry, column); }
    let total = fold_lanes(lane, sum);
    if i < params.results && lane == 0u { partials[i] = total; }
}

// sparse_lanes: out = alpha * a * x + beta * out for a sparse matrix, one result for some invocations of a workgroup
//
// Shape      as sparse_rows
// Dispatch   one workgroup per ROWS results, in one or two dimensions; workgroups past results do nothing
// Workgroup  [LANES, ROWS, 1]; LANES is a power of two
// Barriers   log2(LANES)
// Tolerance  as sparse_rows
//
// The invocations of a result take every entry at a distance of LANES, and a tree adds their sums.
//#use sparse_product
//#use sparse_result
//#use sparse_row
override LANES: u32 = 16;
override ROWS: u32 = 4;
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
@group(0) @binding(5) var<storage, read_write> out: array<T>;

var<workgroup> parts: array<T, LANES * ROWS>;

@compute @workgroup_size(LANES, ROWS)
fn sparse_lanes(
    @builtin(local_invocation_id) id: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let i = (group.y * groups.x + group.x) * ROWS + id.y;
    let lane = id.y * LANES + id.x;
    var entries = vec2<u32>();
    if i < params.results { entries = first_entries(i / params.width); }
    let column = i % params.width;
    var sum = T(0);
    for (var entry = entries.x + id.x; entry < entries.y; entry += LANES) { sum += product(entry, column); }
    parts[lane] = sum;
    for (var distance = LANES / 2u; distance > 0u; distance /= 2u) {
        workgroupBarrier();
        if id.x < distance { parts[lane] += parts[lane + distance]; }
    }
    if i < params.results && id.x == 0u { write_result(i, parts[lane]); }
}

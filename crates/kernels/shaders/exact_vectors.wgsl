// exact_vectors: as exact_rows for elements alone; each load has 16 elements
//
// Shape      x: bits of f32, rows of n groups of 16 elements; share: a number of groups; n_elements: the number of elements of
//            a row; out, zero: as exact_rows
// Dispatch   as exact_rows
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   one
// Tolerance  exact: the result does not depend on the order of the elements
//#use exact_rounding
//#use exact_row_share
//#use exact_sum
//#use exact_window
//#use exact_words
override WORKGROUP: u32 = 4;
override STAGE: u32 = 0;                    // 0: the results of the rows, 1: the sums of the rows
override FINISH: u32 = 0;                   // 0: the sum itself, 1: divided by n_elements, 2: its square root
struct Params { n: u32, share: u32, in_row: u32, shares: u32, n_elements: u32, zero: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<mat4x4<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<atomic<u32>>;

// Adds a group of 16 elements. The matrix only holds their bits.
fn with_group(window: Window, group: mat4x4<f32>) -> Window {
    return with_sixteen(
        window,
        bitcast<vec4<u32>>(group[0]),
        bitcast<vec4<u32>>(group[1]),
        bitcast<vec4<u32>>(group[2]),
        bitcast<vec4<u32>>(group[3]),
    );
}

// Adds the groups of a share. All invocations take the same steps, so that a processor executes several of them with one
// instruction. A group past the end has zeros.
fn add_terms(start: u32, end: u32, lane: u32) {
    var window = no_window();
    for (var block = start; block < end; block += PER * WORKGROUP) {
        let stop = min(end, block + PER * WORKGROUP);
        for (var at = block; at < stop; at += WORKGROUP) {
            var group = mat4x4<f32>();
            if at + lane < stop { group = x[at + lane]; }
            window = with_group(window, group);
        }
        window = emptied(window);
    }
}

@compute @workgroup_size(WORKGROUP)
fn exact_vectors(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let g = group.y * groups.x + group.x;
    add_row_share(g, lane, params.n_elements);
}

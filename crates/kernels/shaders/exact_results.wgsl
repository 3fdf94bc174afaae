// exact_results: out[i] = sum i, rounded once, as bits of f32
//
// Shape      sums: OF_SUM words for each sum, as exact_sum describes; offsets: count + 1, if OFFSETS; offsets above n count as n;
//            out: at least count elements
// Dispatch   one invocation per sum; invocations past count do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact
//#use exact_finish
//#use exact_rounding
//#use exact_sum
//#use exact_words
//#use linear
override WORKGROUP: u32 = 256;
override FINISH: u32 = 0;                   // 0: the sum itself, 1: divided by the number of terms, 2: its square root
override OFFSETS: u32 = 0;                  // 0: each sum has n terms, 1: sum i has those from offsets[i] up to offsets[i + 1]
struct Params { count: u32, n: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> sums: array<u32>;
@group(0) @binding(2) var<storage, read> offsets: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn exact_results(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.count { return; }
    for (var w = 0u; w < WORDS; w++) { words[w] = sums[i * OF_SUM + w]; }
    kinds = sums[i * OF_SUM + WORDS];
    var terms = params.n;
    if OFFSETS == 1u { terms = min(params.n, offsets[i + 1u]) - min(params.n, offsets[i]); }
    out[i] = exact_result(terms);
}

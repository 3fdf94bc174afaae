// fill_words: words[first + i] = pattern[i % 4], for i below count
//
// Shape      words: at least first + count elements
// Dispatch   enough groups for four words an invocation
// Workgroup  [64, 1, 1]
// Barriers   none
// Tolerance  exact
struct Params { pattern: vec4<u32>, first: u32, count: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> words: array<u32>;

@compute @workgroup_size(64)
fn fill_words(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let stride = groups.x * 64u;
    for (var i = gid.x; i < params.count; i += stride) {
        words[params.first + i] = params.pattern[i % 4u];
    }
}

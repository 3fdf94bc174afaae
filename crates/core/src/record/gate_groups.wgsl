// gate_groups: copies the group counts of a dispatch in a body from an array of the program. Writes zeros if the body
// does not execute, or if a count exceeds the device's limit
//
// Shape      wanted: at least at + 3 words; words: the words of the gates; counts: three words for each dispatch
// Dispatch   one group
// Workgroup  [1, 1, 1]
// Barriers   none
// Tolerance  exact
struct Params {
    at: u32,
    limit: u32,
    gate: u32, // the word of the body's gate
    first: u32, // the place of the dispatch in counts
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> wanted: array<u32>;
@group(0) @binding(2) var<storage, read_write> words: array<u32>;
@group(0) @binding(3) var<storage, read_write> counts: array<u32>;

@compute @workgroup_size(1)
fn gate_groups() {
    let groups = vec3(wanted[params.at], wanted[params.at + 1u], wanted[params.at + 2u]);
    let fits = all(groups <= vec3(params.limit)) && words[params.gate] != 0u;
    for (var i = 0u; i < 3u; i++) {
        counts[3u * params.first + i] = select(0u, groups[i], fits);
    }
}

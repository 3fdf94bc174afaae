// A step of PageRank for each page, given the rank that arrives through links and the rank of the pages without links.

struct Params { damping: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> arriving: array<f32>;
@group(0) @binding(2) var<storage, read> unlinked: array<f32>;
@group(0) @binding(3) var<storage, read_write> rank: array<f32>;
@group(0) @binding(4) var<storage, read_write> change: array<f32>;

@compute @workgroup_size(64)
fn step_ranks(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&rank) { return; }
    let pages = f32(arrayLength(&rank));
    let next = (1.0 - params.damping + params.damping * unlinked[0]) / pages + params.damping * arriving[id.x];
    change[id.x] = abs(next - rank[id.x]);
    rank[id.x] = next;
}

// expect: refused: immediate_data.wgsl:12:14: kernel `reads`: the immediate variable `pair` (a uniform block replaces it) does not run on the CPU
struct Pair {
    first: u32,
    second: vec3<u32>,
}

var<immediate> pair: Pair;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(1)
fn reads() {
    out[0] = pair.second.y;
}

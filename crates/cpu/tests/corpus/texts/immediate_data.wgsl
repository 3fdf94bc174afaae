// expect: compiled
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

// The head of copy_words and copy_small: the parameters of a copy, and the places of a unit
struct Params {
    counts: vec4<u32>,
    src_strides: vec4<u32>,
    dst_strides: vec4<u32>,
    src_first: u32,
    dst_first: u32,
    total: u32,
    bits: u32, // 8, 16 or 32 bits in a unit
}
@group(0) @binding(0) var<uniform> params: Params;
// Both bindings may be ranges of one buffer, and a dispatch must bind a buffer with one access.
@group(0) @binding(1) var<storage, read_write> src: array<u32>;

// Returns the index of unit n in src, and its index in dst.
fn unit_places(n: u32) -> vec2<u32> {
    let z = n / params.counts.w;
    let y = z / params.counts.z;
    let x = y / params.counts.y;
    let i = vec4(x, y % params.counts.y, z % params.counts.z, n % params.counts.w);
    return vec2(params.src_first + dot(i, params.src_strides), params.dst_first + dot(i, params.dst_strides));
}


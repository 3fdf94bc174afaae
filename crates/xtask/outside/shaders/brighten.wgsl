// brighten: adds 10 to each byte, four bytes in a word
//#use packed
@group(0) @binding(0) var<storage, read_write> bytes: array<u32>;

@compute @workgroup_size(64)
fn brighten(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&bytes) { return; }
    var word = bytes[id.x];
    for (var i = 0u; i < 4u; i++) { word = with_8(word, i, min(u8_of(word, i) + 10u, 255u)); }
    bytes[id.x] = word;
}

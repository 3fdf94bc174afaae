// expect: compiled
// The text has swizzles of nested vectors, zero values beside numbers, abstract arrays and dot products of packed bytes.
@group(0) @binding(0) var<storage, read_write> out: array<i32>;

const SIZE: u32 = 4u;
const TABLE = array(9, 8, 7, 6, 5);
const SUM = vec2(1.0f) + vec2(3, 4.5);

@compute @workgroup_size(SIZE, SIZE - 2u)
fn folds(@builtin(local_invocation_index) i: u32) {
    const LOCAL = 3;
    var length: array<i32, LOCAL>;
    let turned = vec4(vec2(1, 2), vec2(3, 4)).wzyx;
    let zeros = vec3(vec2i(), 2) + vec3(1, vec2i());
    let picked = vec4(vec3(vec2(6, 7), 8), 9)[i];
    let bytes = dot4I8Packed(0xff02fd04u, 0x0506f9f8u) + i32(dot4U8Packed(SIZE, SIZE + 1u));
    let flags = i32(all(vec4(vec3(vec2<bool>(), true), false))) + i32(any(vec4(bool(), true, vec2(false))));
    length[i] = TABLE[i];
    out[i] = turned[i] + zeros.x * 10 + picked * 100 + bytes + flags + length[2] + i32(SUM.y * 2.0);
}

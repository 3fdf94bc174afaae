
// A driver packs components that are partly constants into another number.
fn pack4xI8Clamp_i32_4(v: vec4<i32>) -> u32 {
    let bytes = vec4<u32>(clamp(v, vec4(-128), vec4(127))) & vec4(255u);
    return bytes.x | (bytes.y << 8u) | (bytes.z << 16u) | (bytes.w << 24u);
}

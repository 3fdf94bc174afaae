
// A driver packs components wrongly if some of them are constants.
fn pack4xI8Clamp_i32_4(v: vec4<i32>) -> u32 {
    let bytes = vec4<u32>(clamp(v, vec4(-128), vec4(127))) & vec4(255u);
    return bytes.x | (bytes.y << 8u) | (bytes.z << 16u) | (bytes.w << 24u);
}

// In a driver, the sign of a constant component spills into the components after it.
fn pack4x8snorm_f32_4(v: vec4<f32>) -> u32 {
    let bytes = vec4<u32>(vec4<i32>(floor(127.0 * clamp(v, vec4(-1.0), vec4(1.0)) + 0.5))) & vec4(255u);
    return bytes.x | (bytes.y << 8u) | (bytes.z << 16u) | (bytes.w << 24u);
}

// A driver unpacks the upper half of a constant as 0.
fn unpack2x16float_u32(halves: u32) -> vec2<f32> {
    return vec2(unpack2x16float(halves).x, unpack2x16float(halves >> 16u).x);
}

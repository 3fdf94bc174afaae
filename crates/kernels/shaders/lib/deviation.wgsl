// deviation: the magnitude of the difference between an element and a center
//
// Shape      bits: the bits of an element; center: the bits of a number; the shader around it has the override DEVIATIONS (0: the
//            element itself is the result)
// Dispatch   any
// Barriers   none
// Tolerance  1 ulp; a NaN if one of the two is a NaN, and 0 for equal bits
//#use element_keys

fn deviation(bits: u32, center: u32) -> u32 {
    if DEVIATIONS == 0u || is_nan(bits) { return bits; }
    // The middle between the two infinities is a NaN.
    if is_nan(center) { return center; }
    if bits == center { return 0u; }
    if (bits & ~SIGN) == INFINITY || (center & ~SIGN) == INFINITY { return INFINITY; }
    return bitcast<u32>(bitcast<f32>(bits) - bitcast<f32>(center)) & ~SIGN;
}

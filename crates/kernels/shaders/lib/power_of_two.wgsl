// power_of_two: factors that bring numbers close to 1 without rounding
//
// Shape      size: the bits of the largest magnitude of some numbers; field: the exponent of a factor, from 1 to 253
// Dispatch   any
// Barriers   none
// Tolerance  exact: with the factor, the largest magnitude is at least 1 and below 4, unless it is below the smallest normal
//            number, infinite or a NaN

// Returns the exponent of the factor. For numbers that are not finite, the factor is 1.
fn scale_of(size: u32) -> u32 {
    let exponent = size >> 23u;
    if exponent == 255u { return 127u; }
    return clamp(254u - exponent, 1u, 253u);
}

// Returns the factor with this exponent.
fn power(field: u32) -> f32 { return bitcast<f32>(field << 23u); }

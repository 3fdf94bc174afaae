// quotient: a quotient of two numbers, also of a divisor above 2^126
//
// Shape      y: a normal number, an infinity or a NaN
// Dispatch   any
// Barriers   none
// Tolerance  2.5 ulp
//
// A device may multiply by the reciprocal of the divisor. That of a number above 2^126 is below the smallest normal number, and
// may be 0; WGSL bounds the error of a division only for other divisors.
fn quotient(x: f32, y: f32) -> f32 {
    let factor = select(1.0, 0.0625, abs(y) > 0x1p126f);
    return (x * factor) / (y * factor);
}

//! The evaluation of a polynomial.

/// Adding this to a number of less than 2^51, and subtracting it again, rounds the number to the nearest integer, ties
/// to even. The integer is in the low bits of the sum.
pub(crate) const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

/// Returns `1 + z * p(z)`, where `p` has these coefficients, starting with the constant. Even and odd powers are summed
/// separately, so that a processor can compute both sums in parallel.
#[inline(always)]
pub(super) fn one_plus<const N: usize>(z: f64, coefficients: &[f64; N]) -> f64 {
    let square = z * z;
    let mut last = coefficients[N - 1];
    let mut before = coefficients[N - 2];
    for at in (1..N / 2).rev() {
        let first = N % 2 + 2 * at;
        last = last * square + coefficients[first - 1];
        before = before * square + coefficients[first - 2];
    }
    // `last` is the coefficient of the highest power.
    let mut sum = last * z + before;
    if N % 2 == 1 {
        sum = sum * z + coefficients[0];
    }
    sum * z + 1.0
}

/// Clamps a number to a range. A NaN stays a NaN.
#[inline(always)]
pub(super) fn limit(x: f64, low: f64, high: f64) -> f64 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

//! Exact sums of floats on the host.

/// Number of digits of a sum: enough for the exponents of `f32`, and for 2^32 weights.
const DIGITS: usize = 11;
/// Number of bits of a digit.
const BITS: u32 = u32::BITS;

/// A sum of `f32` as a whole number of units of 2^-149, the smallest `f32`.
#[derive(Clone, Default)]
pub(crate) struct ExactSum {
    /// Digits, the lowest one first. They may be negative, and need not be below 2^32, until the sum is rounded.
    digits: [i64; DIGITS],
    /// Sum of the weights that are not finite, or 0 without any.
    others: f32,
}

impl ExactSum {
    /// Adds a weight.
    pub(crate) fn add(&mut self, weight: f32) {
        if !weight.is_finite() {
            self.others += weight;
            return;
        }
        // The weight is a number of 24 bits, times a power of two.
        let exponent = weight.to_bits() >> 23 & 0xFF;
        let first = if exponent == 0 { 0 } else { 1 << 23 };
        let number = i64::from(weight.to_bits() & 0x7F_FFFF | first);
        let power = exponent.max(1) - 1;
        let number = number << (power % BITS);
        let digit = (power / BITS) as usize;
        let sign = if weight.is_sign_negative() { -1 } else { 1 };
        self.digits[digit] += sign * (number & i64::from(u32::MAX));
        self.digits[digit + 1] += sign * (number >> BITS);
    }

    /// Returns the `f32` that is nearest to the sum, of two the even one.
    pub(crate) fn rounded(&self) -> f32 {
        if self.others.is_nan() {
            return f32::NAN;
        }
        if self.others != 0.0 {
            return self.others;
        }
        match magnitude(self.digits) {
            Some(digits) => nearest(&digits),
            None => -nearest(&magnitude(self.digits.map(|digit| -digit)).expect("bug: a sum has two signs")),
        }
    }
}

/// Returns the digits of a number, each below 2^32, or `None` if the number is negative.
fn magnitude(digits: [i64; DIGITS]) -> Option<Vec<u32>> {
    let mut carry = 0;
    let mut digit = |digit: i64| {
        let sum = digit + carry;
        carry = sum >> BITS;
        sum as u32
    };
    let digits = digits.map(&mut digit).to_vec();
    (carry == 0).then_some(digits)
}

/// Returns the `f32` that is nearest to a number of units.
fn nearest(digits: &[u32]) -> f32 {
    let highest = digits.iter().rposition(|&digit| digit != 0).unwrap_or(0);
    // Three digits have at least 65 bits. A digit below them only decides if the number is above the middle of two.
    let lowest = highest.saturating_sub(2);
    let top =
        digits[lowest..=highest].iter().rev().fold(0_u128, |top, &digit| top << BITS | u128::from(digit));
    let rest = digits[..lowest].iter().any(|&digit| digit != 0);
    let rounded = (top | u128::from(rest)) as f32;
    (f64::from(rounded) * 2_f64.powi((lowest as u32 * BITS) as i32 - 149)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(weights: &[f32]) -> f32 {
        let mut sum = ExactSum::default();
        weights.iter().for_each(|&weight| sum.add(weight));
        sum.rounded()
    }

    #[test]
    fn a_sum_is_rounded_once_to_the_nearest_number() {
        let even = 16_777_216.0_f32;
        let smallest = f32::from_bits(1);
        let cases: &[(&[f32], f32)] = &[
            (&[], 0.0),
            (&[0.1, 0.2], 0.1 + 0.2),
            (&[1e30, 1.0, -1e30], 1.0),
            (&[even, 1.0], even),
            (&[even, 1.0, smallest], even + 2.0),
            (&[even + 2.0, 1.0], even + 4.0),
            (&[-even, -1.0, -smallest], -even - 2.0),
            (&[smallest, smallest], f32::from_bits(2)),
            (&[f32::MIN_POSITIVE, -smallest], f32::from_bits(0x7F_FFFF)),
            (&[f32::MAX, f32::MAX], f32::INFINITY),
            (&[f32::MAX, f32::MAX, -f32::MAX], f32::MAX),
            (&[f32::MAX, 2_f32.powi(103)], f32::INFINITY),
            (&[f32::MAX, 2_f32.powi(102)], f32::MAX),
            (&[1.0, f32::NEG_INFINITY], f32::NEG_INFINITY),
        ];
        for (weights, expected) in cases {
            assert_eq!(sum(weights).to_bits(), expected.to_bits(), "{weights:?}");
        }
        assert!(sum(&[f32::INFINITY, 1.0, f32::NEG_INFINITY]).is_nan() && sum(&[f32::NAN]).is_nan());
    }
}

//! The conversion from `f64` to `f16`.

use half::f16;

/// Rounds a number to the nearest `f16`, ties to even.
///
/// The conversion of `half` rounds to `f32` first on some hosts, and drops low bits on others.
pub(crate) fn narrow(x: f64) -> f16 {
    let nearest = x as f32;
    if f64::from(nearest) == x || !nearest.is_finite() {
        return f16::from_f32(nearest);
    }
    // Round to odd: the last bit of an inexact `f32` is set. Such a number lies on the same side of every `f16`, and of
    // every midpoint between two `f16`s, as the exact number.
    let towards_zero =
        if f64::from(nearest).abs() > x.abs() { nearest.to_bits() - 1 } else { nearest.to_bits() };
    f16::from_f32(f32::from_bits(towards_zero | 1))
}

#[cfg(test)]
mod tests {
    use super::narrow;
    use crate::arith::tests::edges::nearest_half;
    use half::f16;

    #[test]
    fn every_middle_of_two_halves_and_its_neighbours_round_to_the_nearest_half() {
        let tiny = f64::EPSILON;
        for bits in 0..0x7bff_u16 {
            let low = f16::from_bits(bits).to_f64();
            let high = f16::from_bits(bits + 1).to_f64();
            let middle = f64::midpoint(low, high);
            for x in [low, middle, middle * (1.0 - tiny), middle * (1.0 + tiny), middle * (1.0 + 1e-8), high]
            {
                assert_eq!(narrow(x), nearest_half(x), "{x:e}");
                assert_eq!(narrow(-x), nearest_half(-x), "{x:e}");
            }
        }
    }

    #[test]
    fn large_numbers_become_infinite_and_zeros_keep_their_sign() {
        assert_eq!(narrow(65519.999), f16::MAX);
        assert_eq!(narrow(65520.0), f16::INFINITY);
        assert_eq!(narrow(-1e300), f16::NEG_INFINITY);
        assert_eq!(narrow(f64::INFINITY), f16::INFINITY);
        assert_eq!(narrow(-0.0).to_bits(), 0x8000);
        assert_eq!(narrow(-1e-300).to_bits(), 0x8000);
        assert_eq!(narrow(f64::MIN_POSITIVE).to_bits(), 0);
        assert!(narrow(f64::NAN).is_nan());
    }
}

//! Branch-free conversions between the bits of `f16` and `f32`, which the compiler vectorises.

/// Returns the bits of the nearest `f16`, ties to even.
#[inline(always)]
pub(crate) fn narrow(x: f32) -> u32 {
    const LEAST_NORMAL: u32 = 113 << 23; // 2^-14
    const LEAST_INFINITE: u32 = 0x477f_f000; // halfway between the largest number and the next power of two
    let bits = x.to_bits() & 0x7fff_ffff;
    let odd = bits >> 13 & 1;
    let normal = bits.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
    // Adding 1/2 rounds to a multiple of the smallest `f16`; the low bits of the sum count these multiples.
    let subnormal = (f32::from_bits(bits) + 0.5).to_bits().wrapping_sub(0.5_f32.to_bits());
    let finite = if bits < LEAST_NORMAL { subnormal } else { normal };
    let number = if bits >= LEAST_INFINITE { 0x7c00 } else { finite };
    let all = if bits > 0x7f80_0000 { 0x7e00 } else { number };
    all | x.to_bits() >> 16 & 0x8000
}

/// Returns the number with the bits of an `f16`.
#[inline(always)]
pub(crate) fn widen(bits: u32) -> f32 {
    const SCALE: f32 = f32::from_bits(239 << 23); // 2^112, rebases an exponent from `f16` to `f32`
    let magnitude = (bits & 0x7fff) << 13;
    let finite = (f32::from_bits(magnitude) * SCALE).to_bits();
    let all = if magnitude >= 0x7c00 << 13 { magnitude | 0x7f80_0000 } else { finite };
    f32::from_bits(all | (bits & 0x8000) << 16)
}

#[cfg(test)]
mod tests {
    use super::{narrow, widen};
    use crate::arith::tests::edges::nearest_half;
    use half::f16;

    #[test]
    fn each_f16_is_widened_and_narrowed_without_a_change() {
        for bits in 0..=0xffff {
            let number = f16::from_bits(bits as u16);
            if number.is_nan() {
                assert!(widen(bits).is_nan() && widen(narrow(widen(bits))).is_nan(), "{bits:#x}");
            } else {
                assert_eq!(f64::from(widen(bits)), number.to_f64(), "{bits:#x}");
                assert_eq!(narrow(widen(bits)), bits);
            }
        }
    }

    #[test]
    fn the_middle_of_two_halves_and_its_neighbours_become_the_nearest_half() {
        for bits in 0..0x7c00 {
            let next = if bits == 0x7bff { 65536.0 } else { widen(bits + 1) };
            let middle = f32::midpoint(widen(bits), next);
            for x in [middle.next_down(), middle, middle.next_up()] {
                assert_eq!(narrow(x), u32::from(nearest_half(x.into()).to_bits()), "{x:e}");
                assert_eq!(narrow(-x), u32::from(nearest_half((-x).into()).to_bits()), "{x:e}");
            }
        }
        let far = [f32::MIN_POSITIVE, f32::from_bits(1), f32::MAX, f32::INFINITY];
        assert_eq!(far.map(narrow), [0, 0, 0x7c00, 0x7c00]);
    }
}

//! Exact sums of floats on the host.

use std::cmp::Ordering;

/// Number of digits of a sum: enough for products of two `f32`, and for 2^31 terms.
const DIGITS: usize = 20;
/// Number of bits of a digit.
const BITS: u32 = u32::BITS;

/// Returns the exact sum, rounded once to the nearest `f32`, of two the even one. A sum of 0 is +0.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::exact_sum(&[1e30, 1.0, -1e30]), 1.0);
/// ```
pub fn exact_sum(x: &[f32]) -> f32 {
    let mut sum = ExactSum::default();
    x.iter().for_each(|&x| sum.add(x));
    sum.rounded()
}

/// Returns the exact mean, rounded once, or `None` if there are no elements.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::exact_mean(&[f32::MAX, f32::MAX]), Some(f32::MAX));
/// ```
pub fn exact_mean(x: &[f32]) -> Option<f32> {
    let mut sum = ExactSum::default();
    x.iter().for_each(|&x| sum.add(x));
    (!x.is_empty()).then(|| sum.nearest(|number, place| (number * x.len() as u64, place + 150)))
}

/// Returns the exact sum of the exact products of two lists, rounded once. If the lengths differ, the rest of the longer
/// list is ignored.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::exact_dot(&[1e30, 3.0, 1e30], &[1e30, 0.5, -1e30]), 1.5);
/// ```
pub fn exact_dot(x: &[f32], y: &[f32]) -> f32 {
    products(x, y).rounded()
}

/// Returns the square root of the exact sum of the squares, rounded once.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::exact_norm(&[3e30, -4e30]), 5e30);
/// ```
pub fn exact_norm(x: &[f32]) -> f32 {
    products(x, x).nearest(|number, place| (number * number, 2 * place))
}

fn products(x: &[f32], y: &[f32]) -> ExactSum {
    let mut sum = ExactSum::default();
    x.iter().zip(y).for_each(|(&x, &y)| sum.add_product(x, y));
    sum
}

/// A sum of `f32`, or of products of two, as an integer that counts 2^-300.
#[derive(Clone, Default)]
pub(crate) struct ExactSum {
    /// Digits, the lowest one first. They may be negative, and need not be below 2^32.
    digits: [i64; DIGITS],
    /// Sum of the terms that are not finite, or 0 without any.
    others: f32,
}

impl ExactSum {
    /// Adds a term.
    pub(crate) fn add(&mut self, term: f32) {
        if !term.is_finite() {
            self.others += term;
            return;
        }
        let (number, place) = parts(term);
        self.add_number(number, place + 151, term.is_sign_negative());
    }

    /// Adds a product.
    pub(crate) fn add_product(&mut self, x: f32, y: f32) {
        if !(x.is_finite() && y.is_finite()) {
            self.others += x * y;
            return;
        }
        let (of_x, place_x) = parts(x);
        let (of_y, place_y) = parts(y);
        let minus = x.is_sign_negative() != y.is_sign_negative();
        self.add_number(of_x * of_y, place_x + place_y + 2, minus);
    }

    /// Adds `number * 2^bit`, or subtracts it.
    fn add_number(&mut self, number: u64, bit: u32, minus: bool) {
        let number = u128::from(number) << (bit % BITS);
        for (at, digit) in self.digits[(bit / BITS) as usize..].iter_mut().take(3).enumerate() {
            let part = i64::from((number >> (BITS * at as u32)) as u32);
            *digit += if minus { -part } else { part };
        }
    }

    /// Compares the terms that are finite with 0.
    fn sign(&self) -> Ordering {
        let mut carry = 0;
        let mut is_zero = true;
        for &digit in &self.digits {
            let sum = digit + carry;
            carry = sum >> BITS;
            is_zero &= sum as u32 == 0;
        }
        if carry < 0 {
            return Ordering::Less;
        }
        if is_zero && carry == 0 { Ordering::Equal } else { Ordering::Greater }
    }

    /// Returns `true` if the sum is 0.
    pub(crate) fn is_zero(&self) -> bool {
        self.others == 0.0 && self.sign() == Ordering::Equal
    }

    /// Returns the `f32` that is nearest to the sum, of two the even one.
    pub(crate) fn rounded(&self) -> f32 {
        self.nearest(|number, place| (number, place + 150))
    }

    /// Returns the `f32` that is nearest to a result that grows with the sum, of two the even one. `sum_of` returns the
    /// sum with the result `number * 2^(place - 150)`: the number that is multiplied by a power of two, and this power,
    /// of which 0 is 2^-300.
    fn nearest(&self, sum_of: impl Fn(u64, u32) -> (u64, u32)) -> f32 {
        if self.others.is_nan() {
            return f32::NAN;
        }
        if self.others != 0.0 {
            return self.others;
        }
        match self.sign() {
            Ordering::Equal => 0.0,
            Ordering::Less => {
                let opposite = Self { digits: self.digits.map(|digit| -digit), ..*self };
                -opposite.nearest_of_positive(sum_of)
            }
            Ordering::Greater => self.nearest_of_positive(sum_of),
        }
    }

    fn nearest_of_positive(&self, sum_of: impl Fn(u64, u32) -> (u64, u32)) -> f32 {
        let compared = |(number, place): (u64, u32)| {
            let (number, bit) = sum_of(number, place);
            let mut rest = self.clone();
            rest.add_number(number, bit, true);
            rest.sign()
        };
        // The bits of positive floats have their order.
        let mut below = 0;
        let mut above = f32::INFINITY.to_bits();
        while above - below > 1 {
            let middle = below.midpoint(above);
            let (number, place) = parts(f32::from_bits(middle));
            match compared((2 * number, place)) {
                Ordering::Less => above = middle,
                _ => below = middle,
            }
        }
        // The middle between this float and the next one, or between the largest number and the next power of two.
        let (number, place) = parts(f32::from_bits(below));
        f32::from_bits(match compared((2 * number + 1, place)) {
            Ordering::Less => below,
            Ordering::Equal => below + below % 2,
            Ordering::Greater => above,
        })
    }
}

/// Returns a magnitude as `number * 2^(place - 149)`.
fn parts(x: f32) -> (u64, u32) {
    let exponent = x.to_bits() >> 23 & 0xFF;
    let first = if exponent == 0 { 0 } else { 1 << 23 };
    (u64::from(x.to_bits() & 0x7F_FFFF | first), exponent.max(1) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALLEST: f32 = f32::from_bits(1);

    /// Returns words whose bits are all in use.
    fn words(count: u32) -> impl Iterator<Item = u32> {
        (0..count).map(|i| (i ^ (i << 16)).wrapping_mul(0x9E37_79B9))
    }

    #[test]
    fn a_sum_is_rounded_once_to_the_nearest_number() {
        let even = 16_777_216.0_f32;
        let cases: &[(&[f32], f32)] = &[
            (&[], 0.0),
            (&[-0.0], 0.0),
            (&[0.1, 0.2], 0.1 + 0.2),
            (&[1e30, 1.0, -1e30], 1.0),
            (&[even, 1.0], even),
            (&[even, 1.0, SMALLEST], even + 2.0),
            (&[even + 2.0, 1.0], even + 4.0),
            (&[-even, -1.0, -SMALLEST], -even - 2.0),
            (&[SMALLEST, SMALLEST], f32::from_bits(2)),
            (&[f32::MIN_POSITIVE, -SMALLEST], f32::from_bits(0x7F_FFFF)),
            (&[f32::MAX, f32::MAX], f32::INFINITY),
            (&[f32::MAX, f32::MAX, -f32::MAX], f32::MAX),
            (&[f32::MAX, 2_f32.powi(103)], f32::INFINITY),
            (&[f32::MAX, 2_f32.powi(102)], f32::MAX),
            (&[1.0, f32::NEG_INFINITY], f32::NEG_INFINITY),
        ];
        for (terms, expected) in cases {
            assert_eq!(exact_sum(terms).to_bits(), expected.to_bits(), "{terms:?}");
        }
        assert!(exact_sum(&[f32::INFINITY, 1.0, f32::NEG_INFINITY]).is_nan());
        assert!(exact_sum(&[f32::NAN]).is_nan());
    }

    #[test]
    fn a_product_of_two_numbers_is_that_of_the_processor() {
        for (x, y) in words(10_000).zip(words(10_001).skip(1)) {
            let [x, y] = [x, y].map(f32::from_bits);
            let product = if (x * y).is_nan() { f32::NAN } else { x * y };
            // A sum of 0 has no sign.
            let product = if x == 0.0 || y == 0.0 { product.abs() } else { product };
            assert_eq!(exact_dot(&[x], &[y]).to_bits(), product.to_bits(), "{x:e} * {y:e}");
        }
    }

    #[test]
    fn a_norm_is_the_root_of_the_processor_if_the_squares_are_exact() {
        for word in words(1000) {
            // The sum of the squares has at most 26 bits, so its root is not close to the middle of two floats.
            let list = [word >> 20, word >> 8 & 0xFFF, word & 0xFFF].map(|x| x as f32);
            let squares: f64 = list.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
            assert_eq!(exact_norm(&list), squares.sqrt() as f32, "{list:?}");
        }
        assert_eq!(exact_norm(&[f32::MAX]), f32::MAX);
        assert_eq!(exact_norm(&[f32::MAX, f32::MAX]), f32::INFINITY);
        assert_eq!(exact_norm(&[SMALLEST; 4]), f32::from_bits(2));
        assert_eq!(exact_norm(&[SMALLEST; 2]), SMALLEST);
        assert_eq!(exact_norm(&[]).to_bits(), 0);
    }

    #[test]
    fn a_mean_is_rounded_once_below_the_smallest_number_too() {
        assert_eq!(exact_mean(&[]), None);
        assert_eq!(exact_mean(&[f32::MAX, f32::MAX, -f32::MAX]), Some(f32::MAX / 3.0));
        assert_eq!(exact_mean(&[SMALLEST, 0.0]), Some(0.0));
        assert_eq!(exact_mean(&[SMALLEST, SMALLEST, 0.0]), Some(SMALLEST));
        assert_eq!(exact_mean(&[-SMALLEST, 0.0, 0.0]).map(f32::to_bits), Some((-0.0_f32).to_bits()));
        assert_eq!(exact_mean(&[1.0, 1.0, 2.0]), Some(4.0 / 3.0));
    }
}

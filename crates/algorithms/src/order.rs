//! The total order of elements.

use crate::reducible::Reducible;
use fencepost_core::Scalar;

const SIGN: u32 = 1 << 31;

/// Returns which bits are inverted to make the key of an element: if its sign bit is clear, and if it is set.
pub(crate) fn flips<T: Reducible>(descending: bool) -> [u32; 2] {
    let ascending = match T::DTYPE.scalar() {
        Some(Scalar::F32) => [SIGN, !0],
        Some(Scalar::I32) => [SIGN; 2],
        _ => [0; 2],
    };
    if descending { ascending.map(|bits| !bits) } else { ascending }
}

/// Returns a key that sorts like the element, as the snippet `order_keys` does. Floats are ordered by
/// `total_cmp`.
pub fn order_key<T: Reducible>(element: T) -> u32 {
    let (bits, [clear, set]) = (element.to_word(), flips::<T>(false));
    bits ^ if bits & SIGN == 0 { clear } else { set }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_the_elements() {
        let numbers =
            [-f32::NAN, f32::NEG_INFINITY, -2.0, -1e-40, -0.0, 0.0, 1e-40, 2.0, f32::INFINITY, f32::NAN];
        assert!(numbers.map(order_key).is_sorted_by(|a, b| a < b));
        assert!([i32::MIN, -1, 0, 1, i32::MAX].map(order_key).is_sorted_by(|a, b| a < b));
        assert!([0, 1, u32::MAX].map(order_key).is_sorted_by(|a, b| a < b));
    }
}

//! Host functions for the verbs that compute each element from those at the same place.

use fencepost_algorithms::{Operation, Reducible};

/// Returns `n` elements `start + i * step`. Integers wrap. With `f32`, each operation is rounded.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::iota(3, 1.0_f32, 0.5), [1.0, 1.5, 2.0]);
/// ```
pub fn iota<T: Reducible>(n: usize, start: T, step: T) -> Vec<T> {
    (0..n as u32).map(|i| multiplied(cast(i), step, start)).collect()
}

/// Adds `a * x[i]` to each element of `y`. Integers wrap. If the lengths differ, the rest of the longer list is
/// ignored.
///
/// # Example
/// ```
/// let mut y = [10, 20];
/// fencepost_oracles::axpy(3, &[1, 2], &mut y);
/// assert_eq!(y, [13, 26]);
/// ```
pub fn axpy<T: Reducible>(a: T, x: &[T], y: &mut [T]) {
    y.iter_mut().zip(x).for_each(|(y, &x)| *y = multiplied(a, x, *y));
}

/// Returns `a * x + y`. Integers wrap.
fn multiplied<T: Reducible>(a: T, x: T, y: T) -> T {
    T::combined(Operation::Sum, T::combined(Operation::Product, a, x), y)
}

/// Returns an element converted as by the operator `as`.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::cast::<f32, i32>(-2.9), -2);
/// ```
pub fn cast<T: Reducible, U: Reducible>(x: T) -> U {
    U::of_types(x.as_types())
}

/// Returns `low` for an element below `low`, else `high` for an element above `high`, else the element.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::clamp(300, 0, 255), 255);
/// ```
pub fn clamp<T: Reducible>(x: T, low: T, high: T) -> T {
    if x < low {
        low
    } else if x > high {
        high
    } else {
        x
    }
}

/// Returns `x[i]` where `mask[i]` is not zero, else `y[i]`. If the lengths differ, the rest of the longer lists is
/// ignored.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::where_(&[0, 7], &[1.0, 2.0], &[-1.0, -2.0]), [-1.0, 2.0]);
/// ```
pub fn where_<T: Copy>(mask: &[u32], x: &[T], y: &[T]) -> Vec<T> {
    let elements = x.iter().zip(y).zip(mask);
    elements.map(|((&x, &y), &mask)| if mask != 0 { x } else { y }).collect()
}

/// Returns the values of a function of each element and its place.
///
/// # Example
/// ```
/// let values = fencepost_oracles::map(&[1.5_f32, 2.5], |x, i| x * 2.0 + i as f32);
/// assert_eq!(values, [3.0, 6.0]);
/// ```
pub fn map<T: Copy, U>(x: &[T], value: impl Fn(T, u32) -> U) -> Vec<U> {
    (0..).zip(x).map(|(i, &x)| value(x, i)).collect()
}

/// Calls a function with the elements of two lists at each place and with the place, and returns its values. If the
/// lengths differ, the rest of the longer list is ignored.
///
/// # Example
/// ```
/// let values = fencepost_oracles::zip(&[1.0_f32, 2.0], &[3_u32, 1], |x, y, i| x > 1.5 || y == i);
/// assert_eq!(values, [false, true]);
/// ```
pub fn zip<T: Copy, V: Copy, U>(x: &[T], y: &[V], value: impl Fn(T, V, u32) -> U) -> Vec<U> {
    (0..).zip(x.iter().zip(y)).map(|(i, (&x, &y))| value(x, y, i)).collect()
}

/// Returns the elements of an array after NumPy's rules have repeated them to another shape, or `None` if they cannot be
/// repeated to it: the array gets axes of length 1 before its own, and an axis of length 1 then gets any length.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::repeated(&[1, 2], &[2], &[2, 2]), Some(vec![1, 2, 1, 2]));
/// assert_eq!(host::repeated(&[1, 2], &[2, 1], &[2, 2]), Some(vec![1, 1, 2, 2]));
/// assert_eq!(host::repeated(&[1, 2], &[2], &[2, 3]), None);
/// ```
pub fn repeated<T: Copy>(x: &[T], shape: &[usize], results: &[usize]) -> Option<Vec<T>> {
    let added = results.len().checked_sub(shape.len())?;
    let shape = [&vec![1; added][..], shape].concat();
    if shape.iter().zip(results).any(|(&len, &wanted)| len != wanted && len != 1) {
        return None;
    }
    let element = |mut rest: usize| {
        let mut place = 0;
        let mut step = 1;
        for (&len, &wanted) in shape.iter().zip(results).rev() {
            let index = rest % wanted;
            rest /= wanted;
            place += if len == 1 { 0 } else { index * step };
            step *= len;
        }
        x[place]
    };
    Some((0..results.iter().product::<usize>()).map(element).collect())
}

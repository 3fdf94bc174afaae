//! Host functions for the verbs that move elements to other places.

use crate::cast;
use crate::exact::ExactSum;
use fencepost_algorithms::for_oracles::check_places;
use fencepost_algorithms::{Operation, Outside, Reducible, Strides};
use fencepost_core::Scalar;

/// Returns the elements at a list of places.
///
/// # Example
/// ```
/// use fencepost_algorithms::Outside;
/// use fencepost_oracles as host;
/// assert_eq!(host::gather(&[10, 11, 12], &[2, 0, 9], Outside::Last), [12, 10, 12]);
/// ```
pub fn gather<T: Reducible>(x: &[T], places: &[u32], outside: Outside) -> Vec<T> {
    let last = x.last().filter(|_| outside == Outside::Last);
    places.iter().map(|&place| x.get(place as usize).or(last).copied().unwrap_or_else(T::zeroed)).collect()
}

/// Writes elements to places of a list, and ignores places outside it. If several elements have the same place, the
/// last one stays.
///
/// # Example
/// ```
/// let mut out = [0; 3];
/// fencepost_oracles::scatter(&[10, 11, 12], &[2, 0, 9], &mut out);
/// assert_eq!(out, [11, 0, 10]);
/// ```
pub fn scatter<T: Reducible>(x: &[T], places: &[u32], out: &mut [T]) {
    for (&x, &place) in x.iter().zip(places) {
        if let Some(out) = out.get_mut(place as usize) {
            *out = x;
        }
    }
}

/// Adds elements to places of a list, and ignores places outside it. Sums of integers wrap. A float becomes the exact sum
/// of itself and all that is added to it, rounded once, or stays as it is if what is added is 0.
///
/// # Example
/// ```
/// let mut out = [10; 3];
/// fencepost_oracles::scatter_add(&[1, 2, 4], &[2, 0, 2], &mut out);
/// assert_eq!(out, [12, 10, 15]);
///
/// let mut out = [0.5, 0.25];
/// fencepost_oracles::scatter_add(&[1e30, 1.0, -1e30], &[1; 3], &mut out);
/// assert_eq!(out, [0.5, 1.25]);
/// ```
pub fn scatter_add<T: Reducible>(x: &[T], places: &[u32], out: &mut [T]) {
    if T::DTYPE.scalar() == Some(Scalar::F32) {
        return add_floats(x, places, out);
    }
    for (&x, &place) in x.iter().zip(places) {
        if let Some(out) = out.get_mut(place as usize) {
            *out = T::combined(Operation::Sum, *out, x);
        }
    }
}

fn add_floats<T: Reducible>(x: &[T], places: &[u32], out: &mut [T]) {
    let mut sums = vec![ExactSum::default(); out.len()];
    for (&x, &place) in x.iter().zip(places) {
        if let Some(sum) = sums.get_mut(place as usize) {
            sum.add(cast::<T, f32>(x));
        }
    }
    for (out, mut sum) in out.iter_mut().zip(sums).filter(|(_, sum)| !sum.is_zero()) {
        sum.add(cast::<T, f32>(*out));
        *out = cast::<f32, T>(sum.rounded());
    }
}

/// Returns the elements of an array in C order, with rows and columns exchanged. Returns `None` if the list does not
/// have this shape.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::transpose(&[1, 2, 3, 4, 5, 6], [2, 3]), Some(vec![1, 4, 2, 5, 3, 6]));
/// ```
pub fn transpose<T: Reducible>(x: &[T], shape: [usize; 2]) -> Option<Vec<T>> {
    permute(x, shape, [1, 0])
}

/// Returns the elements of an array in C order, with its axes in another order. Returns `None` if the list does not
/// have this shape, or if `axes` does not contain each axis once.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::permute(&[1, 2, 3, 4, 5, 6], [2, 3], [1, 0]), Some(vec![1, 4, 2, 5, 3, 6]));
/// ```
pub fn permute<T: Reducible, const D: usize>(x: &[T], shape: [usize; D], axes: [usize; D]) -> Option<Vec<T>> {
    let count = shape.iter().try_fold(1_usize, |all, &n| all.checked_mul(n))?;
    if count != x.len() || !(0..D).all(|axis| axes.contains(&axis)) {
        return None;
    }
    let stride = |axis: usize| shape[axis + 1..].iter().product::<usize>();
    let place = |mut at: usize| {
        let steps = axes.iter().rev().map(|&axis| {
            let index = at % shape[axis];
            at /= shape[axis];
            index * stride(axis)
        });
        steps.sum::<usize>()
    };
    Some((0..count).map(|at| x[place(at)]).collect())
}

/// Copies elements as [`copy_strided`](fencepost_algorithms::Algorithms::copy_strided) does. Returns `None`, and copies nothing, if
/// the verb refuses the places.
///
/// # Example
/// ```
/// use fencepost_algorithms::Strides;
/// use fencepost_oracles as host;
/// let mut out = [0; 4];
/// let (from, to) = (Strides { first: 1, strides: [-1] }, Strides { first: 0, strides: [2] });
/// assert_eq!(host::copy_strided([2], &[7, 8], from, &mut out, to), Some(()));
/// assert_eq!(out, [8, 0, 7, 0]);
/// ```
pub fn copy_strided<T: Reducible, const R: usize>(
    shape: [usize; R],
    x: &[T],
    from: Strides<R>,
    out: &mut [T],
    to: Strides<R>,
) -> Option<()> {
    if shape.contains(&0) {
        return Some(());
    }
    check_places(shape, ("x", x.len(), &from), ("out", out.len(), &to)).ok()?;
    for i in 0..shape.iter().product() {
        let mut rest = i;
        let mut source = from.first as isize;
        let mut place = to.first as isize;
        for axis in (0..R).rev() {
            let index = (rest % shape[axis]) as isize;
            rest /= shape[axis];
            source += index * from.strides[axis];
            place += index * to.strides[axis];
        }
        out[place as usize] = x[source as usize];
    }
    Some(())
}

//! Products of matrices.

use fencepost_algorithms::{Operation, Reducible};

/// Returns the sums of the products of each row of `a` with each column of `b`, row by row, or `None` if the lists do
/// not have the shapes `[rows, inner]` and `[inner, columns]`. Integers wrap, and a sum of no products is 0. Floats
/// are added in another order than on a device, and so may be rounded differently.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::matmul(&[1, 2, 3, 4], &[10, 100], [2, 2, 1]), Some(vec![210, 430]));
/// assert_eq!(host::matmul(&[1, 2, 3, 4], &[10], [2, 2, 1]), None);
/// ```
pub fn matmul<T: Reducible>(a: &[T], b: &[T], [rows, inner, columns]: [usize; 3]) -> Option<Vec<T>> {
    if a.len() != rows * inner || b.len() != inner * columns {
        return None;
    }
    let mut out = vec![T::identity(Operation::Sum); rows * columns];
    for (at, sum) in out.iter_mut().enumerate() {
        for i in 0..inner {
            let factors = [a[at / columns * inner + i], b[i * columns + at % columns]];
            let product = T::combined(Operation::Product, factors[0], factors[1]);
            *sum = T::combined(Operation::Sum, *sum, product);
        }
    }
    Some(out)
}

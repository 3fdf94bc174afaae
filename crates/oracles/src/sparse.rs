//! Products of sparse matrices.

use fencepost_algorithms::{Operation, Reducible};

/// A sparse matrix in CSR format.
#[derive(Clone, Copy, Debug)]
pub struct Sparse<'a, T> {
    /// Number of rows and of columns.
    pub shape: [usize; 2],
    /// First entry of each row, and the number of entries.
    pub offsets: &'a [u32],
    /// Column of each entry.
    pub columns: &'a [u32],
    /// Value of each entry.
    pub values: &'a [T],
}

/// Returns `alpha a x + beta out`, row by row, or `None` if a list does not fit. `x` has `width` elements for each column
/// of `a`, and `out` as many for each row. With `beta` = 0, `out` is not read, and with `alpha` = 0, no entry is. Floats
/// are added in another order than on a device, and so may be rounded differently.
///
/// # Example
/// ```
/// use fencepost_oracles::{self as host, Sparse};
/// let a = Sparse { shape: [2, 3], offsets: &[0, 2, 3], columns: &[0, 2, 2], values: &[10, 20, 30] };
/// assert_eq!(host::matmul_sparse(a, &[1, 2, 3], &[5, 6], 1, [1, 0]), Some(vec![70, 90]));
/// assert_eq!(host::matmul_sparse(a, &[1, 2, 3], &[5, 6], 1, [2, -1]), Some(vec![135, 174]));
/// ```
pub fn matmul_sparse<T: Reducible>(
    a: Sparse<'_, T>,
    x: &[T],
    out: &[T],
    width: usize,
    [alpha, beta]: [T; 2],
) -> Option<Vec<T>> {
    let [rows, columns] = a.shape;
    let fits = a.offsets.len() == rows + 1 && a.columns.len() == a.values.len();
    if !fits || x.len() != columns * width || out.len() != rows * width {
        return None;
    }
    let zero = T::identity(Operation::Sum);
    let product = |a, b| T::combined(Operation::Product, a, b);
    let add = |a, b| T::combined(Operation::Sum, a, b);
    let result = |at: usize| {
        let end = |row: usize| (a.offsets[row] as usize).min(a.values.len());
        let entries = if alpha == zero { 0..0 } else { end(at / width)..end(at / width + 1) };
        let mut sum = zero;
        for entry in entries {
            let row = a.columns[entry] as usize;
            if row < columns {
                sum = add(sum, product(a.values[entry], x[row * width + at % width]));
            }
        }
        let scaled = product(alpha, sum);
        if beta == zero { scaled } else { add(scaled, product(beta, out[at])) }
    };
    Some((0..out.len()).map(result).collect())
}

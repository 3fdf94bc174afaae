//! The functions of matrices.
//!
//! A matrix is a list of its columns, one after the other. The numbers are `f64`, so that a result of another type is
//! rounded once.

use smallvec::SmallVec;

/// Returns the transpose of a matrix.
pub(crate) fn transpose<T: Copy>(rows: usize, values: &[T]) -> impl Iterator<Item = T> {
    (0..rows).flat_map(move |row| values.iter().skip(row).step_by(rows).copied())
}

/// Returns the determinant of a square matrix.
#[inline]
pub(crate) fn determinant(size: usize, values: &[f64]) -> f64 {
    match (size, values) {
        (1, &[value]) => value,
        (2, &[a, b, c, d]) => a * d - b * c,
        (3, &[a, b, c, d, e, f, g, h, i]) => a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g),
        (4, values) => {
            // Laplace expansion: a minor of the first two columns, times the minor of the last two columns with the
            // remaining rows.
            let minors = |columns: &[f64]| {
                let minor = |a: usize, b: usize| columns[a] * columns[4 + b] - columns[b] * columns[4 + a];
                [minor(0, 1), minor(0, 2), minor(0, 3), minor(1, 2), minor(1, 3), minor(2, 3)]
            };
            let ([a, b, c, d, e, f], [g, h, i, j, k, l]) = (minors(&values[..8]), minors(&values[8..]));
            a * l - b * k + c * j + d * i - e * h + f * g
        }
        _ => unreachable!("bug: a matrix has {size} columns"),
    }
}

/// Returns the inverse of a square matrix. If it has none, the components are infinite or NaN.
pub(crate) fn inverse(size: usize, values: &[f64]) -> SmallVec<[f64; 16]> {
    let determinant = determinant(size, values);
    let places = (0..size).flat_map(|column| (0..size).map(move |row| (column, row)));
    places.map(|(column, row)| cofactor(size, values, row, column) / determinant).collect()
}

/// Returns a cofactor: the signed determinant of the matrix without a column and a row.
fn cofactor(size: usize, values: &[f64], column: usize, row: usize) -> f64 {
    let kept = |&(index, _): &(usize, &f64)| index / size != column && index % size != row;
    let minor: SmallVec<[f64; 16]> =
        values.iter().enumerate().filter(kept).map(|(_, &value)| value).collect();
    let determinant = determinant(size - 1, &minor);
    if (column + row).is_multiple_of(2) { determinant } else { -determinant }
}

//! Small matrices in double precision: factors, equations and eigenvalues. Matrices are lists, row by row.

/// Returns the lower triangle whose product with its transpose is a symmetric matrix, of which only the lower triangle is
/// read, or the number of the row, counted from 1, whose pivot is not positive.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::cholesky(&[4.0, 0.0, 2.0, 5.0], 2), Ok(vec![2.0, 0.0, 1.0, 2.0]));
/// assert_eq!(host::cholesky(&[1.0, 2.0, 2.0, 1.0], 2), Err(2));
/// ```
pub fn cholesky(a: &[f64], n: usize) -> Result<Vec<f64>, usize> {
    let mut l = vec![0.0; n * n];
    for row in 0..n {
        for column in 0..=row {
            let sum: f64 = (0..column).map(|k| l[row * n + k] * l[column * n + k]).sum();
            let rest = a[row * n + column] - sum;
            if row > column {
                l[row * n + column] = rest / l[column * n + column];
            } else if rest > 0.0 {
                l[row * n + row] = rest.sqrt();
            } else {
                return Err(row + 1);
            }
        }
    }
    Ok(l)
}

/// Returns the triangular factors of a matrix in one list, the order of its rows in their product, and the number of the
/// first pivot that is 0, counted from 1, or 0.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::lu(&[1.0, 2.0, 4.0, 4.0], 2), (vec![4.0, 4.0, 0.25, 1.0], vec![1, 0], 0));
/// assert_eq!(host::lu(&[1.0, 2.0, 2.0, 4.0], 2).2, 2);
/// ```
pub fn lu(a: &[f64], n: usize) -> (Vec<f64>, Vec<u32>, usize) {
    let mut factors = a.to_vec();
    let mut order: Vec<u32> = (0..n as u32).collect();
    let mut failure = 0;
    for k in 0..n {
        let mut pivot = k;
        for row in k + 1..n {
            if factors[row * n + k].abs() > factors[pivot * n + k].abs() {
                pivot = row;
            }
        }
        order.swap(k, pivot);
        for column in 0..n {
            factors.swap(k * n + column, pivot * n + column);
        }
        if factors[k * n + k] == 0.0 {
            failure = if failure == 0 { k + 1 } else { failure };
            continue;
        }
        for row in k + 1..n {
            let factor = factors[row * n + k] / factors[k * n + k];
            factors[row * n + k] = factor;
            for column in k + 1..n {
                factors[row * n + column] -= factor * factors[k * n + column];
            }
        }
    }
    (factors, order, failure)
}

/// Returns orthonormal columns and an upper triangle whose product is a matrix of this shape. The signs are those of
/// LAPACK.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// let (q, r) = host::qr(&[3.0, 4.0], [2, 1]);
/// assert_eq!(r, [-5.0]);
/// assert!((q[0] + 0.6).abs() < 1e-15 && (q[1] + 0.8).abs() < 1e-15);
/// ```
pub fn qr(a: &[f64], [rows, columns]: [usize; 2]) -> (Vec<f64>, Vec<f64>) {
    let steps = rows.min(columns);
    let mut r = a.to_vec();
    let mut q = vec![0.0; rows * rows];
    for row in 0..rows {
        q[row * rows + row] = 1.0;
    }
    for k in 0..steps {
        let tail: f64 = (k + 1..rows).map(|row| r[row * columns + k].powi(2)).sum();
        if tail == 0.0 {
            continue;
        }
        let head = r[k * columns + k];
        let length = (head * head + tail).sqrt();
        let mut v: Vec<f64> = (k..rows).map(|row| r[row * columns + k]).collect();
        v[0] += if head < 0.0 { -length } else { length };
        let square: f64 = v.iter().map(|x| x * x).sum();
        for column in k..columns {
            let sum: f64 = v.iter().enumerate().map(|(at, x)| x * r[(k + at) * columns + column]).sum();
            for (at, x) in v.iter().enumerate() {
                r[(k + at) * columns + column] -= 2.0 * sum / square * x;
            }
        }
        for row in q.chunks_mut(rows) {
            let sum: f64 = v.iter().zip(&row[k..]).map(|(x, y)| x * y).sum();
            row[k..].iter_mut().zip(&v).for_each(|(y, x)| *y -= 2.0 * sum / square * x);
        }
    }
    let of_q = (0..rows * steps).map(|at| q[at / steps * rows + at % steps]).collect();
    let of_r =
        (0..steps * columns).map(|at| if at / columns <= at % columns { r[at] } else { 0.0 }).collect();
    (of_q, of_r)
}

/// Returns the solutions x of a x = b, or `None` for a singular matrix.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::solve(&[0.0, 2.0, 4.0, 0.0], &[6.0, 8.0], 2), Some(vec![2.0, 3.0]));
/// ```
pub fn solve(a: &[f64], b: &[f64], n: usize) -> Option<Vec<f64>> {
    let (factors, order, failure) = lu(a, n);
    let columns = b.len().checked_div(n).unwrap_or(0);
    let sorted: Vec<f64> =
        order.iter().flat_map(|&row| b[row as usize * columns..][..columns].to_vec()).collect();
    let y = solve_triangular(&factors, &sorted, n, [true, true])?;
    if failure == 0 { solve_triangular(&factors, &y, n, [false, false]) } else { None }
}

/// Returns the solutions x of a x = b for the lower or the upper triangle of a matrix, with ones on its diagonal if
/// `is_unit` is `true`, or `None` if there is a 0 on it.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::solve_triangular(&[2.0, 9.0, 1.0, 4.0], &[2.0, 9.0], 2, [true, false]), Some(vec![1.0, 2.0]));
/// ```
pub fn solve_triangular(a: &[f64], b: &[f64], n: usize, [is_lower, is_unit]: [bool; 2]) -> Option<Vec<f64>> {
    let columns = b.len().checked_div(n).unwrap_or(0);
    let mut x = b.to_vec();
    for step in 0..n {
        let row = if is_lower { step } else { n - 1 - step };
        let known = if is_lower { 0..row } else { row + 1..n };
        let pivot = if is_unit { 1.0 } else { a[row * n + row] };
        if pivot == 0.0 {
            return None;
        }
        for column in 0..columns {
            let sum: f64 = known.clone().map(|k| a[row * n + k] * x[k * columns + column]).sum();
            x[row * columns + column] = (x[row * columns + column] - sum) / pivot;
        }
    }
    Some(x)
}

/// Returns the inverse of a matrix, or `None` if it is singular.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::inverse(&[0.0, 2.0, 4.0, 0.0], 2), Some(vec![0.0, 0.25, 0.5, 0.0]));
/// ```
pub fn inverse(a: &[f64], n: usize) -> Option<Vec<f64>> {
    let identity: Vec<f64> = (0..n * n).map(|at| if at / n == at % n { 1.0 } else { 0.0 }).collect();
    solve(a, &identity, n)
}

/// Returns the determinant of a matrix.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::determinant(&[0.0, 2.0, 4.0, 1.0], 2), -8.0);
/// ```
pub fn determinant(a: &[f64], n: usize) -> f64 {
    let (factors, order, _) = lu(a, n);
    (0..n).map(|k| factors[k * n + k]).product::<f64>() * sign_of(order)
}

/// Returns the sign of the determinant of a matrix, and the natural logarithm of its magnitude.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// let (sign, log) = host::log_determinant(&[0.0, 2.0, 4.0, 1.0], 2);
/// assert_eq!(sign, -1.0);
/// assert!((log - 8.0_f64.ln()).abs() < 1e-14);
/// assert_eq!(host::log_determinant(&[1.0, 2.0, 2.0, 4.0], 2), (0.0, f64::NEG_INFINITY));
/// ```
pub fn log_determinant(a: &[f64], n: usize) -> (f64, f64) {
    let (factors, order, _) = lu(a, n);
    let pivots = (0..n).map(|k| factors[k * n + k]);
    let log = pivots.clone().map(|pivot| pivot.abs().ln()).sum();
    let signs = pivots.map(|pivot| if pivot == 0.0 { 0.0 } else { pivot.signum() });
    (signs.product::<f64>() * sign_of(order), log)
}

/// Returns 1 for an order that an even number of exchanges makes, and else -1.
fn sign_of(mut order: Vec<u32>) -> f64 {
    let mut sign = 1.0;
    for row in 0..order.len() {
        while order[row] as usize != row {
            let other = order[row] as usize;
            order.swap(row, other);
            sign = -sign;
        }
    }
    sign
}

/// Returns the eigenvalues of a symmetric matrix in ascending order, and its eigenvectors as columns. Only the lower
/// triangle is read.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// let (values, vectors) = host::eigh(&[2.0, 0.0, 1.0, 2.0], 2);
/// assert!((values[0] - 1.0).abs() < 1e-14 && (values[1] - 3.0).abs() < 1e-14);
/// assert!((vectors[0] + vectors[2]).abs() < 1e-14);
/// ```
pub fn eigh(a: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut a: Vec<f64> = (0..n * n).map(|at| a[(at / n).max(at % n) * n + (at / n).min(at % n)]).collect();
    let mut v: Vec<f64> = (0..n * n).map(|at| if at / n == at % n { 1.0 } else { 0.0 }).collect();
    let size: f64 = a.iter().map(|x| x * x).sum::<f64>().sqrt();
    // Each rotation makes an element vanish, and later ones leave it smaller than it was.
    for _ in 0..60 {
        let pairs = (0..n).flat_map(|q| (0..q).map(move |p| (p, q)));
        for (p, q) in pairs {
            let x = a[q * n + p];
            if x.abs() <= 1e-18 * size {
                continue;
            }
            let cotangent = (a[q * n + q] - a[p * n + p]) / (2.0 * x);
            let tangent = cotangent.signum() / (cotangent.abs() + cotangent.hypot(1.0));
            let cosine = 1.0 / tangent.hypot(1.0);
            let sine = tangent * cosine;
            let rotate = |list: &mut [f64], first: usize, second: usize| {
                let [x, y] = [list[first], list[second]];
                list[first] = cosine * x - sine * y;
                list[second] = sine * x + cosine * y;
            };
            for k in 0..n {
                rotate(&mut a, p * n + k, q * n + k);
            }
            for k in 0..n {
                rotate(&mut a, k * n + p, k * n + q);
                rotate(&mut v, k * n + p, k * n + q);
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&x, &y| a[x * n + x].total_cmp(&a[y * n + y]));
    let values = order.iter().map(|&k| a[k * n + k]).collect();
    let vectors = (0..n * n).map(|at| v[at / n * n + order[at % n]]).collect();
    (values, vectors)
}

/// Returns the eigenvalues of a symmetric matrix in ascending order. Only the lower triangle is read.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::eigvalsh(&[5.0, 0.0, 0.0, 2.0], 2), [2.0, 5.0]);
/// ```
pub fn eigvalsh(a: &[f64], n: usize) -> Vec<f64> {
    eigh(a, n).0
}

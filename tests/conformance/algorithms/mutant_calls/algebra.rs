//! Calls of linear algebra that use each text of its kernels in each of its forms.

use super::super::verb_table::Arrays;
use super::Calls;
use fencepost::algorithms::prelude::*;
use fencepost::{CommandQueue, DeviceArray, Result};

/// Numbers of rows: of one invocation, of several in a workgroup with several matrices, and of elements in scratch memory with
/// and without a last column for each invocation.
const SIDES: [usize; 6] = [1, 2, 4, 5, 8, 9];

/// Number of matrices of a stack, so that a workgroup and a launch are not full.
const MATRICES: usize = 3;

/// Returns numbers of a few bits, different ones for each `seed`.
fn numbers(len: usize, seed: usize) -> Vec<f32> {
    let mut rng = fastrand::Rng::with_seed(seed as u64);
    (0..len).map(|_| rng.i32(-40..=40) as f32 / 8.0).collect()
}

/// Returns symmetric matrices, which are positive definite with a large diagonal.
fn symmetric(n: usize, diagonal: f32) -> Vec<f32> {
    let list = numbers(MATRICES * n * n, n);
    let element = |at: usize| {
        let [matrix, row, column] = [at / (n * n), at / n % n, at % n];
        let x = list[matrix * n * n + row.max(column) * n + row.min(column)];
        if row == column { x.abs() + diagonal } else { x }
    };
    (0..list.len()).map(element).collect()
}

fn stack(q: &CommandQueue, list: &[f32], n: usize) -> Result<DeviceArray<f32, 3>> {
    q.array(list)?.reshape([list.len() / (n * n), n, n])
}

/// Returns the first elements of a result in a shape.
fn part<const D: usize>(list: &DeviceArray<u32>, shape: [usize; D]) -> Result<DeviceArray<f32, D>> {
    list.slice(0..shape.iter().product())?.cast_bits().reshape(shape)
}

/// Returns a number for each matrix of the results.
fn info(a: &Arrays, matrices: usize) -> Result<DeviceArray<u32>> {
    a.few.slice(0..matrices)
}

/// Calls the verbs for determinants.
fn determinants<const D: usize>(
    q: &CommandQueue,
    a: &Arrays,
    x: impl Into<Matrices<f32>>,
    shape: [usize; D],
) -> Result<()> {
    let x = x.into();
    q.determinant(x.clone(), &mut part(&a.few, shape)?)?;
    q.log_determinant(x, &mut part(&a.out, shape)?, &mut part(&a.other, shape)?)
}

impl Calls {
    pub(super) fn linear_algebra(&mut self) {
        for n in SIDES {
            self.factors(n);
            self.equations(n);
            self.triangles(n);
            self.eigenvalues(n);
        }
        self.special_matrices();
        self.determinants();
        self.columns_of_all_sizes();
        self.stacks();
    }

    fn factors(&mut self, n: usize) {
        // Without a large diagonal, some matrices are not positive definite.
        for (diagonal, triangle) in [(40.0, Triangle::Lower), (2.0, Triangle::Upper)] {
            self.add(format!("cholesky of {n} rows, {diagonal}"), move |q, a| {
                let x = stack(q, &symmetric(n, diagonal), n)?;
                q.cholesky(&x, &mut part(&a.out, [MATRICES, n, n])?, &mut info(a, MATRICES)?, triangle)
            });
        }
        self.add(format!("lu of {n} rows"), move |q, a| {
            let x = stack(q, &numbers(MATRICES * n * n, n), n)?;
            let mut order = a.other.slice(0..MATRICES * n)?.reshape([MATRICES, n])?;
            q.lu(&x, &mut part(&a.out, [MATRICES, n, n])?, &mut order, &mut info(a, MATRICES)?)
        });
        for [rows, columns] in [[n, n], [n + 2, n], [n, n + 2]] {
            self.add(format!("qr of {rows} x {columns}"), move |q, a| {
                let x = q.array(&numbers(2 * rows * columns, n))?.reshape([2, rows, columns])?;
                let mut of_q = part(&a.out, [2, rows, n])?;
                q.qr(&x, &mut of_q, &mut part(&a.other, [2, n, columns])?)
            });
        }
    }

    fn equations(&mut self, n: usize) {
        for columns in [1, 3] {
            self.add(format!("solve of {n} rows, {columns} columns"), move |q, a| {
                let x = stack(q, &numbers(MATRICES * n * n, n), n)?;
                let b = q.array(&numbers(MATRICES * n * columns, 99))?.reshape([MATRICES, n, columns])?;
                q.solve(&x, &b, &mut part(&a.out, b.shape())?, &mut info(a, MATRICES)?)
            });
        }
        // Several tasks for each matrix.
        let columns = 160 / n;
        self.add(format!("solve of {n} rows, {columns} columns"), move |q, a| {
            let x = stack(q, &numbers(2 * n * n, n), n)?;
            let b = q.array(&numbers(2 * n * columns, 98))?.reshape([2, n, columns])?;
            q.solve(&x, &b, &mut part(&a.out, b.shape())?, &mut info(a, 2)?)
        });
        self.add(format!("inverse of {n} rows"), move |q, a| {
            let x = stack(q, &numbers(MATRICES * n * n, n), n)?;
            q.inverse(&x, &mut part(&a.out, [MATRICES, n, n])?, &mut info(a, MATRICES)?)
        });
        self.add(format!("determinants of {n} rows"), move |q, a| {
            let x = stack(q, &numbers(MATRICES * n * n, n), n)?;
            determinants(q, a, &x, [MATRICES])
        });
    }

    fn triangles(&mut self, n: usize) {
        let all = [Triangular::lower(), Triangular::upper(), Triangular::lower().unit()];
        for (at, options) in all.into_iter().enumerate() {
            self.add(format!("triangle {at} of {n} rows"), move |q, a| {
                let x = stack(q, &numbers(MATRICES * n * n, n), n)?;
                let b = q.array(&numbers(MATRICES * n * 2, 97))?.reshape([MATRICES, n, 2])?;
                let order: Vec<u32> = (0..MATRICES * n).map(|i| (i * 5 + i / n) as u32 % 11).collect();
                let order = q.array(&order)?.reshape([MATRICES, n])?;
                let options = if at == 0 { options.clone() } else { options.clone().order(&order) };
                q.solve_triangular(&x, &b, &mut part(&a.out, b.shape())?, &mut info(a, MATRICES)?, options)
            });
        }
    }

    fn eigenvalues(&mut self, n: usize) {
        self.add(format!("eigh of {n} rows"), move |q, a| {
            let x = stack(q, &symmetric(n, 0.0), n)?;
            let mut values = part(&a.other, [MATRICES, n])?;
            let mut vectors = part(&a.out, [MATRICES, n, n])?;
            q.eigh(&x, &mut values, &mut vectors, &mut info(a, MATRICES)?, Triangle::Lower)
        });
        self.add(format!("eigvalsh of {n} rows"), move |q, a| {
            let x = stack(q, &symmetric(n, 0.0), n)?;
            let mut values = part(&a.other, [MATRICES, n])?;
            q.eigvalsh(&x, &mut values, &mut info(a, MATRICES)?, Triangle::Upper)
        });
    }

    /// Calls the verbs with elements on the diagonal that are at the limits of what they accept.
    fn special_matrices(&mut self) {
        let least = f32::MIN_POSITIVE;
        let below = f32::from_bits(least.to_bits() - 1);
        let nan = f32::from_bits(0x7F80_0001);
        for x in [0.0, below, least, -least, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, nan, -1.0] {
            // A matrix of one element, and the last element of a diagonal.
            let of_three = move || vec![2.0, 1.0, 0.0, 1.0, 3.0, 0.0, 0.0, 0.0, x];
            self.add(format!("cholesky of {x}"), move |q, a| {
                let one = stack(q, &[x], 1)?;
                q.cholesky(&one, &mut part(&a.other, [1, 1, 1])?, &mut info(a, 1)?, Triangle::Lower)?;
                let three = stack(q, &of_three(), 3)?;
                q.cholesky(&three, &mut part(&a.out, [1, 3, 3])?, &mut a.one, Triangle::Lower)
            });
            self.add(format!("inverse of {x}"), move |q, a| {
                let three = stack(q, &of_three(), 3)?;
                q.inverse(&three, &mut part(&a.out, [1, 3, 3])?, &mut a.one)
            });
            self.add(format!("eigh of {x}"), move |q, a| {
                let three = stack(q, &of_three(), 3)?;
                let mut vectors = part(&a.out, [1, 3, 3])?;
                q.eigh(&three, &mut part(&a.other, [1, 3])?, &mut vectors, &mut a.one, Triangle::Lower)
            });
            self.add(format!("triangle of {x}"), move |q, a| {
                let three = stack(q, &of_three(), 3)?;
                let b = q.array(&[1.0_f32, 2.0, 3.0])?;
                q.solve_triangular(&three, &b, &mut part(&a.out, [1, 3])?, &mut a.one, Triangular::upper())
            });
            self.add(format!("determinants of {x}"), move |q, a| {
                determinants(q, a, &stack(q, &of_three(), 3)?, [1])
            });
        }
        // Quotients that overflow or lose bits with another factor.
        self.add("quotients of large and small numbers", |q, a| {
            let large = 2.0_f32.powi(127);
            let x = stack(q, &[1.0, f32::MAX, f32::from_bits(0x0080_0001)], 1)?;
            let b = stack(q, &[large, large, 1.0], 1)?;
            let mut out = part(&a.out, [3, 1, 1])?;
            q.solve_triangular(&x, &b, &mut out, &mut info(a, 3)?, Triangular::upper())
        });
        // A singular matrix whose column without a pivot is in the middle.
        self.add("lu of a singular matrix", |q, a| {
            let x = stack(q, &[1.0, 2.0, 3.0, 2.0, 4.0, 7.0, 3.0, 6.0, 1.0], 3)?;
            q.lu(&x, &mut part(&a.out, [1, 3, 3])?, &mut a.other.slice(0..3)?.reshape([1, 3])?, &mut a.one)
        });
    }

    /// Calls the verbs for determinants with products that have all exponents.
    fn determinants(&mut self) {
        let powers = [
            [127, 0, 0],
            [127, 1, 0],
            [126, 1, -127],
            [-126, 0, 0],
            [-126, -1, 0],
            [-126, -126, 127],
            [100, 100, -100],
            [127, 127, 127],
            [-100, -100, -100],
        ];
        for exponents in powers {
            self.add(format!("determinants of {exponents:?}"), move |q, a| {
                let [x, y, z] = exponents.map(|exponent: i32| 1.5 * 2.0_f32.powi(exponent));
                let list = [0.0, x, 0.0, y, 0.0, 0.0, 0.0, 0.0, z];
                determinants(q, a, &stack(q, &list, 3)?, [1])
            });
        }
    }

    /// Calls `qr` with columns whose largest elements have all exponents.
    fn columns_of_all_sizes(&mut self) {
        let sizes = [f32::MAX, 1e30, 1.0, 1e-30, f32::MIN_POSITIVE, 1e-40, 0.0, f32::INFINITY];
        for size in sizes {
            self.add(format!("qr of {size:e}"), move |q, a| {
                let list = [size / 2.0, 1.0, -size, 2.0, 0.0, 3.0];
                let x = q.array(&list)?.reshape([1, 3, 2])?;
                q.qr(&x, &mut part(&a.out, [1, 3, 2])?, &mut part(&a.other, [1, 2, 2])?)
            });
            self.add(format!("eigh of {size:e}"), move |q, a| {
                let x = stack(q, &[size / 2.0, size / 8.0, size / 8.0, -size], 2)?;
                let mut values = part(&a.other, [1, 2])?;
                q.eigh(&x, &mut values, &mut part(&a.out, [1, 2, 2])?, &mut a.one, Triangle::Lower)
            });
        }
        // Squares below the diagonal that are too small to be reflected, and others that are not.
        for exponent in [-49, -50, -51] {
            self.add(format!("qr of 1 and 2^{exponent}"), move |q, a| {
                let x = q.array(&[1.0_f32, 5.0, 2.0_f32.powi(exponent), 7.0])?.reshape([1, 2, 2])?;
                q.qr(&x, &mut part(&a.out, [1, 2, 2])?, &mut part(&a.other, [1, 2, 2])?)
            });
        }
    }

    /// Calls the verbs with stacks of which each array repeats along other axes, with padding, and with views.
    fn stacks(&mut self) {
        for n in [2, 6] {
            self.add(format!("solve of stacks of {n} rows"), move |q, a| {
                let x = q.array(&numbers(2 * n * n, 7))?.reshape([2, 1, 1, n, n])?;
                let b = q.array(&numbers(4 * n * 2, 8))?.reshape([1, 2, 2, n, 2])?;
                let mut out = part(&a.out, [2, 2, 2, n, 2])?;
                q.solve(&x, &b, &mut out, &mut a.few.slice(0..8)?.reshape([2, 2, 2])?)
            });
            self.add(format!("triangles of stacks of {n} rows"), move |q, a| {
                let x = q.array(&numbers(2 * n * n, 7))?.reshape([1, 2, 1, n, n])?;
                let b = q.array(&numbers(2 * n * 2, 8))?.reshape([2, 1, 1, n, 2])?;
                let order: Vec<u32> = (0..2 * n as u32).rev().map(|row| row % n as u32).collect();
                let order = q.array(&order)?.reshape([1, 1, 2, n])?;
                let mut out = part(&a.out, [2, 2, 2, n, 2])?;
                let mut of_matrix = a.few.slice(0..8)?.reshape([2, 2, 2])?;
                let options = Triangular::lower().order(&order);
                q.solve_triangular(&x, &b, &mut out, &mut of_matrix, options)
            });
            let view = move |q: &CommandQueue| -> Result<Matrices<f32>> {
                let strides = [5, 0, 2 * n as isize, -(n as isize) - 1, 2];
                Ok(q.array(&numbers(300, 9))?.matrices([2, 2, 2, n, n], Strides { first: 90, strides }))
            };
            self.add(format!("lu of views of {n} rows"), move |q, a| {
                let mut order = a.other.slice(0..8 * n)?.reshape([2, 2, 2, n])?;
                let mut of_matrix = a.few.slice(0..8)?.reshape([2, 2, 2])?;
                q.lu(view(q)?, &mut part(&a.out, [2, 2, 2, n, n])?, &mut order, &mut of_matrix)
            });
            self.add(format!("cholesky of views of {n} rows"), move |q, a| {
                let mut of_matrix = a.few.slice(0..8)?.reshape([2, 2, 2])?;
                let mut out = part(&a.out, [2, 2, 2, n, n])?;
                q.cholesky(view(q)?, &mut out, &mut of_matrix, Triangle::Upper)
            });
            self.add(format!("qr of views of {n} rows"), move |q, a| {
                let mut of_q = part(&a.out, [2, 2, 2, n, n])?;
                q.qr(view(q)?, &mut of_q, &mut part(&a.both, [2, 2, 2, n, n])?)
            });
            self.add(format!("eigh of views of {n} rows"), move |q, a| {
                let mut values = part(&a.other, [2, 2, 2, n])?;
                let mut of_matrix = a.few.slice(0..8)?.reshape([2, 2, 2])?;
                let mut vectors = part(&a.out, [2, 2, 2, n, n])?;
                q.eigh(view(q)?, &mut values, &mut vectors, &mut of_matrix, Triangle::Lower)
            });
            self.add(format!("determinants of views of {n} rows"), move |q, a| {
                determinants(q, a, view(q)?, [2, 2, 2])
            });
        }
    }
}

//! A01, A23: factors, equations and eigenvalues of small matrices, against double precision.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_captured_linear_algebra_equals_that_of_the_queue", captured),
        case("a23_cholesky_factors_are_within_their_bound", cholesky),
        case("a23_triangular_factors_are_within_their_bound", lu),
        case("a23_orthonormal_factors_are_within_their_bound", qr),
        case("a23_solutions_are_within_their_bound", solve),
        case("a23_solutions_of_triangles_are_within_their_bound", triangles),
        case("a23_inverses_and_determinants_are_within_their_bounds", inverses),
        case("a23_logarithms_of_determinants_are_within_their_bound", logarithms),
        case("a23_eigenvalues_and_eigenvectors_are_within_their_bounds", eigen),
        case("a23_large_and_small_numbers_neither_overflow_nor_vanish", extremes),
        case("a23_quotients_by_the_largest_pivots_are_not_zero", largest),
        case("a23_each_matrix_of_a_large_stack_has_its_own_results", many),
        case("a23_two_runs_of_linear_algebra_give_the_same_bits", twice),
    ]
}

/// Half a unit in the last place of numbers from 1 to 2.
const U: f64 = 1.0 / 16_777_216.0;

/// Returns numbers of rows: one, around the sizes of workgroups, and the largest. The simulator interprets the kernels, and
/// the driver of GL takes seconds to compile one.
fn sides(s: &Subject) -> &'static [usize] {
    if large() {
        &[1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 61, 62, 63, 64, 65, 127, 128]
    } else if s.place().is_gl() {
        &[6, 20]
    } else if s.is_cpu() {
        &[1, 2, 4, 5, 9, 17]
    } else {
        &[1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 62, 63, 64, 128]
    }
}

/// Calls `run` with numbers of rows, and with the kernels of several devices. With kernels that other devices have, the
/// loops of large matrices are longer than some devices execute.
fn with_sides(s: &Subject, mut run: impl FnMut(usize)) {
    let mut is_own = true;
    with_forms(s, || {
        sides(s).iter().copied().filter(|&n| is_own || n <= 40).for_each(&mut run);
        is_own = false;
    });
}

/// Returns numbers from -1 to 1.
pub(super) fn random(rng: &mut fastrand::Rng, len: usize) -> Vec<f32> {
    (0..len).map(|_| rng.f32() * 2.0 - 1.0).collect()
}

/// Returns a positive definite matrix.
pub(super) fn positive(rng: &mut fastrand::Rng, n: usize) -> Vec<f32> {
    let g = wide(&random(rng, n * n));
    let product = times(&g, &turned(&g, [n, n]), [n, n, n]);
    product.iter().enumerate().map(|(at, &x)| (x + if at / n == at % n { 0.1 } else { 0.0 }) as f32).collect()
}

/// Returns a matrix whose lower triangle is repeated above the diagonal.
fn symmetric(rng: &mut fastrand::Rng, n: usize) -> Vec<f32> {
    let list = random(rng, n * n);
    (0..n * n).map(|at| list[(at / n).max(at % n) * n + (at / n).min(at % n)]).collect()
}

/// Returns a symmetric matrix with equal eigenvalues: all are 1 but one, which is 1 - `factor`.
fn reflection(rng: &mut fastrand::Rng, n: usize, factor: f64) -> Vec<f32> {
    let v = wide(&random(rng, n));
    let scale = factor / norm(&v).powi(2);
    identity(n).iter().enumerate().map(|(at, x)| (x - scale * v[at / n] * v[at % n]) as f32).collect()
}

/// Replaces the elements outside of a triangle by NaNs.
fn without_others(list: &[f32], n: usize, triangle: Triangle) -> Vec<f32> {
    let is_outside = |at: usize| match triangle {
        Triangle::Lower => at % n > at / n % n,
        Triangle::Upper => at % n < at / n % n,
    };
    list.iter().enumerate().map(|(at, &x)| if is_outside(at) { f32::NAN } else { x }).collect()
}

fn wide(list: &[f32]) -> Vec<f64> {
    list.iter().map(|&x| f64::from(x)).collect()
}

fn wides<const N: usize>(lists: [&[f32]; N]) -> [Vec<f64>; N] {
    lists.map(wide)
}

/// Returns a matrix with rows and columns exchanged.
fn turned(a: &[f64], [rows, columns]: [usize; 2]) -> Vec<f64> {
    (0..rows * columns).map(|at| a[at % rows * columns + at / rows]).collect()
}

/// Returns a product of matrices.
fn times(a: &[f64], b: &[f64], [rows, inner, columns]: [usize; 3]) -> Vec<f64> {
    let result =
        |at: usize| (0..inner).map(move |k| a[at / columns * inner + k] * b[k * columns + at % columns]);
    (0..rows * columns).map(|at| result(at).sum()).collect()
}

fn norm(list: &[f64]) -> f64 {
    list.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|at| if at / n == at % n { 1.0 } else { 0.0 }).collect()
}

/// Checks that the norm of a difference is within 8 n u times a size.
#[track_caller]
fn near(found: &[f64], expected: &[f64], n: usize, size: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what} of {n} rows");
    let difference: Vec<f64> = found.iter().zip(expected).map(|(x, y)| x - y).collect();
    let error = norm(&difference);
    let bound = 8.0 * n as f64 * U * size;
    assert!(error <= bound, "{what} of {n} rows: {error:e} is more than {bound:e}");
}

/// Checks that the products of the columns of a matrix are 0 and 1.
#[track_caller]
fn orthonormal(q: &[f64], [rows, columns]: [usize; 2]) {
    let products = times(&turned(q, [rows, columns]), q, [columns, rows, columns]);
    let n = rows.max(columns);
    for (at, (product, expected)) in products.iter().zip(identity(columns)).enumerate() {
        let error = (product - expected).abs();
        assert!(error <= 8.0 * n as f64 * U, "columns {} and {}: {product}", at / columns, at % columns);
    }
}

/// Number of matrices of a stack: several workgroups and launches, the last of which are not full.
const MATRICES: usize = 5;

/// Results of a verb for a stack, with the numbers of `info`.
pub(super) struct Found {
    pub(super) lists: Vec<Vec<f32>>,
    pub(super) info: Vec<u32>,
}

/// Calls a verb for a stack of square matrices. Its results have these numbers of elements for each matrix, between guard
/// elements; `info` has other numbers before.
#[track_caller]
pub(super) fn call<const N: usize>(
    queue: &CommandQueue,
    stack: &[Vec<f32>],
    [rows, columns]: [usize; 2],
    sizes: [usize; N],
    verb: impl FnOnce(&DeviceArray<f32, 3>, [DeviceArray<f32>; N], &mut DeviceArray<u32>) -> Result<()>,
) -> Found {
    let a = queue.array(&stack.concat()).unwrap().reshape([stack.len(), rows, columns]).unwrap();
    let lens = sizes.map(|size| size * stack.len());
    let wholes = lens.map(|len| queue.full([len + 128], 5.0_f32).unwrap());
    let infos = queue.full([stack.len() + 128], 99_u32).unwrap();
    verb(&a, wholes.each_ref().map(inside), &mut inside(&infos)).unwrap();
    let lists = wholes.iter().map(|whole| {
        let mut list = queue.read(whole).wait().unwrap();
        let after = list.split_off(list.len() - 64);
        let results = list.split_off(64);
        assert_eq!((list, after), (vec![5.0; 64], vec![5.0; 64]), "{rows} x {columns}");
        results
    });
    let lists = lists.collect();
    let mut info = queue.read(&infos).wait().unwrap();
    let after = info.split_off(info.len() - 64);
    let results = info.split_off(64);
    assert_eq!((info, after), (vec![99; 64], vec![99; 64]), "{rows} x {columns}");
    Found { lists, info: results }
}

fn cholesky(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(2301);
    with_sides(s, |n| {
        for triangle in [Triangle::Lower, Triangle::Upper] {
            let stack: Vec<Vec<f32>> = (0..MATRICES).map(|_| positive(&mut rng, n)).collect();
            let given: Vec<Vec<f32>> = stack.iter().map(|a| without_others(a, n, triangle)).collect();
            let found = call(&queue, &given, [n, n], [n * n], |a, [out], info| {
                queue.cholesky(a, &mut out.reshape(a.shape())?, info, triangle)
            });
            assert_eq!(found.info, [0; MATRICES], "{n} rows");
            for (a, l) in stack.iter().zip(found.lists[0].chunks(n * n)) {
                let [a, l] = wides([a, l]);
                let l = if triangle == Triangle::Upper { turned(&l, [n, n]) } else { l };
                assert!((0..n * n).all(|at| at % n <= at / n || l[at] == 0.0), "{n} rows");
                near(&times(&l, &turned(&l, [n, n]), [n, n, n]), &a, n, norm(&a), "the product");
                let condition = norm(&a) * norm(&host::inverse(&a, n).unwrap());
                let expected = host::cholesky(&a, n).unwrap();
                near(&l, &expected, n, condition * norm(&expected), "the factor");
            }
        }
    });
}

fn lu(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(2302);
    with_sides(s, |n| {
        let stack: Vec<Vec<f32>> = (0..MATRICES).map(|_| random(&mut rng, n * n)).collect();
        let mut order = queue.full([MATRICES, n], 99_u32).unwrap();
        let found = call(&queue, &stack, [n, n], [n * n], |a, [out], info| {
            queue.lu(a, &mut out.reshape(a.shape())?, &mut order, info)
        });
        assert_eq!(found.info, [0; MATRICES], "{n} rows");
        let orders = queue.read(&order).wait().unwrap();
        for ((a, factors), order) in stack.iter().zip(found.lists[0].chunks(n * n)).zip(orders.chunks(n)) {
            near_product(&wide(a), &wide(factors), order, n);
        }
    });
    // Of elements with equal magnitudes, the first one is the pivot.
    let equal: [&[f32]; 2] = [
        &[1.0, 2.0, -1.0, 3.0],
        &[-1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.0, -1.0, -2.0, 3.0, 4.0],
    ];
    with_forms(s, || {
        for (list, n) in equal.into_iter().zip([2, 4]) {
            let mut order = queue.full([1, n], 99_u32).unwrap();
            call(&queue, &[list.to_vec()], [n, n], [n * n], |a, [out], info| {
                queue.lu(a, &mut out.reshape(a.shape())?, &mut order, info)
            });
            let expected: Vec<u32> = (0..n as u32).collect();
            assert_eq!(queue.read(&order).wait().unwrap(), expected, "{n} rows");
        }
    });
}

/// Checks the triangular factors of a matrix. With pivots, no element of the lower one is above 1.
#[track_caller]
fn near_product(a: &[f64], factors: &[f64], order: &[u32], n: usize) {
    let mut rows: Vec<u32> = order.to_vec();
    rows.sort();
    assert!(rows.iter().copied().eq(0..n as u32), "{order:?} is not an order");
    let part = |at: usize, is_lower: bool| {
        let [row, column] = [at / n, at % n];
        if (row > column) == is_lower { factors[at] } else { f64::from(u8::from(is_lower && row == column)) }
    };
    let [l, u] = [true, false].map(|is_lower| (0..n * n).map(|at| part(at, is_lower)).collect::<Vec<f64>>());
    assert!(l.iter().all(|x| x.abs() <= 1.000_001), "{n} rows");
    let expected: Vec<f64> = order.iter().flat_map(|&row| a[row as usize * n..][..n].to_vec()).collect();
    near(&times(&l, &u, [n, n, n]), &expected, n, norm(a), "the product");
}

fn qr(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(2303);
    with_sides(s, |n| {
        let less = n.div_ceil(3);
        for [rows, columns] in [[n, n], [n, less], [less, n]] {
            let steps = rows.min(columns);
            let stack: Vec<Vec<f32>> = (0..MATRICES).map(|_| random(&mut rng, rows * columns)).collect();
            let sizes = [rows * steps, steps * columns];
            let found = call(&queue, &stack, [rows, columns], sizes, |a, [q, r], _| {
                let mut q = q.reshape([MATRICES, rows, steps])?;
                queue.qr(a, &mut q, &mut r.reshape([MATRICES, steps, columns])?)
            });
            let qs = found.lists[0].chunks(sizes[0]);
            for (a, (q, r)) in stack.iter().zip(qs.zip(found.lists[1].chunks(sizes[1]))) {
                let [a, q, r] = wides([a, q, r]);
                orthonormal(&q, [rows, steps]);
                assert!((0..steps * columns).all(|at| at / columns <= at % columns || r[at] == 0.0));
                near(&times(&q, &r, [rows, steps, columns]), &a, n, norm(&a), "the product");
                let (_, expected) = host::qr(&a, [rows, columns]);
                let sign = |r: &[f64], k: usize| r[k * columns + k] < 0.0;
                assert!((0..steps).all(|k| sign(&r, k) == sign(&expected, k)), "{rows} x {columns}");
            }
        }
    });
    // A column of zeros, and a triangle, which has no elements to reflect.
    let list = [0.0_f32, 3.0, 0.0, -4.0];
    let found = call(&queue, &[list.to_vec()], [2, 2], [4, 4], |a, [q, r], _| {
        queue.qr(a, &mut q.reshape([1, 2, 2])?, &mut r.reshape([1, 2, 2])?)
    });
    assert_eq!(found.lists, [vec![1.0, 0.0, 0.0, 1.0], list.to_vec()]);
}

fn solve(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(2304);
    with_sides(s, |n| {
        // With many right sides, a matrix has several tasks.
        for columns in [1, 3, if n <= 20 { 150 } else { n + 1 }] {
            let stack: Vec<Vec<f32>> = (0..MATRICES).map(|_| random(&mut rng, n * n)).collect();
            let list = random(&mut rng, MATRICES * n * columns);
            let b = queue.array(&list).unwrap().reshape([MATRICES, n, columns]).unwrap();
            let found = call(&queue, &stack, [n, n], [n * columns], |a, [out], info| {
                queue.solve(a, &b, &mut out.reshape(b.shape())?, info)
            });
            assert_eq!(found.info, [0; MATRICES], "{n} rows");
            let solutions = found.lists[0].chunks(n * columns);
            for ((a, b), x) in stack.iter().zip(list.chunks(n * columns)).zip(solutions) {
                let [a, b, x] = wides([a, b, x]);
                near(&times(&a, &x, [n, n, columns]), &b, n, norm(&a) * norm(&x), "the product");
                let condition = norm(&a) * norm(&host::inverse(&a, n).unwrap());
                let expected = host::solve(&a, &b, n).unwrap();
                if condition < 1e4 {
                    near(&x, &expected, n, 2.0 * condition * norm(&expected), "the solution");
                }
            }
        }
    });
}

fn triangles(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(2305);
    let options =
        [Triangular::lower(), Triangular::upper(), Triangular::lower().unit(), Triangular::upper().unit()];
    with_sides(s, |n| {
        for (options, columns) in options.iter().zip([1, 3, 4, 70]) {
            let diagonal =
                |rng: &mut fastrand::Rng| if rng.bool() { 1.0 + rng.f32() } else { -1.0 - rng.f32() };
            let element = |rng: &mut fastrand::Rng, at: usize| {
                if at / n != at % n {
                    (rng.f32() * 2.0 - 1.0) / n as f32
                } else if options.unit {
                    f32::NAN
                } else {
                    diagonal(rng)
                }
            };
            let stack: Vec<Vec<f32>> =
                (0..MATRICES).map(|_| (0..n * n).map(|at| element(&mut rng, at)).collect()).collect();
            let stack: Vec<Vec<f32>> = stack.iter().map(|a| without_others(a, n, options.triangle)).collect();
            let list = random(&mut rng, MATRICES * n * columns);
            let b = queue.array(&list).unwrap().reshape([MATRICES, n, columns]).unwrap();
            // The rows in another order for each matrix, in a longer array.
            let orders: Vec<u32> = (0..MATRICES)
                .flat_map(|_| {
                    let mut order: Vec<u32> = (0..n as u32).collect();
                    rng.shuffle(&mut order);
                    order.into_iter().chain([1_000_000])
                })
                .collect();
            let order = queue.array(&orders).unwrap();
            let strides = Strides { first: 0, strides: [n as isize + 1, 1] };
            let order = order.matrices([MATRICES, n], strides);
            for of_rows in [None, Some(order)] {
                let is_ordered = of_rows.is_some();
                let mut options = options.clone();
                options.order = of_rows;
                let flags = [options.triangle == Triangle::Lower, options.unit];
                let found = call(&queue, &stack, [n, n], [n * columns], |a, [out], info| {
                    queue.solve_triangular(a, &b, &mut out.reshape(b.shape())?, info, options)
                });
                assert_eq!(found.info, [0; MATRICES], "{n} rows");
                for at in 0..MATRICES {
                    let x = wide(&found.lists[0][at * n * columns..][..n * columns]);
                    let b = wide(&list[at * n * columns..][..n * columns]);
                    let source =
                        |row: usize| if is_ordered { orders[at * (n + 1) + row] as usize } else { row };
                    let b: Vec<f64> =
                        (0..n).flat_map(|row| b[source(row) * columns..][..columns].to_vec()).collect();
                    let of_triangle = |(at, &x): (usize, &f32)| {
                        if at / n == at % n && flags[1] {
                            1.0
                        } else if x.is_nan() {
                            0.0
                        } else {
                            f64::from(x)
                        }
                    };
                    let a: Vec<f64> = stack[at].iter().enumerate().map(of_triangle).collect();
                    let size = norm(&a) * norm(&x);
                    near(&times(&a, &x, [n, n, columns]), &b, n, size, "the product");
                    let expected = host::solve_triangular(&a, &b, n, flags).unwrap();
                    near(&x, &expected, n, 4.0 * norm(&a) * norm(&expected), "the solution");
                }
            }
        }
    });
}

fn inverses(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(2306);
    with_sides(s, |n| {
        let stack: Vec<Vec<f32>> = (0..MATRICES).map(|_| random(&mut rng, n * n)).collect();
        let found = call(&queue, &stack, [n, n], [n * n, 1], |a, [out, determinants], info| {
            queue.inverse(a, &mut out.reshape(a.shape())?, info)?;
            queue.determinant(a, &mut determinants.clone())
        });
        assert_eq!(found.info, [0; MATRICES], "{n} rows");
        let inverses = found.lists[0].chunks(n * n);
        for ((a, x), &determinant) in stack.iter().zip(inverses).zip(&found.lists[1]) {
            let [a, x] = wides([a, x]);
            near(&times(&a, &x, [n, n, n]), &identity(n), n, norm(&a) * norm(&x), "the product");
            let exact = host::determinant(&a, n);
            let condition = norm(&a) * norm(&host::inverse(&a, n).unwrap());
            if exact.abs() > f64::from(f32::MAX) {
                assert!(f64::from(determinant) == exact.signum() * f64::INFINITY, "{n} rows: {determinant}");
            } else if condition < 1e4 {
                near(
                    &[f64::from(determinant)],
                    &[exact],
                    n,
                    2.0 * condition * exact.abs(),
                    "the determinant",
                );
            }
        }
    });
}

fn logarithms(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(2316);
    let found = |stack: &[Vec<f32>], n: usize| {
        let Found { lists, .. } = call(&queue, stack, [n, n], [1, 1], |a, [mut signs, mut logs], _| {
            queue.log_determinant(a, &mut signs, &mut logs)
        });
        lists[0].iter().zip(&lists[1]).map(|(&sign, &log)| (sign, log)).collect::<Vec<(f32, f32)>>()
    };
    with_sides(s, |n| {
        if n > 6 && s.place().is_gl() && !large() {
            return;
        }
        let stack: Vec<Vec<f32>> = (0..MATRICES).map(|_| random(&mut rng, n * n)).collect();
        for (a, (sign, log)) in stack.iter().zip(found(&stack, n)) {
            let a = wide(a);
            let (exact_sign, exact) = host::log_determinant(&a, n);
            let condition = norm(&a) * norm(&host::inverse(&a, n).unwrap());
            if condition < 1e4 {
                assert!(f64::from(sign) == exact_sign, "{n} rows: {sign}");
                let of_matrix = 16.0 * n as f64 * U * condition;
                let bound = of_matrix + 2.0_f64.powi(-20) + 3.0 * U * exact.abs();
                let error = (f64::from(log) - exact).abs();
                assert!(error <= bound, "{n} rows: {log}, not {exact} +- {bound}");
            }
        }
    });
    // Determinants that no `f32` holds, and 0.
    let [large, small] = [100, -100].map(|exponent| 2.0_f32.powi(exponent));
    let log = 600.0 * 2.0_f32.ln();
    let diagonals = [
        ([large; 6], (1.0, log)),
        ([small, small, small, small, small, -small], (-1.0, -log)),
        ([large, small, 1.0, 1.0, -1.0, -1.0], (1.0, 0.0)),
        ([2.0, 3.0, 0.0, 1.0, -1.0, 1.0], (0.0, f32::NEG_INFINITY)),
        ([large, large, large, 1e-40, 1.0, 1.0], (0.0, f32::NEG_INFINITY)),
    ];
    let matrix = |diagonal: [f32; 6]| {
        (0..36).map(|at| if at / 6 == at % 6 { diagonal[at / 6] } else { 0.0 }).collect::<Vec<f32>>()
    };
    let stack = diagonals.map(|(diagonal, _)| matrix(diagonal));
    for (found, (_, expected)) in found(&stack, 6).into_iter().zip(diagonals) {
        let is_near =
            found.1 == expected.1 || (found.1 - expected.1).abs() <= 1e-6 * (expected.1.abs() + 1.0);
        assert!(found.0 == expected.0 && is_near, "{found:?}, not {expected:?}");
    }
    // A NaN is in both results.
    let stack = [matrix([1.0, 2.0, f32::NAN, 1.0, 1.0, 1.0])];
    let [(sign, log)] = found(&stack, 6)[..] else { panic!("one matrix has one result") };
    assert!(sign.is_nan() && log.is_nan(), "{sign} and {log}");
}

fn eigen(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(2307);
    with_sides(s, |n| {
        if n > 64 {
            return;
        }
        for triangle in [Triangle::Lower, Triangle::Upper] {
            let mut stack: Vec<Vec<f32>> = (2..MATRICES).map(|_| symmetric(&mut rng, n)).collect();
            stack.extend([1.0, 2.0].map(|factor| reflection(&mut rng, n, factor)));
            let given: Vec<Vec<f32>> = stack.iter().map(|a| without_others(a, n, triangle)).collect();
            let found = call(&queue, &given, [n, n], [n, n * n, n], |a, [values, vectors, alone], info| {
                let values = &mut values.reshape([MATRICES, n])?;
                queue.eigvalsh(a, &mut alone.reshape([MATRICES, n])?, info, triangle)?;
                queue.eigh(a, values, &mut vectors.reshape(a.shape())?, info, triangle)
            });
            assert_eq!(found.info, [0; MATRICES], "{n} rows");
            let vectors = found.lists[1].chunks(n * n);
            let alone = found.lists[2].chunks(n);
            for ((a, v), (w, alone)) in stack.iter().zip(vectors).zip(found.lists[0].chunks(n).zip(alone)) {
                assert!(w.is_sorted(), "{n} rows: {w:?}");
                let [a, w, v, alone] = wides([a, w, v, alone]);
                orthonormal(&v, [n, n]);
                let scaled: Vec<f64> = v.iter().enumerate().map(|(at, x)| x * w[at % n]).collect();
                near(&times(&a, &v, [n, n, n]), &scaled, n, norm(&a), "the product");
                near(&w, &host::eigvalsh(&a, n), n, norm(&a), "the values");
                near(&alone, &w, n, norm(&a), "the values without vectors");
            }
        }
    });
    // Equal values, and a diagonal that is out of order.
    let list = [5.0_f32, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 5.0];
    let found = call(&queue, &[list.to_vec()], [3, 3], [3, 9], |a, [values, vectors], info| {
        let values = &mut values.reshape([1, 3])?;
        queue.eigh(a, values, &mut vectors.reshape([1, 3, 3])?, info, Triangle::Lower)
    });
    assert_eq!(found.lists[0], [-1.0, 5.0, 5.0]);
    assert_eq!(found.lists[1], [0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
}

fn extremes(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(2311);
    let n = 6;
    // The columns times powers of two have the same directions.
    let list = random(&mut rng, n * n);
    let scale = |at: usize| 2.0_f32.powi([-90, 90, 0, 30, -60, 100][at % n]);
    let scaled: Vec<f32> = list.iter().enumerate().map(|(at, x)| x * scale(at)).collect();
    let [plain, found] = [&list, &scaled].map(|list| {
        call(&queue, std::slice::from_ref(list), [n, n], [n * n; 2], |a, [q, r], _| {
            queue.qr(a, &mut q.reshape([1, n, n])?, &mut r.reshape([1, n, n])?)
        })
    });
    assert_eq!(found.lists[0], plain.lists[0]);
    let expected: Vec<f32> = plain.lists[1].iter().enumerate().map(|(at, x)| x * scale(at)).collect();
    assert_eq!(found.lists[1], expected);
    // All elements times a power of two have the same eigenvectors.
    let list = symmetric(&mut rng, n);
    let eigh = |list: &[f32]| {
        call(&queue, &[list.to_vec()], [n, n], [n, n * n], |a, [values, vectors], info| {
            let values = &mut values.reshape([1, n])?;
            queue.eigh(a, values, &mut vectors.reshape([1, n, n])?, info, Triangle::Lower)
        })
    };
    let plain = eigh(&list);
    for scale in [2.0_f32.powi(100), 2.0_f32.powi(-100)] {
        let found = eigh(&list.iter().map(|x| x * scale).collect::<Vec<f32>>());
        assert_eq!((found.info[0], &found.lists[1]), (0, &plain.lists[1]), "times {scale}");
        let expected: Vec<f32> = plain.lists[0].iter().map(|x| x * scale).collect();
        assert_eq!(found.lists[0], expected, "times {scale}");
    }
    // Products of some pivots are above the largest number, and others are below the smallest one.
    let [large, small] = [100, -100].map(|exponent| 2.0_f32.powi(exponent));
    let diagonals = [
        ([large, large, small, small, -3.0], -3.0),
        ([small, small, large, large, 5.0], 5.0),
        ([large, large, 1.0, 1.0, -1.0], f32::NEG_INFINITY),
        ([small, small, 1.0, 1.0, 1.0], 0.0),
        ([small, 1.5, 1.5, 1.5, 0.0], 0.0),
    ];
    let stack = diagonals.map(|(diagonal, _)| {
        (0..25).map(|at| if at / 5 == at % 5 { diagonal[at / 5] } else { 0.0 }).collect::<Vec<f32>>()
    });
    let found = call(&queue, &stack, [5, 5], [1], |a, [mut out], _| queue.determinant(a, &mut out));
    assert_eq!(found.lists[0], diagonals.map(|(_, determinant)| determinant));
    // The quotient of two elements of a row overflows.
    let list = [small, 1e30, small, -1e30];
    let found = call(&queue, &[list.to_vec()], [2, 2], [2], |a, [out], info| {
        let b = queue.array(&[1.0_f32, 1.0])?;
        queue.solve(a, &b, &mut out.reshape([1, 2])?, info)
    });
    assert_eq!((found.info[0], &found.lists[0][1]), (0, &0.0));
    assert!((found.lists[0][0] * small - 1.0).abs() < 1e-5, "{:?}", found.lists[0]);
}

/// Divides by pivots above 2^126: a device may take their reciprocals as 0.
fn largest(s: &Subject) {
    let queue = s.ctx().queue("q");
    let [large, half] = [127, 126].map(|exponent| 2.0_f32.powi(exponent));
    // The first two rows and columns of six; the others are those of the identity.
    let n = 6;
    let places = [0, 1, n, n + 1];
    let matrix = |list: [f32; 4]| {
        let mut whole: Vec<f32> = identity(n).into_iter().map(|x| x as f32).collect();
        places.into_iter().zip(list).for_each(|(place, x)| whole[place] = x);
        [whole]
    };
    let similar = |what: &str, found: &Found, expected: [f32; 4]| {
        let found = places.map(|place| found.lists[0][place]);
        let is_near = |(x, y): (&f32, &f32)| (x - y).abs() <= 1e-5 * y.abs();
        assert!(found.iter().zip(&expected).all(is_near), "{what}: {found:?}, not {expected:?}");
    };
    let square = [1, n, n];
    let a = matrix([large, 1.0, half, 0.75]);
    let mut order = queue.zeros([1, n]).unwrap();
    let factors = call(&queue, &a, [n, n], [n * n], |a, [out], info| {
        queue.lu(a, &mut out.reshape(square)?, &mut order, info)
    });
    similar("lu", &factors, [large, 1.0, 0.5, 0.25]);
    let inverse =
        call(&queue, &a, [n, n], [n * n], |a, [out], info| queue.inverse(a, &mut out.reshape(square)?, info));
    similar("inverse", &inverse, [1.5 * f32::MIN_POSITIVE, -2.0 * f32::MIN_POSITIVE, -2.0, 4.0]);
    let determinant = call(&queue, &a, [n, n], [1], |a, [mut out], _| queue.determinant(a, &mut out));
    let [found, expected] = [determinant.lists[0][0], 2.0_f32.powi(125)];
    assert!((found - expected).abs() <= 1e-5 * expected, "{found}, not {expected}");
    // The right sides are the columns of a matrix too.
    let b = queue.array(&matrix([half, large, 0.0, 3.0])[0]).unwrap().reshape(square).unwrap();
    let triangle = call(&queue, &a, [n, n], [n * n], |a, [out], info| {
        queue.solve_triangular(a, &b, &mut out.reshape(square)?, info, Triangular::upper())
    });
    similar("triangle", &triangle, [0.5, 1.0, 0.0, 4.0]);
    let a = matrix([large, half, half, large]);
    let factor = call(&queue, &a, [n, n], [n * n], |a, [out], info| {
        queue.cholesky(a, &mut out.reshape(square)?, info, Triangle::Lower)
    });
    let [first, last] = [large.sqrt(), (0.75 * large).sqrt()];
    similar("cholesky", &factor, [first, 0.0, half / first, last]);
}

fn many(s: &Subject) {
    let queue = s.ctx().queue("q");
    let matrices = if s.is_cpu() || s.place().is_gl() { 3000 } else { 65_536 };
    let of_matrix = |k: usize| [0.0, 1.0, (k + 1) as f32, 0.0];
    let list: Vec<f32> = (0..matrices).flat_map(of_matrix).collect();
    let a = queue.array(&list).unwrap().reshape([matrices, 2, 2]).unwrap();
    let mut determinants = queue.zeros([matrices]).unwrap();
    queue.determinant(&a, &mut determinants).unwrap();
    let expected: Vec<f32> = (0..matrices).map(|k| -((k + 1) as f32)).collect();
    assert_eq!(queue.read(&determinants).wait().unwrap(), expected);
    // With forced choices, a grid has several rows, and the elements in scratch memory need several launches.
    let mut rng = fastrand::Rng::with_seed(2312);
    with_forms(s, || {
        for n in if s.place().is_gl() { 6..7 } else { 5..10 } {
            let matrices = 23;
            let list = random(&mut rng, matrices * n * n);
            let stack: Vec<Vec<f32>> = list.chunks(n * n).map(<[f32]>::to_vec).collect();
            let found = call(&queue, &stack, [n, n], [n * n], |a, [out], info| {
                queue.inverse(a, &mut out.reshape(a.shape())?, info)
            });
            for (a, x) in stack.iter().zip(found.lists[0].chunks(n * n)) {
                let [a, x] = wides([a, x]);
                near(&times(&a, &x, [n, n, n]), &identity(n), n, norm(&a) * norm(&x), "the product");
            }
        }
    });
}

fn twice(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(2314);
    with_forms(s, || {
        for &n in if s.place().is_gl() { &[6][..] } else { &[3, 9] } {
            let square = [MATRICES, n, n];
            let len = MATRICES * n * n;
            let a = queue.array(&random(&mut rng, len)).unwrap().reshape(square).unwrap();
            check_same_bits(&ctx, &queue, len, |queue, out| {
                queue.inverse(&a, &mut out.reshape(square)?, &mut queue.zeros([MATRICES])?)
            });
            check_same_bits(&ctx, &queue, len, |queue, out| {
                queue.qr(&a, &mut out.reshape(square)?, &mut queue.zeros(square)?)
            });
            check_same_bits(&ctx, &queue, len, |queue, out| {
                let mut values = queue.zeros([MATRICES, n])?;
                let vectors = &mut out.reshape(square)?;
                queue.eigh(&a, &mut values, vectors, &mut queue.zeros([MATRICES])?, Triangle::Lower)
            });
        }
    });
}

fn captured(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(2313);
    with_forms(s, || {
        for n in if s.is_cpu() || s.place().is_gl() { vec![3, 9] } else { vec![3, 9, 40, 65] } {
            let x = queue.zeros::<f32, 1>([4 * n * n]).unwrap();
            let info = queue.full([4], 9_u32).unwrap();
            let lists: Vec<Vec<f32>> = (0..3).map(|_| random(&mut rng, 4 * n * n)).collect();
            check_replays(
                &queue,
                x,
                4 * n * n,
                |queue, x, out| {
                    let a = x.reshape([4, n, n])?;
                    queue.inverse(&a, &mut out.reshape([4, n, n])?, &mut info.clone())
                },
                lists,
                |list, found: &[f32]| {
                    for (a, x) in list.chunks(n * n).zip(found.chunks(n * n)) {
                        let [a, x] = wides([a, x]);
                        near(&times(&a, &x, [n, n, n]), &identity(n), n, norm(&a) * norm(&x), "the product");
                    }
                },
            );
            assert_eq!(queue.read(&info).wait().unwrap(), [0; 4]);
        }
    });
}

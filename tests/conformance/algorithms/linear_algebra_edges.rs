//! A01, A23: linear algebra with arrays that it refuses, with matrices that fail, with views, and without elements.

use super::linear_algebra::{Found, call, positive, random};
use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_refused_linear_algebra_enqueues_nothing", refused),
        case("a01_linear_algebra_of_wrong_shapes_names_the_argument", shapes),
        case("a01_linear_algebra_with_a_hazard_enqueues_nothing", hazard),
        case("a23_a_matrix_that_fails_does_not_stop_the_others", failures),
        case("a23_a_nan_stays_in_its_matrix", nans),
        case("a23_matrices_without_rows_are_accepted", without_rows),
        case("a23_stacks_without_matrices_are_accepted", without_matrices),
        case("a23_views_and_stacks_repeat_and_padding_stays", views),
    ]
}

/// Calls all verbs for a stack of square matrices. Returns their results, and the numbers of `info`.
fn all(queue: &CommandQueue, stack: &[Vec<f32>], n: usize) -> Vec<Found> {
    let matrices = stack.len();
    let b = queue.array(&vec![1.0_f32; n]).unwrap();
    let mut order = queue.zeros([matrices, n]).unwrap();
    let square = |array: &DeviceArray<f32>| array.reshape([matrices, n, n]);
    vec![
        call(queue, stack, [n, n], [n * n], |a, [out], info| {
            queue.cholesky(a, &mut square(&out)?, info, Triangle::Lower)
        }),
        call(queue, stack, [n, n], [n * n], |a, [out], info| {
            queue.lu(a, &mut square(&out)?, &mut order, info)
        }),
        call(queue, stack, [n, n], [n], |a, [out], info| {
            queue.solve(a, &b, &mut out.reshape([matrices, n])?, info)
        }),
        call(queue, stack, [n, n], [n * n], |a, [out], info| queue.inverse(a, &mut square(&out)?, info)),
        call(queue, stack, [n, n], [n], |a, [out], info| {
            queue.solve_triangular(a, &b, &mut out.reshape([matrices, n])?, info, Triangular::lower())
        }),
        call(queue, stack, [n, n], [n], |a, [out], info| {
            queue.solve_triangular(a, &b, &mut out.reshape([matrices, n])?, info, Triangular::upper())
        }),
        call(queue, stack, [n, n], [n, n * n], |a, [values, vectors], info| {
            let values = &mut values.reshape([matrices, n])?;
            queue.eigh(a, values, &mut square(&vectors)?, info, Triangle::Lower)
        }),
        call(queue, stack, [n, n], [1], |a, [mut out], info| {
            queue.fill(info, 0)?;
            queue.determinant(a, &mut out)
        }),
        call(queue, stack, [n, n], [n * n, n * n], |a, [q, r], info| {
            queue.fill(info, 0)?;
            queue.qr(a, &mut square(&q)?, &mut square(&r)?)
        }),
    ]
}

/// Names of the calls of [`all`].
const CALLS: [&str; 9] =
    ["cholesky", "lu", "solve", "inverse", "lower triangle", "upper triangle", "eigh", "determinant", "qr"];

/// Checks that the results of a stack are those of each matrix alone, bit by bit. Returns them.
fn alone(queue: &CommandQueue, stack: &[Vec<f32>], n: usize) -> Vec<Found> {
    let found = all(queue, stack, n);
    for (at, matrix) in stack.iter().enumerate() {
        let expected = all(queue, std::slice::from_ref(matrix), n);
        for (name, (found, expected)) in CALLS.into_iter().zip(found.iter().zip(&expected)) {
            assert_eq!(found.info[at], expected.info[0], "{name} of {n} rows, matrix {at}");
            for (found, expected) in found.lists.iter().zip(&expected.lists) {
                let len = expected.len();
                let bits = |list: &[f32]| list.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
                // The bits of a NaN may be any.
                let is_equal = |(x, y): (&f32, &f32)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
                let part = &found[at * len..][..len];
                let equal = part.iter().zip(expected).all(is_equal);
                assert!(equal, "{name} of {n} rows, matrix {at}: {:?}", [bits(part), bits(expected)]);
            }
        }
    }
    found
}

/// Returns few numbers of rows: in the memory of a workgroup, and outside of it.
fn few_sides(s: &Subject) -> &'static [usize] {
    if s.place().is_gl() {
        &[6]
    } else if s.is_cpu() {
        &[3, 9]
    } else {
        &[3, 9, 64]
    }
}

fn failures(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(2308);
    with_forms(s, || {
        for &n in few_sides(s) {
            // One column has no pivot. A number below the smallest normal one counts as 0.
            for (k, zero) in [(0, 0.0_f32), (n / 2, 1e-40), (n - 1, 0.0)] {
                let mut stack: Vec<Vec<f32>> = (0..3).map(|_| positive(&mut rng, n)).collect();
                for (at, x) in stack[1].iter_mut().enumerate() {
                    *x = match (at / n == k, at % n == k) {
                        (_, true) => zero,
                        (true, false) => 0.0,
                        _ => *x,
                    };
                }
                let found = alone(&queue, &stack, n);
                let failure = k as u32 + 1;
                for (name, found) in CALLS.into_iter().zip(&found).take(6) {
                    assert_eq!(found.info, [0, failure, 0], "{name} of {n} rows");
                    let list = &found.lists[0];
                    let len = list.len() / 3;
                    assert!(list[..len].iter().chain(&list[2 * len..]).all(|x| x.is_finite()), "{name}");
                    let part = &list[len..2 * len];
                    let expected = match name {
                        "lu" => part.iter().all(|x| x.is_finite()),
                        "cholesky" => is_failed_factor(part, n),
                        _ => part.iter().all(|x| x.is_nan()),
                    };
                    assert!(expected, "{name} of {n} rows: {part:?}");
                }
                assert!(found[7].lists[0][1] == 0.0, "the determinant of {n} rows");
            }
            // A negative element of the diagonal, and numbers that are not finite.
            for x in [-1.0, f32::INFINITY] {
                let mut stack = vec![vec![0.0; n * n]; 3];
                for matrix in &mut stack {
                    (0..n).for_each(|row| matrix[row * n + row] = 2.0);
                }
                stack[1][n * n - 1] = x;
                let found = alone(&queue, &stack, n);
                let is_finite = x < 0.0;
                let of_cholesky = if is_finite { n as u32 } else { 0 };
                assert_eq!(found[0].info, [0, of_cholesky, 0], "cholesky of {n} rows with {x}");
                assert_eq!(found[6].info, [0, u32::from(!is_finite), 0], "eigh of {n} rows with {x}");
                let nans = found[6].lists[0].iter().filter(|x| x.is_nan()).count();
                assert_eq!(nans, if is_finite { 0 } else { n }, "eigh of {n} rows with {x}");
            }
        }
    });
}

/// Returns `true` if the lower triangle of a matrix has NaNs alone, and the rest zeros.
fn is_failed_factor(factor: &[f32], n: usize) -> bool {
    factor.iter().enumerate().all(|(at, &x)| if at % n > at / n { x == 0.0 } else { x.is_nan() })
}

/// Returns `true` if the product of two matrices of n rows has a NaN at these places.
fn has_nans([q, r]: [&[f32]; 2], n: usize, places: [usize; 2]) -> bool {
    let element = |at: usize| (0..n).map(|k| q[at / n * n + k] * r[k * n + at % n]).sum::<f32>();
    places.into_iter().all(|place| element(place).is_nan())
}

fn nans(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(2309);
    with_forms(s, || {
        for &n in few_sides(s) {
            for place in [0, (n - 1) * n, n * n - 1] {
                let mut stack: Vec<Vec<f32>> = (0..3).map(|_| positive(&mut rng, n)).collect();
                // The upper triangle has no element of the last row but the last.
                let places = [place, place % n * n + place / n];
                places.into_iter().for_each(|place| stack[1][place] = f32::NAN);
                let found = alone(&queue, &stack, n);
                for (name, found) in CALLS.into_iter().zip(&found) {
                    let mut parts: Vec<&[f32]> = Vec::new();
                    for list in &found.lists {
                        let len = list.len() / 3;
                        assert!(list[..len].iter().chain(&list[2 * len..]).all(|x| !x.is_nan()), "{name}");
                        parts.push(&list[len..2 * len]);
                    }
                    let mut all = parts.iter().copied().flatten();
                    let is_right = match name {
                        "cholesky" => is_failed_factor(parts[0], n),
                        "solve" | "inverse" | "eigh" => all.all(|x| x.is_nan()),
                        "qr" => has_nans([parts[0], parts[1]], n, places),
                        _ => all.any(|x| x.is_nan()),
                    };
                    assert!(is_right, "{name} of {n} rows with a NaN at {place}: {parts:?}");
                    let fails = matches!(name, "cholesky" | "eigh");
                    assert!(found.info[0] == 0 && found.info[2] == 0, "{name} of {n} rows");
                    assert_eq!(found.info[1] > 0, fails, "{name} of {n} rows with a NaN at {place}");
                }
            }
        }
    });
}

fn without_rows(s: &Subject) {
    let queue = s.ctx().queue("q");
    // Two matrices without rows.
    let a = queue.zeros::<f32, 3>([2, 0, 0]).unwrap();
    let mut out = queue.zeros::<f32, 3>([2, 0, 0]).unwrap();
    let mut values = queue.zeros::<f32, 2>([2, 0]).unwrap();
    let mut order = queue.zeros::<u32, 2>([2, 0]).unwrap();
    let mut determinants = queue.full([2], 7.0_f32).unwrap();
    let infos: [DeviceArray<u32>; 7] = [(); 7].map(|()| queue.full([2], 7).unwrap());
    let [mut i0, mut i1, mut i2, mut i3, mut i4, mut i5, mut i6] = infos.clone();
    queue.cholesky(&a, &mut out, &mut i0, Triangle::Upper).unwrap();
    queue.lu(&a, &mut out, &mut order, &mut i1).unwrap();
    queue.solve(&a, &a, &mut out, &mut i2).unwrap();
    queue.solve_triangular(&a, &a, &mut out, &mut i3, Triangular::lower()).unwrap();
    queue.inverse(&a, &mut out, &mut i4).unwrap();
    let vectors = &mut queue.zeros::<f32, 3>([2, 0, 0]).unwrap();
    queue.eigh(&a, &mut values, vectors, &mut i5, Triangle::Lower).unwrap();
    queue.eigvalsh(&a, &mut values, &mut i6, Triangle::Lower).unwrap();
    queue.determinant(&a, &mut determinants).unwrap();
    let [mut signs, mut logs] = [(); 2].map(|()| queue.full([2], 7.0_f32).unwrap());
    queue.log_determinant(&a, &mut signs, &mut logs).unwrap();
    for info in infos {
        assert_eq!(queue.read(&info).wait().unwrap(), [0, 0]);
    }
    assert_eq!(queue.read(&determinants).wait().unwrap(), [1.0, 1.0]);
    assert_eq!(queue.read(&signs).wait().unwrap(), [1.0, 1.0]);
    assert!(queue.read(&logs).wait().unwrap().iter().all(|log| log.abs() < 1e-6));
    // A triangle without rows, or without columns.
    let none = queue.zeros::<f32, 2>([3, 0]).unwrap();
    queue.qr(&none, &mut queue.zeros([3, 0]).unwrap(), &mut queue.zeros([0, 0]).unwrap()).unwrap();
    queue
        .qr(none.transposed(), &mut queue.zeros([0, 0]).unwrap(), &mut queue.zeros([0, 3]).unwrap())
        .unwrap();
    // Many right sides without rows.
    let a = queue.zeros::<f32, 2>([0, 0]).unwrap();
    let b = queue.zeros::<f32, 2>([0, MANY]).unwrap();
    let [mut i0, mut i1] = [(); 2].map(|()| queue.full([1], 7).unwrap());
    queue.solve(&a, &b, &mut queue.zeros([0, MANY]).unwrap(), &mut i0).unwrap();
    let options = Triangular::upper();
    queue.solve_triangular(&a, &b, &mut queue.zeros([0, MANY]).unwrap(), &mut i1, options).unwrap();
    for info in [i0, i1] {
        assert_eq!(queue.read(&info).wait().unwrap(), [0]);
    }
    // No right sides: the matrix is factored nevertheless.
    let a = queue.array(&[1.0_f32, 2.0, 2.0, 4.0]).unwrap().reshape([2, 2]).unwrap();
    let none = queue.zeros::<f32, 2>([2, 0]).unwrap();
    let mut info = queue.full([1], 7).unwrap();
    queue.solve(&a, &none, &mut queue.zeros([2, 0]).unwrap(), &mut info).unwrap();
    assert_eq!(queue.read(&info).wait().unwrap(), [2]);
    let options = Triangular::lower();
    queue.solve_triangular(&a, &none, &mut queue.zeros([2, 0]).unwrap(), &mut info, options).unwrap();
    assert_eq!(queue.read(&info).wait().unwrap(), [0]);
}

fn without_matrices(s: &Subject) {
    let verbs: [fn(&Context, &CommandQueue) -> Result<()>; 7] = [
        |ctx, queue| {
            let a = ctx.zeros::<f32, 3>([0, 3, 3])?;
            queue.inverse(&a, &mut ctx.zeros([0, 3, 3])?, &mut ctx.zeros([0])?)
        },
        |ctx, queue| {
            let a = ctx.zeros::<f32, 3>([0, 3, 3])?;
            queue.determinant(&a, &mut ctx.zeros([0])?)
        },
        |ctx, queue| {
            let a = ctx.zeros::<f32, 3>([0, 70, 70])?;
            queue.cholesky(&a, &mut ctx.zeros([0, 70, 70])?, &mut ctx.zeros([0])?, Triangle::Lower)
        },
        |ctx, queue| {
            let a = ctx.zeros::<f32, 3>([0, 3, 3])?;
            let b = ctx.zeros::<f32, 1>([3])?;
            queue.solve_triangular(&a, &b, &mut ctx.zeros([0, 3])?, &mut ctx.zeros([0])?, Triangular::upper())
        },
        // The other lengths may be any.
        |ctx, queue| {
            let a = ctx.zeros::<f32, 3>([0, 3, 3])?;
            let b = ctx.zeros::<f32, 3>([0, 3, MANY])?;
            let mut out = ctx.zeros([0, 3, MANY])?;
            queue.solve_triangular(&a, &b, &mut out, &mut ctx.zeros([0])?, Triangular::lower())
        },
        |ctx, queue| {
            let places = Strides { first: 0, strides: [5, 3, 1, 3, 1] };
            let a = ctx.zeros::<f32, 1>([9])?.matrices([MANY, MANY, 0, 3, 3], places);
            queue.determinant(a, &mut ctx.zeros([MANY, MANY, 0])?)
        },
        |ctx, queue| {
            let a = ctx.zeros::<f32, 4>([MANY, MANY, 0, 0])?;
            queue.qr(&a, &mut ctx.zeros([MANY, MANY, 0, 0])?, &mut ctx.zeros([MANY, MANY, 0, 0])?)
        },
    ];
    verbs.iter().for_each(|verb| check_of_failed(s, verb));
}

/// Returns the bits of an array.
fn bits<const D: usize>(queue: &CommandQueue, array: &DeviceArray<f32, D>) -> Vec<u32> {
    queue.read(array).wait().unwrap().into_iter().map(f32::to_bits).collect()
}

fn views(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(2310);
    with_forms(s, || {
        for &n in if s.place().is_gl() { &[6][..] } else { &[3, 9] } {
            let list = random(&mut rng, 4000);
            let x = queue.array(&list).unwrap();
            let positives = [(); 2].map(|()| positive(&mut rng, n)).concat();
            let c = n as isize;
            // Rows and columns exchanged, with gaps, from the last row on, and both.
            for (first, [row, column]) in
                [(0, [1, c]), (7, [c + 2, 1]), ((n - 1) * 30 + 3, [-30, 2]), (n * n, [-1, -c])]
            {
                let place = |at: usize| first as isize + (at / n) as isize * row + (at % n) as isize * column;
                let copied: Vec<f32> = (0..n * n).map(|at| list[place(at) as usize]).collect();
                let view = || x.matrices([n, n], Strides { first, strides: [row, column] });
                let a = queue.array(&copied).unwrap().reshape([n, n]).unwrap();
                let [mut one, mut other] = [(); 2].map(|()| queue.zeros([n, n]).unwrap());
                let mut info = queue.zeros([1]).unwrap();
                queue.inverse(&a, &mut one, &mut info).unwrap();
                queue.inverse(view(), &mut other, &mut info).unwrap();
                assert_eq!(bits(&queue, &one), bits(&queue, &other), "{n} rows, strides {row} and {column}");
                // The view as the right side, and as triangles.
                queue.solve(&a, &a, &mut one, &mut info).unwrap();
                queue.solve(view(), view(), &mut other, &mut info).unwrap();
                assert_eq!(bits(&queue, &one), bits(&queue, &other), "{n} rows, strides {row} and {column}");
                for options in [Triangular::upper().unit(), Triangular::lower()] {
                    queue.solve_triangular(&a, &a, &mut one, &mut info, options.clone()).unwrap();
                    queue.solve_triangular(view(), view(), &mut other, &mut info, options.clone()).unwrap();
                    assert_eq!(bits(&queue, &one), bits(&queue, &other), "{n} rows, {first}, {options:?}");
                }
                // A positive definite matrix at the same places.
                let mut placed = vec![f32::NAN; list.len()];
                (0..n * n).for_each(|at| placed[place(at) as usize] = positives[at]);
                let strides = Strides { first, strides: [row, column] };
                let view = queue.array(&placed).unwrap().matrices([n, n], strides);
                let a = queue.array(&positives[..n * n]).unwrap().reshape([n, n]).unwrap();
                queue.cholesky(&a, &mut one, &mut info, Triangle::Upper).unwrap();
                queue.cholesky(view, &mut other, &mut info, Triangle::Upper).unwrap();
                assert_eq!(queue.read(&info).wait().unwrap(), [0]);
                assert_eq!(bits(&queue, &one), bits(&queue, &other), "{n} rows, strides {row} and {column}");
            }
            repeated(&queue, n, &list);
            padded(&ctx, &queue, n, [&list, &positives]);
        }
    });
}

/// Solves with stacks that repeat along different axes.
fn repeated(queue: &CommandQueue, n: usize, list: &[f32]) {
    let a = queue.array(&list[..2 * n * n]).unwrap().reshape([2, 1, n, n]).unwrap();
    let b = queue.array(&list[..3 * n * 2]).unwrap().reshape([3, n, 2]).unwrap();
    let mut out = queue.zeros([2, 3, n, 2]).unwrap();
    let mut info = queue.full([2, 3], 9_u32).unwrap();
    queue.solve(&a, &b, &mut out, &mut info).unwrap();
    assert_eq!(queue.read(&info).wait().unwrap(), [0; 6]);
    let found = bits(queue, &out);
    for (at, found) in found.chunks(n * 2).enumerate() {
        let a = queue.array(&list[at / 3 * n * n..][..n * n]).unwrap().reshape([n, n]).unwrap();
        let b = queue.array(&list[at % 3 * n * 2..][..n * 2]).unwrap().reshape([n, 2]).unwrap();
        let mut out = queue.zeros([n, 2]).unwrap();
        queue.solve(&a, &b, &mut out, &mut queue.zeros([1]).unwrap()).unwrap();
        assert_eq!(found, bits(queue, &out), "{n} rows, matrix {at}");
    }
    // One matrix for all results.
    let a = queue.array(&list[..n * n]).unwrap().reshape([n, n]).unwrap();
    let mut out = queue.zeros([3, n, n]).unwrap();
    queue.inverse(&a, &mut out, &mut queue.zeros([3]).unwrap()).unwrap();
    let found = bits(queue, &out);
    assert!(found.chunks(n * n).all(|part| part == &found[..n * n]), "{n} rows");
}

/// Calls verbs with padded arrays, whose padding has NaNs before and after. The second list has positive definite matrices.
fn padded(ctx: &Context, queue: &CommandQueue, n: usize, [list, positives]: [&[f32]; 2]) {
    let shape = || Shape::padded([2, n, n], [3, n + 2, n + 5]);
    let upload = |list: &[f32]| {
        let mut array = ctx.full(shape(), f32::NAN).unwrap();
        queue.upload(list, &mut array).unwrap();
        array
    };
    let a = upload(&list[..2 * n * n]);
    let compact = queue.array(&list[..2 * n * n]).unwrap().reshape([2, n, n]).unwrap();
    let [p, compact_p] = [upload(positives), queue.array(positives).unwrap().reshape([2, n, n]).unwrap()];
    let mut info = queue.zeros([2]).unwrap();
    let results = [(); 6].map(|()| (upload(&vec![0.0; 2 * n * n]), queue.zeros([2, n, n]).unwrap()));
    let [first @ .., (mut x4, mut y4), (mut x5, mut y5)] = results.clone();
    let [(mut x0, mut y0), (mut x1, mut y1), (mut x2, mut y2), (mut x3, mut y3)] = first;
    queue.solve(&a, &a, &mut x0, &mut info).unwrap();
    queue.solve(&compact, &compact, &mut y0, &mut info).unwrap();
    queue.qr(&a, &mut x1, &mut x2).unwrap();
    queue.qr(&compact, &mut y1, &mut y2).unwrap();
    let [mut w, mut z] = [(); 2].map(|()| queue.zeros([2, n]).unwrap());
    queue.eigh(&a, &mut w, &mut x3, &mut info, Triangle::Upper).unwrap();
    queue.eigh(&compact, &mut z, &mut y3, &mut info, Triangle::Upper).unwrap();
    assert_eq!(bits(queue, &w), bits(queue, &z), "{n} rows");
    queue.solve_triangular(&a, &a, &mut x4, &mut info, Triangular::lower()).unwrap();
    queue.solve_triangular(&compact, &compact, &mut y4, &mut info, Triangular::lower()).unwrap();
    queue.cholesky(&p, &mut x5, &mut info, Triangle::Upper).unwrap();
    queue.cholesky(&compact_p, &mut y5, &mut info, Triangle::Upper).unwrap();
    for (at, (found, expected)) in results.into_iter().enumerate() {
        let whole = queue.read(Matrices::from(&found).array()).wait().unwrap();
        let mut expected = queue.read(&expected).wait().unwrap().into_iter();
        for (place, x) in whole.into_iter().enumerate() {
            let [row, column] = [place / (n + 5) % (n + 2), place % (n + 5)];
            if place / (n + 5) / (n + 2) < 2 && row < n && column < n {
                let y = expected.next().expect("as many elements");
                assert_eq!(x.to_bits(), y.to_bits(), "{n} rows, result {at}, {row}, {column}");
            } else {
                assert!(x.is_nan(), "{n} rows, result {at}, {row}, {column}");
            }
        }
    }
}

fn hazard(s: &Subject) {
    enqueue_nothing_with_a_hazard(
        s,
        40_000,
        &[
            |queue, x, out| {
                let a = x.slice(0..100)?.cast_bits::<f32>().reshape([10, 10])?;
                let mut inverse = out.slice(0..100)?.cast_bits::<f32>().reshape([10, 10])?;
                queue.inverse(&a, &mut inverse, &mut out.slice(192..193)?)
            },
            // The elements are in scratch memory.
            |queue, x, out| {
                let a = x.slice(0..6400)?.cast_bits::<f32>().reshape([80, 80])?;
                let mut factors = out.slice(0..6400)?.cast_bits::<f32>().reshape([80, 80])?;
                let mut order = out.slice(6400..6480)?;
                queue.lu(&a, &mut factors, &mut order, &mut out.slice(6528..6529)?)
            },
            |queue, x, out| {
                let a = x.slice(0..100)?.cast_bits::<f32>().reshape([10, 10])?;
                let mut values = out.slice(0..10)?.cast_bits::<f32>();
                queue.eigvalsh(&a, &mut values, &mut out.slice(64..65)?, Triangle::Lower)
            },
        ],
    );
}

/// Checks that an error begins with the name of the verb and of its argument.
#[track_caller]
fn names(error: &Error, verb: &str, argument: &str) {
    let start = format!("verb `{verb}`, argument `{argument}`: ");
    assert!(error.to_string().starts_with(&start), "{start}{error}");
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let other = s.ctx().queue("other");
    with_forms(s, || {
        for n in if s.place().is_gl() { vec![6] } else { vec![4, 70] } {
            refused_arrays(&ctx, [&queue, &other], n);
        }
    });
}

/// Calls verbs with overlapping arrays and with those of another context.
fn refused_arrays(ctx: &Context, [queue, other]: [&CommandQueue; 2], n: usize) {
    let matrix = |queue: &CommandQueue| queue.full([7, n, n], 1.0_f32).unwrap();
    let a = matrix(queue);
    let b = matrix(queue);
    let mut out = queue.full([7, n, n], 7.0_f32).unwrap();
    let mut info = queue.full([7], 7_u32).unwrap();
    let foreign = matrix(other);
    let mut foreign_info = other.full([7], 7_u32).unwrap();
    let before = dump::enqueued(ctx, "q");
    let error = assert_refused!(queue.inverse(&a, &mut a.clone(), &mut info), Aliased);
    assert!(error.to_string().starts_with("verb `inverse`: arguments `a` and `out`"), "{error}");
    let error = assert_refused!(queue.solve(&a, &b, &mut b.clone(), &mut info), Aliased);
    assert!(error.to_string().contains("arguments `b` and `out`"), "{error}");
    let words = out.slice(0..1).unwrap().reshape([n * n]).unwrap().slice(0..7).unwrap();
    let mut part = words.cast_bits::<u32>();
    let error = assert_refused!(queue.cholesky(&a, &mut out, &mut part, Triangle::Lower), Aliased);
    assert!(error.to_string().contains("`out` and `info`"), "{error}");
    names(&assert_refused!(queue.inverse(&foreign, &mut out, &mut info), ForeignContext), "inverse", "a");
    names(&assert_refused!(queue.solve(&a, &foreign, &mut out, &mut info), ForeignContext), "solve", "b");
    names(
        &assert_refused!(queue.inverse(&a, &mut out, &mut foreign_info), ForeignContext),
        "inverse",
        "info",
    );
    let options = Triangular::lower().order(&other.zeros::<u32, 2>([7, n]).unwrap());
    let error = assert_refused!(queue.solve_triangular(&a, &b, &mut out, &mut info, options), ForeignContext);
    names(&error, "solve_triangular", "order");
    assert_eq!(dump::enqueued(ctx, "q"), before, "{n} rows");
    assert_eq!(queue.read(&out).wait().unwrap(), vec![7.0; 7 * n * n]);
    assert_eq!(queue.read(&info).wait().unwrap(), [7; 7]);
}

fn shapes(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.full([20_000], 1.0_f32).unwrap();
    let mut out = queue.full([3, 3], 7.0_f32).unwrap();
    let mut info = queue.full([1], 7_u32).unwrap();
    of_equations(&queue, &x, &mut out, &mut info);
    of_other_verbs(&queue, &x, &mut info);
    sizes(&queue, &x, &mut out, &mut info);
    // An array of one number for each matrix has no padding.
    let mut padded = queue.zeros::<u32, 1>(Shape::padded([1], [4])).unwrap();
    assert_refused!(queue.inverse(&part(&x, [3, 3]), &mut out, &mut padded), Padding);
    assert_eq!(queue.read(&out).wait().unwrap(), [7.0; 9]);
    assert_eq!(queue.read(&info).wait().unwrap(), [7]);
}

/// Returns the first elements of an array in a shape.
fn part<const D: usize>(x: &DeviceArray<f32>, shape: [usize; D]) -> DeviceArray<f32, D> {
    x.slice(0..shape.iter().product()).unwrap().reshape(shape).unwrap()
}

/// Calls verbs for equations with other shapes than 3 x 3.
fn of_equations(
    queue: &CommandQueue,
    x: &DeviceArray<f32>,
    out: &mut DeviceArray<f32, 2>,
    info: &mut DeviceArray<u32>,
) {
    let a = part(x, [3, 3]);
    let error = assert_refused!(
        queue.inverse(&part(x, [3, 4]), out, info),
        Shape { expected, .. } if *expected == [3, 3]
    );
    names(&error, "inverse", "a");
    names(&assert_refused!(queue.inverse(x, out, info), Shape), "inverse", "a");
    names(&assert_refused!(queue.inverse(&part(x, [4, 4]), out, info), Shape), "inverse", "out");
    let mut two = queue.full([2], 7_u32).unwrap();
    names(&assert_refused!(queue.inverse(&a, out, &mut two), Shape), "inverse", "info");
    let error = assert_refused!(
        queue.solve(&a, &part(x, [4, 2]), out, info),
        Shape { expected, .. } if *expected == [3, 2]
    );
    names(&error, "solve", "b");
    let error = assert_refused!(
        queue.solve(&a, &part(x, [3, 2]), out, info),
        Shape { expected, .. } if *expected == [3, 2]
    );
    names(&error, "solve", "out");
    let [pairs, triples] = [2, 3].map(|len| part(x, [len, 3, 3]));
    names(&assert_refused!(queue.solve(&pairs, &triples, out, info), Shape), "solve", "b");
    let options = Triangular::lower().order(&two);
    let error = assert_refused!(queue.solve_triangular(&a, &a, out, info, options), Shape);
    names(&error, "solve_triangular", "order");
}

/// Calls the other verbs with wrong shapes.
fn of_other_verbs(queue: &CommandQueue, x: &DeviceArray<f32>, info: &mut DeviceArray<u32>) {
    let a = part(x, [3, 3]);
    let mut out = queue.zeros([3, 3]).unwrap();
    let mut two = queue.full([2], 7_u32).unwrap();
    names(&assert_refused!(queue.lu(&a, &mut out, &mut two, info), Shape), "lu", "order");
    let mut wide = queue.zeros([3, 4]).unwrap();
    for triangle in [Triangle::Lower, Triangle::Upper] {
        let error = assert_refused!(
            queue.cholesky(&a, &mut wide, info, triangle),
            Shape { found, .. } if *found == [3, 4]
        );
        names(&error, "cholesky", "out");
    }
    let mut tall = queue.zeros([5, 3]).unwrap();
    let error =
        assert_refused!(queue.qr(&part(x, [5, 2]), &mut tall, &mut queue.zeros([2, 2]).unwrap()), Shape);
    names(&error, "qr", "q");
    let error =
        assert_refused!(queue.qr(&part(x, [5, 3]), &mut tall, &mut queue.zeros([2, 3]).unwrap()), Shape);
    names(&error, "qr", "r");
    let mut values = queue.zeros([2]).unwrap();
    let error = assert_refused!(queue.eigvalsh(&a, &mut values, info, Triangle::Lower), Shape);
    names(&error, "eigvalsh", "values");
    names(&assert_refused!(queue.determinant(&a, &mut values), Shape), "determinant", "out");
    let mut sign = queue.zeros([1]).unwrap();
    let error = assert_refused!(queue.log_determinant(&a, &mut sign, &mut values), Shape);
    names(&error, "log_determinant", "logs");
}

/// Calls verbs with too many rows, and with elements outside of the array.
fn sizes(
    queue: &CommandQueue,
    x: &DeviceArray<f32>,
    out: &mut DeviceArray<f32, 2>,
    info: &mut DeviceArray<u32>,
) {
    let said = |error: &Error, text: &str| {
        let found = error.to_string();
        assert!(found.contains("argument `a`") && found.contains(text), "{found}");
    };
    let mut large = queue.zeros([129, 129]).unwrap();
    said(
        &assert_refused!(queue.inverse(&part(x, [129, 129]), &mut large, info), Value),
        "a number up to 128",
    );
    let [mut q, mut r] = [[129, 2], [2, 2]].map(|shape| queue.zeros(shape).unwrap());
    said(&assert_refused!(queue.qr(&part(x, [129, 2]), &mut q, &mut r), Value), "the number of rows");
    let mut values = queue.zeros([65]).unwrap();
    let error =
        assert_refused!(queue.eigvalsh(&part(x, [65, 65]), &mut values, info, Triangle::Lower), Value);
    said(&error, "a number up to 64");
    let view = x.matrices([3, 3], Strides { first: 19_999, strides: [-1, 1] });
    said(&assert_refused!(queue.inverse(view.clone(), out, info), Value), "of 20000 elements");
    let error = assert_refused!(queue.solve(&part(x, [3, 3]), view, out, info), Value);
    assert!(error.to_string().contains("argument `b`"), "{error}");
}

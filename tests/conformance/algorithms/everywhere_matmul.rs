//! A25: products of matrices that are the same everywhere. The host computes the exact results, so that all devices have
//! the same bits.

use super::everywhere::{EVERYWHERE, KINDS, SMALLEST, list_of, with_exponent};
use super::matmul::elements;
use super::*;
use crate::common::raw;
use half::f16;

pub fn cases() -> Vec<Case> {
    vec![
        case("a25_products_of_matrices_of_any_floats_are_the_exact_ones_rounded_once", products),
        case("a25_the_order_of_the_inner_index_changes_no_bit_of_a_product", order),
        case("a25_products_of_matrices_have_the_same_bits_as_on_other_devices", known),
        case("a25_what_is_left_after_large_products_of_a_matrix_cancel_is_kept", cancelled),
        case("a25_elements_of_distant_exponents_are_multiplied_exactly", distant),
        case("a25_as_many_of_the_largest_elements_as_a_line_has_are_multiplied", filled),
        case("a25_as_many_products_as_an_invocation_takes_are_added_one_by_one", one_by_one),
        case("a25_products_that_are_not_finite_decide_their_own_results_alone", special),
        case("a25_products_of_views_and_stacks_are_those_of_their_elements", views),
        case("a25_products_of_padded_matrices_keep_the_padding", padded),
        case("a25_products_without_an_inner_index_are_zero", empty),
        case("a25_products_of_integers_are_the_same_everywhere_as_they_are", integers),
        case("a25_replays_of_products_of_matrices_have_the_bits_of_calls", in_a_graph),
        case("a25_other_steps_of_a_product_that_is_the_same_everywhere_are_refused", refused),
        case("a25_results_with_long_sums_that_a_device_cannot_bind_are_refused_with_the_most", too_many)
            .gpu_only("the case limits a wgpu device"),
    ]
}

fn everywhere() -> Matmul<'static, f32> {
    Matmul::default().determinism(EVERYWHERE)
}

/// Numbers of rows, of inner indices and of columns: around the sides of tiles and the length of a line, few of each, and
/// sums that are divided.
const SHAPES: [[usize; 3]; 16] = [
    [17, 33, 18],
    [1, 1, 1],
    [5, 70, 3],
    [2, 1025, 3],
    [1, 65, 40],
    [40, 31, 1],
    [3, 32, 33],
    [33, 64, 4],
    [4, 4, 4],
    [16, 32, 16],
    [15, 63, 17],
    [31, 2, 5],
    [8, 34, 9],
    [1, 5000, 1],
    [3, 8193, 2],
    [2, 20_000, 1],
];

/// Returns the shapes. GL has some of them, because its driver takes seconds to compile a kernel.
fn shapes(s: &Subject) -> &'static [[usize; 3]] {
    if s.place().is_gl() && !large() { &SHAPES[..4] } else { &SHAPES }
}

/// Returns the bits of the exact results. The lists have the rows of matrices in order.
fn expected(x: &[f32], y: &[f32], [rows, inner, columns]: [usize; 3]) -> Vec<u32> {
    let column = |c: usize| (0..inner).map(|i| y[i * columns + c]).collect::<Vec<f32>>();
    let of_columns: Vec<Vec<f32>> = (0..columns).map(column).collect();
    let result = |at: usize| host::exact_dot(&x[at / columns * inner..][..inner], &of_columns[at % columns]);
    (0..rows * columns).map(|at| result(at).to_bits()).collect()
}

/// Returns the bits of a product, which is written between guard elements.
#[track_caller]
fn product(
    queue: &CommandQueue,
    a: impl Into<Matrices<f32>>,
    b: impl Into<Matrices<f32>>,
    [rows, columns]: [usize; 2],
) -> Vec<u32> {
    guarded(queue, rows * columns, |out: &mut DeviceArray<u32>| {
        queue.matmul(a, b, &mut out.cast_bits::<f32>().reshape([rows, columns])?, everywhere())
    })
}

/// Compares the product of two lists with the host's.
#[track_caller]
fn compare(queue: &CommandQueue, [x, y]: [&[f32]; 2], shape: [usize; 3], what: &str) {
    let [rows, inner, columns] = shape;
    let a = queue.array(x).unwrap().reshape([rows, inner]).unwrap();
    let b = queue.array(y).unwrap().reshape([inner, columns]).unwrap();
    let found = product(queue, &a, &b, [rows, columns]);
    assert!(found == expected(x, y, shape), "{shape:?}: {what}");
}

fn products(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(901);
    with_forms(s, || {
        for (at, &shape) in shapes(s).iter().enumerate() {
            let [rows, inner, columns] = shape;
            let kinds: Vec<usize> = if at == 0 || large() { (0..KINDS).collect() } else { vec![at % KINDS] };
            for kind in kinds {
                let x = list_of(kind, rows * inner, &mut rng);
                let y = list_of((kind + at) % KINDS, inner * columns, &mut rng);
                compare(&queue, [&x, &y], shape, &format!("lists of kind {kind}"));
            }
        }
    });
}

fn order(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(902);
    let [rows, inner, columns] = [3, 1100, 2];
    let size = |rng: &mut fastrand::Rng| 10_f32.powi(rng.i32(-3..4));
    let mut indices: Vec<([f32; 3], [f32; 2])> = (0..inner)
        .map(|_| {
            let mut number = || (rng.f32() - 0.5) * size(&mut rng);
            (std::array::from_fn(|_| number()), std::array::from_fn(|_| number()))
        })
        .collect();
    let mut results = Vec::new();
    for _ in 0..3 {
        rng.shuffle(&mut indices);
        // The left factor by columns, and the right one by rows.
        let x: Vec<f32> = indices.iter().flat_map(|(x, _)| *x).collect();
        let y: Vec<f32> = indices.iter().flat_map(|(_, y)| *y).collect();
        let a = queue.array(&x).unwrap().reshape([inner, rows]).unwrap();
        let b = queue.array(&y).unwrap().reshape([inner, columns]).unwrap();
        results.push(product(&queue, a.transposed(), &b, [rows, columns]));
    }
    assert!(results[0] == results[1] && results[1] == results[2], "{results:?}");
    // Sums of `f32` one after the other depend on the order.
    let added = |indices: &[([f32; 3], [f32; 2])]| -> [f32; 6] {
        std::array::from_fn(|at| indices.iter().map(|(x, y)| x[at / 2] * y[at % 2]).sum())
    };
    let shuffled = added(&indices);
    indices.sort_by(|a, b| a.0[0].abs().total_cmp(&b.0[0].abs()));
    assert_ne!(shuffled, added(&indices), "the numbers are too simple");
}

fn known(s: &Subject) {
    // These results do not come from the host function, which could have the mistake of a device.
    let queue = s.ctx().queue("q");
    let [rows, inner, columns] = [9, 40, 5];
    let x: Vec<i64> = (0..rows * inner).map(|i| i as i64 * 37 % 101 - 50).collect();
    let y: Vec<i64> = (0..inner * columns).map(|i| i as i64 * 53 % 97 - 40).collect();
    let [a, b] = [&x, &y].map(|list| list.iter().map(|&x| x as f32 * 0.25).collect::<Vec<f32>>());
    let sum = |at: usize| {
        let products = (0..inner).map(|i| x[at / columns * inner + i] * y[i * columns + at % columns]);
        (products.sum::<i64>() as f64 / 16.0) as f32
    };
    let a = queue.array(&a).unwrap().reshape([rows, inner]).unwrap();
    let b = queue.array(&b).unwrap().reshape([inner, columns]).unwrap();
    let expected: Vec<u32> = (0..rows * columns).map(|at| sum(at).to_bits()).collect();
    assert_eq!(product(&queue, &a, &b, [rows, columns]), expected);
    // Fractions of Python gave these bits.
    let word = |i: u32| i.wrapping_mul(0x9E37_79B9).wrapping_add(0x7F4A_7C15);
    let number = |word: u32| f32::from_bits(word & 0x807F_FFFF | (90 + (word >> 8) % 50) << 23);
    let list: Vec<f32> = (0..400).map(|i| number(word(i))).collect();
    let a = queue.array(&list[..240]).unwrap().reshape([3, 80]).unwrap();
    let b = queue.array(&list[240..]).unwrap().reshape([80, 2]).unwrap();
    let expected = [0xC994_537C, 0xC897_86F5, 0x4968_994D, 0xC6B6_96DF, 0x48B1_F5E5, 0xC78D_D954];
    assert_eq!(product(&queue, &a, &b, [3, 2]), expected);
}

/// Multiplies a row by a column. They are alone, and among others in a larger matrix.
#[track_caller]
fn check_sum(queue: &CommandQueue, x: &[f32], y: &[f32], result: f32) {
    let alone = expected(x, y, [1, x.len(), 1]);
    assert_eq!(alone, [result.to_bits()], "{x:?} and {y:?} on the host");
    compare(queue, [x, y], [1, x.len(), 1], "one result");
    let [rows, columns] = [6, 19];
    let left: Vec<f32> =
        (0..rows).flat_map(|row| if row == 4 { x.to_vec() } else { vec![0.75; x.len()] }).collect();
    let right: Vec<f32> =
        y.iter().flat_map(|&y| (0..columns).map(move |c| if c == 17 { y } else { -1.5 })).collect();
    compare(queue, [&left, &right], [rows, x.len(), columns], &format!("{x:?} and {y:?}"));
}

fn cancelled(s: &Subject) {
    let queue = s.ctx().queue("q");
    let even = 16_777_216.0;
    let cases: &[(&[f32], &[f32], f32)] = &[
        (&[1e30, 1.0, -1e30], &[1.0, 1.0, 1.0], 1.0),
        (&[1e30, 3.0, 1e30, 1e-40], &[1e30, 0.5, -1e30, 1e-40], 1.5),
        (&[-0.0, -0.0], &[1.0, -1.0], 0.0),
        (&[-1e-30], &[1e-30], -0.0),
        (&[SMALLEST, SMALLEST], &[0.5, 0.5], SMALLEST),
        (&[SMALLEST], &[0.5], 0.0),
        (&[f32::MIN_POSITIVE, -SMALLEST], &[1.0, 1.0], f32::from_bits(0x7F_FFFF)),
        (&[even, 1.0], &[1.0, 1.0], even),
        (&[even, 1.0, SMALLEST], &[1.0, 1.0, SMALLEST], even + 2.0),
        (&[even + 2.0, 1.0], &[1.0, 1.0], even + 4.0),
        (&[-even, 1.0, SMALLEST], &[1.0, -1.0, -SMALLEST], -even - 2.0),
        (&[f32::MAX, f32::MAX], &[f32::MAX, -f32::MAX], 0.0),
        (&[f32::MAX, f32::MAX, 1.0], &[f32::MAX, -f32::MAX, 2.0], 2.0),
        (&[f32::MAX, f32::MAX], &[1.0, 1.0], f32::INFINITY),
        (&[f32::MAX, 1.0], &[1.0, 2_f32.powi(102)], f32::MAX),
        (&[-f32::MAX, -1.0], &[1.0, 2_f32.powi(103)], f32::NEG_INFINITY),
    ];
    for (x, y, result) in cases {
        check_sum(&queue, x, y, *result);
    }
}

fn distant(s: &Subject) {
    // An element that is 13 binary orders below the largest one of its line is multiplied in another way.
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(903);
    let of_all = if large() { 1 } else { 7 };
    let shape = [5, 64, 4];
    for base in (0..=254_u32).step_by(of_all).chain([1, 11, 12, 13, 253, 254]) {
        let mut list = |len: usize| -> Vec<f32> {
            let exponent = |rng: &mut fastrand::Rng| (base as i32 - rng.i32(0..=14)).clamp(0, 254) as u32;
            let mut numbers: Vec<f32> = (0..len)
                .map(|_| {
                    let exponent = exponent(&mut rng);
                    with_exponent(&mut rng, exponent)
                })
                .collect();
            // Exact powers of two too, and elements of the largest exponent.
            for (i, x) in numbers.iter_mut().enumerate() {
                match i % 7 {
                    0 => *x = f32::from_bits(base << 23),
                    3 => *x = f32::from_bits((base as i32 - i as i32 % 15).clamp(1, 254) as u32 * (1 << 23)),
                    _ => {}
                }
            }
            numbers
        };
        let x = list(shape[0] * shape[1]);
        let y = list(shape[1] * shape[2]);
        compare(&queue, [&x, &y], shape, &format!("exponents up to {base}"));
    }
}

fn filled(s: &Subject) {
    // These elements have all digits, so that the sums of their integers are the largest ones.
    let queue = s.ctx().queue("q");
    let shape = [18, 64, 5];
    let [rows, inner, columns] = shape;
    for exponent in [0_u32, 12, 127, 254] {
        let most = f32::from_bits(exponent << 23 | 0x7F_FFFF);
        for signs in [[1.0, 1.0], [-1.0, 1.0]] {
            let largest = vec![signs[0] * most; rows * inner];
            let y = vec![signs[1] * most; inner * columns];
            compare(&queue, [&largest, &y], shape, &format!("elements {most}"));
            // A larger element in each line moves the digits of the others to lower integers.
            for below in [11, 12, 13] {
                let Some(lower) = exponent.checked_sub(below) else { continue };
                let less = f32::from_bits(lower << 23 | 0x7F_FFFF);
                let of = |sign: f32, len: usize, is_large: &dyn Fn(usize) -> bool| -> Vec<f32> {
                    (0..len).map(|i| sign * if is_large(i) { most } else { less }).collect()
                };
                let x = of(signs[0], rows * inner, &|i| i % inner % 32 == 5);
                let y = of(signs[1], inner * columns, &|i| i / columns % 32 == 9);
                compare(&queue, [&x, &y], shape, &format!("{below} orders below {most}"));
                compare(&queue, [&largest, &y], shape, &format!("{most}, and {below} orders below it"));
            }
        }
    }
}

fn one_by_one(s: &Subject) {
    // In each line of 32, the first element is so large that all others are multiplied one by one. On a processor, these
    // tiles are so many that an invocation takes the whole sum. An interpreter takes a part of it.
    let queue = s.ctx().queue("q");
    let inner = if s.place().has_wgpu() || s.place().is_native() { 8192 } else { 1024 };
    let rows = 544;
    let most = f32::from_bits(127 << 23 | 0x7F_FFFF);
    let x: Vec<f32> = (0..inner).map(|i| if i % 32 == 0 { 1e20 } else { most }).collect();
    let y: Vec<f32> = (0..inner).map(|i| if i % 32 == 0 { 0.0 } else { most }).collect();
    let a = queue.array(&x).unwrap().matrices([rows, inner], Strides { first: 0, strides: [0, 1] });
    let b = queue.array(&y).unwrap().reshape([inner, 1]).unwrap();
    let found = product(&queue, a, &b, [rows, 1]);
    assert_eq!(found, vec![host::exact_dot(&x, &y).to_bits(); rows]);
}

fn special(s: &Subject) {
    let queue = s.ctx().queue("q");
    let infinite = f32::INFINITY;
    let pairs: &[(f32, f32)] = &[
        (infinite, 2.0),
        (infinite, -2.0),
        (-infinite, -SMALLEST),
        (infinite, 0.0),
        (-0.0, infinite),
        (f32::NAN, 0.0),
        (f32::from_bits(0xFF80_0001), 1.0),
        (infinite, -infinite),
        (f32::MAX, f32::MAX),
    ];
    let shape = [6, 70, 19];
    let [rows, inner, columns] = shape;
    for (at, &(x, y)) in pairs.iter().enumerate() {
        let i = at * 9 % inner;
        let mut left = vec![0.25; rows * inner];
        let mut right = vec![4.0; inner * columns];
        left[4 * inner + i] = x;
        right[i * columns + 17] = y;
        compare(&queue, [&left, &right], shape, &format!("{x} and {y} at {i}"));
        // Another infinity of either sign.
        for other in [infinite, -infinite] {
            left[4 * inner + (i + 40) % inner] = other;
            compare(&queue, [&left, &right], shape, &format!("{x} and {y} at {i}, and {other}"));
        }
        check_special(&queue, x, y);
    }
}

/// Multiplies one element, and compares it with the product of the processor.
#[track_caller]
fn check_special(queue: &CommandQueue, x: f32, y: f32) {
    let a = queue.array(&[x]).unwrap();
    let b = queue.array(&[y]).unwrap();
    let mut out = queue.zeros::<f32, 1>([1]).unwrap().reshape([]).unwrap();
    queue.matmul(&a, &b, &mut out, everywhere()).unwrap();
    let expected = if (x * y).is_nan() { f32::NAN } else { x * y };
    assert_eq!(queue.read(&out.cast_bits::<u32>()).wait().unwrap(), [expected.to_bits()], "{x} * {y}");
}

fn views(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(904);
    let list = list_of(6, 6000, &mut rng);
    let x = queue.array(&list).unwrap();
    let some: &[[usize; 3]] =
        if s.place().is_gl() { &[[17, 9, 20]] } else { &[[17, 9, 20], [3, 70, 2], [20, 5, 7], [9, 40, 1]] };
    with_forms(s, || {
        for &shape in some {
            let [rows, inner, columns] = shape;
            // By rows, by columns with gaps, from the last row on with gaps, and one row that repeats.
            let of = |[rows, columns]: [usize; 2]| {
                let [r, c] = [rows, columns].map(|len| len as isize);
                [
                    Strides { first: 0, strides: [c, 1] },
                    Strides { first: 7, strides: [1, r + 3] },
                    Strides { first: (rows - 1) * (columns + 2), strides: [-c - 2, 1] },
                    Strides { first: 11, strides: [0, 1] },
                ]
            };
            for (left, right) in of([rows, inner]).into_iter().zip(of([inner, columns]).into_iter().rev()) {
                let a = x.matrices([rows, inner], left);
                let b = x.matrices([inner, columns], right);
                let lists = [elements(&list, [rows, inner], left), elements(&list, [inner, columns], right)];
                let found = product(&queue, a, b, [rows, columns]);
                assert!(found == expected(&lists[0], &lists[1], shape), "{shape:?}: {left:?} and {right:?}");
            }
        }
    });
    stacks(&queue, &mut rng);
}

/// Multiplies stacks of which each factor repeats along other axes, with short sums and with sums that are divided.
fn stacks(queue: &CommandQueue, rng: &mut fastrand::Rng) {
    for shape in [[3, 5, 6], [1, 8200, 2]] {
        let [rows, inner, columns] = shape;
        let x = list_of(6, 3 * rows * inner, rng);
        let y = list_of(0, 4 * inner * columns, rng);
        let a = queue.array(&x).unwrap().reshape([1, 3, 1, rows, inner]).unwrap();
        let b = queue.array(&y).unwrap().reshape([2, 1, 2, inner, columns]).unwrap();
        let mut out = queue.zeros([2, 3, 2, rows, columns]).unwrap();
        queue.matmul(&a, &b, &mut out, everywhere()).unwrap();
        let found = queue.read(&out.cast_bits::<u32>()).wait().unwrap();
        for (matrix, found) in found.chunks(rows * columns).enumerate() {
            let x = &x[matrix / 2 % 3 * rows * inner..][..rows * inner];
            let y = &y[(matrix / 6 * 2 + matrix % 2) * inner * columns..][..inner * columns];
            assert_eq!(found, expected(x, y, shape), "matrix {matrix} of {shape:?}");
        }
    }
}

fn padded(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(905);
    // The results of the last shape pass through memory, from which they are copied.
    for shape in [[17, 9, 20], [3, 70, 2], [3, 1100, 2]] {
        let [rows, inner, columns] = shape;
        let x = list_of(6, rows * inner, &mut rng);
        let y = list_of(0, inner * columns, &mut rng);
        let mut a = ctx.full(Shape::padded([rows, inner], [rows + 2, inner + 5]), f32::NAN).unwrap();
        let mut b = ctx.full(Shape::padded([inner, columns], [inner + 1, columns + 3]), f32::NAN).unwrap();
        let mut out = ctx.full(Shape::padded([rows, columns], [rows + 1, columns + 4]), 77.0_f32).unwrap();
        queue.upload(&x, &mut a).unwrap();
        queue.upload(&y, &mut b).unwrap();
        queue.matmul(&a, &b, &mut out, everywhere()).unwrap();
        let found = queue.read(&Matrices::from(&out).array().cast_bits::<u32>()).wait().unwrap();
        let expected = expected(&x, &y, shape);
        for (at, word) in found.into_iter().enumerate() {
            let [row, column] = [at / (columns + 4), at % (columns + 4)];
            let is_inside = row < rows && column < columns;
            let expected = if is_inside { expected[row * columns + column] } else { 77_f32.to_bits() };
            assert_eq!(word, expected, "{shape:?} at {row}, {column}");
        }
    }
}

fn empty(s: &Subject) {
    let queue = s.ctx().queue("q");
    for [rows, inner, columns] in [[17, 0, 20], [1, 0, 1], [3, 0, 40], [0, 3, 2], [3, 2, 0]] {
        let a = queue.full([rows, inner], f32::NAN).unwrap();
        let b = queue.full([inner, columns], f32::NAN).unwrap();
        let found = product(&queue, &a, &b, [rows, columns]);
        assert_eq!(found, vec![0; rows * columns], "{rows} x {inner} x {columns}");
    }
    let a = queue.zeros::<f32, 3>([0, 2, 3]).unwrap();
    let b = queue.zeros::<f32, 2>([3, 4]).unwrap();
    queue.matmul(&a, &b, &mut queue.zeros([0, 2, 4]).unwrap(), everywhere()).unwrap();
    check_of_failed(s, |ctx, queue| {
        let a = ctx.zeros::<f32, 3>([0, 2, 3])?;
        let b = ctx.zeros::<f32, 2>([3, 4])?;
        queue.matmul(&a, &b, &mut ctx.zeros([0, 2, 4])?, everywhere())
    });
}

fn integers(s: &Subject) {
    let queue = s.ctx().queue("q");
    let shape = [9, 40, 5];
    let [rows, inner, columns] = shape;
    let x = scrambled(rows * inner, 1);
    let y = scrambled(inner * columns, 2);
    let a = queue.array(&x).unwrap().reshape([rows, inner]).unwrap();
    let b = queue.array(&y).unwrap().reshape([inner, columns]).unwrap();
    let mut out = queue.full([rows, columns], 5).unwrap();
    let steps = Matmul::default().alpha(3).beta(2).activation("x + 1").determinism(EVERYWHERE);
    queue.matmul(&a, &b, &mut out, steps).unwrap();
    let sums = host::matmul(&x, &y, shape).unwrap();
    let expected: Vec<i32> = sums.into_iter().map(|sum| sum.wrapping_mul(3).wrapping_add(11)).collect();
    assert_eq!(queue.read(&out).wait().unwrap(), expected);
    // Without the choice, a product of floats is the usual one.
    let numbers: Vec<f32> = (0..400).map(|i| i as f32 * 0.1).collect();
    let x = queue.array(&numbers).unwrap().reshape([20, 20]).unwrap();
    let bits = |options: Matmul<'_, f32>| {
        let mut out = queue.zeros::<f32, 2>([20, 20]).unwrap();
        queue.matmul(&x, &x, &mut out, options).unwrap();
        queue.read(&out.cast_bits::<u32>()).wait().unwrap()
    };
    assert_eq!(bits(Matmul::default()), bits(Matmul::default().determinism(Determinism::RunToRun)));
    let usual: Matmul<'_, f32> = Matmul::default();
    assert_eq!(usual.determinism, Determinism::RunToRun);
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(906);
    // The results of the last shape pass through memory that the graph owns.
    for shape in [[17, 20, 17], [5, 70, 2], [3, 1100, 2]] {
        let [rows, inner, columns] = shape;
        let x = queue.zeros::<f32, 1>([rows * inner]).unwrap();
        let y = list_of(6, inner * columns, &mut rng);
        let b = queue.array(&y).unwrap().reshape([inner, columns]).unwrap();
        let lists: Vec<Vec<f32>> = [0, 4, 6].map(|kind| list_of(kind, rows * inner, &mut rng)).into();
        check_replays(
            &queue,
            x,
            rows * columns,
            |queue, x, out: &DeviceArray<u32>| {
                let a = x.reshape([rows, inner])?;
                queue.matmul(&a, &b, &mut out.cast_bits::<f32>().reshape([rows, columns])?, everywhere())
            },
            lists,
            |list, found| assert!(found == expected(list, &y, shape), "{shape:?}"),
        );
    }
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let x = queue.full([3, 3], 1.0_f32).unwrap();
    let bias = queue.full([3], 1.0_f32).unwrap();
    let mut out = queue.full([3, 3], 7.0_f32).unwrap();
    let short = queue.full([2, 3], 1.0_f32).unwrap();
    let half = queue.array(&[f16::ONE; 9]).unwrap().reshape([3, 3]).unwrap();
    let none = queue.zeros::<f32, 2>([0, 3]).unwrap();
    let mut nothing = queue.zeros::<f32, 2>([0, 3]).unwrap();
    let before = dump::enqueued(&ctx, "q");
    let steps = [
        (everywhere().alpha(0.5), "option `alpha`", "0.5; 1 is needed"),
        (everywhere().alpha(0.0), "option `alpha`", "0.0; 1 is needed"),
        (everywhere().beta(1.0), "option `beta`", "1.0; 0 is needed"),
        (
            everywhere().bias(&bias),
            "option `bias`",
            "an array; no bias, and an addition after the product, is needed",
        ),
        (
            everywhere().activation("max(x, 0.0)"),
            "option `activation`",
            "`max(x, 0.0)`; no activation, and `map` after the product, is needed",
        ),
    ];
    for (steps, option, said) in steps {
        let error = assert_refused!(queue.matmul(&x, &x, &mut out, steps), Value);
        let said = format!("verb `matmul`: the {option} with `Determinism::Everywhere` is {said}");
        assert_eq!(error.to_string(), said);
        // Without results too.
        assert_refused!(queue.matmul(&none, &x, &mut nothing, steps), Value);
    }
    let error = assert_refused!(queue.matmul(&half, &half, &mut out, everywhere()), Value);
    let said = "verb `matmul`: the type of the factors with `Determinism::Everywhere` is `f16`; `f32`, `i32`, `u32` or `i8` is \
                needed";
    assert_eq!(error.to_string(), said);
    assert_refused!(queue.matmul(&x, &short, &mut out, everywhere()), Shape);
    let error = assert_refused!(queue.matmul(&x, &x, &mut x.clone(), everywhere()), Aliased);
    assert!(error.to_string().starts_with("verb `matmul`: arguments `a` and `out`"), "{error}");
    let mut foreign = s.ctx().queue("other").full([3, 3], 9.0_f32).unwrap();
    assert_refused!(queue.matmul(&x, &x, &mut foreign, everywhere()), ForeignContext);
    assert_eq!(dump::enqueued(&ctx, "q"), before);
    assert_eq!(queue.read(&out).wait().unwrap(), [7.0; 9]);
    // Options that change nothing are taken.
    queue.matmul(&x, &x, &mut out, everywhere().alpha(1.0).beta(-0.0)).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [3.0; 9]);
}

fn too_many(s: &Subject) {
    let (device, wgpu_queue) = raw::open_with(s, |limits| limits.max_storage_buffer_binding_size = 1 << 16);
    // A browser gives no device less than the default of WebGPU.
    let binding = device.limits().max_storage_buffer_binding_size;
    let ctx = Context::adopt(device, wgpu_queue, AdoptOptions::default()).unwrap();
    let queue = ctx.queue("q");
    let most = (binding / 80) as usize;
    let inner = 8193;
    let x = queue.full([inner], 2.0_f32).unwrap();
    let rows = |rows: usize| x.matrices([rows, inner], Strides { first: 0, strides: [0, 1] });
    let mut out = queue.full([most + 1], 9.0_f32).unwrap();
    let before = dump::enqueued(&ctx, "q");
    let error = assert_refused!(queue.matmul(rows(most + 1), &x, &mut out, everywhere()), Value);
    assert_eq!(dump::enqueued(&ctx, "q"), before);
    let said = format!(
        "verb `matmul`, argument `out`: the number of results is {}, and this device sums `f32` in at most {most}, with 80 \
         bytes for each; a smaller number, or sums of at most 8192 products, is needed",
        most + 1
    );
    assert_eq!(error.to_string(), said);
    // Shorter sums take no memory, and fewer results are taken.
    let short = x.matrices([most + 1, 5], Strides { first: 0, strides: [0, 1] });
    queue.matmul(short, &x.slice(0..5).unwrap(), &mut out, everywhere()).unwrap();
    assert_eq!(queue.get(&out, [most]).wait().unwrap(), 20.0);
    let mut few = out.slice(0..30).unwrap();
    queue.matmul(rows(30), &x, &mut few, everywhere()).unwrap();
    assert_eq!(queue.read(&few).wait().unwrap(), vec![4.0 * inner as f32; 30]);
}

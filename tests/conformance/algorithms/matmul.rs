//! A01, A20: products of matrices.

use super::*;
use fencepost::algorithms::Factor;
use half::f16;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_product_of_matrices_enqueues_nothing", refused),
        case("a01_a_product_of_matrices_with_a_hazard_enqueues_nothing", hazard),
        case("a01_a_captured_product_of_matrices_equals_that_of_the_queue", captured),
        case("a20_products_of_integers_are_exact_for_all_shapes", integers),
        case("a20_products_of_views_are_those_of_their_elements", views),
        case("a20_products_of_padded_arrays_keep_the_padding", padded),
        case("a20_stacks_of_matrices_repeat_to_that_of_the_results", stacks),
        case("a20_products_of_floats_are_within_their_bound", floats),
        case("a20_two_runs_of_a_product_give_the_same_bits", twice),
        case("a20_a_scale_of_zero_reads_no_elements", zero_scales),
        case("a20_a_bias_and_an_activation_follow_the_sum", epilogues),
        case("a20_products_of_half_floats_are_sums_of_floats", halves),
        case("a20_products_of_bytes_are_exact", bytes),
    ]
}

/// Numbers of rows, of inner indices and of columns: none, one, around tiles, few rows or columns, and long sums.
const SHAPES: [[usize; 3]; 26] = [
    [10, 1100, 12],
    [65, 17, 66],
    [1, 9, 70],
    [0, 3, 2],
    [3, 0, 2],
    [3, 2, 0],
    [1, 1, 1],
    [70, 9, 1],
    [5, 70, 3],
    [3, 70, 5],
    [2, 64, 2],
    [4, 65, 4],
    [6, 66, 9],
    [8, 33, 65],
    [9, 5, 64],
    [16, 16, 16],
    [15, 17, 16],
    [17, 15, 33],
    [31, 4, 33],
    [63, 3, 65],
    [64, 16, 64],
    [40, 1, 40],
    [2, 1025, 3],
    [1, 5000, 1],
    [7, 2050, 1],
    [3, 16_500, 1],
];

/// Returns the shapes. GL has some of them, because its driver takes seconds to compile a kernel.
fn shapes(s: &Subject) -> &'static [[usize; 3]] {
    if s.place().is_gl() && !large() { &SHAPES[..7] } else { &SHAPES }
}

/// Returns two lists of random words, for the factors of a shape.
fn words(rng: &mut fastrand::Rng, [rows, inner, columns]: [usize; 3]) -> [Vec<u32>; 2] {
    [rows * inner, inner * columns].map(|len| (0..len).map(|_| rng.u32(..)).collect())
}

/// Compares a product with the host's, with guard elements around the results.
#[track_caller]
fn compare<T: Reducible + Factor<T> + Debug>(
    queue: &CommandQueue,
    a: impl Into<Matrices<T>>,
    b: impl Into<Matrices<T>>,
    [x, y]: [&[T]; 2],
    shape: [usize; 3],
) {
    let [rows, _, columns] = shape;
    let found = guarded(queue, rows * columns, |out| {
        queue.matmul(a, b, &mut out.reshape([rows, columns])?, Matmul::default())
    });
    assert!(Some(found) == host::matmul(x, y, shape), "{shape:?}");
}

fn integers(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(801);
    with_forms(s, || {
        for (at, &shape) in shapes(s).iter().enumerate() {
            let [rows, inner, columns] = shape;
            let [x, y] = words(&mut rng, shape);
            let a = queue.array(&x).unwrap().reshape([rows, inner]).unwrap();
            let b = queue.array(&y).unwrap().reshape([inner, columns]).unwrap();
            compare(&queue, &a, &b, [&x, &y], shape);
            if at % 7 == 0 {
                let lists: [&[i32]; 2] = [bytemuck::cast_slice(&x), bytemuck::cast_slice(&y)];
                compare(&queue, &a.cast_bits::<i32>(), &b.cast_bits::<i32>(), lists, shape);
            }
            assert_eq!(queue.read(&a).wait().unwrap(), x, "the factor stays");
        }
    });
}

/// Returns the elements of a view of a list, row by row.
pub(super) fn elements<T: Copy>(
    list: &[T],
    [rows, columns]: [usize; 2],
    Strides { first, strides }: Strides<2>,
) -> Vec<T> {
    let place = |at: usize| {
        let index = [at / columns, at % columns].map(|index| index as isize);
        first as isize + index[0] * strides[0] + index[1] * strides[1]
    };
    (0..rows * columns).map(|at| list[place(at) as usize]).collect()
}

fn views(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(802);
    let list: Vec<u32> = (0..6000).map(|_| rng.u32(..)).collect();
    let x = queue.array(&list).unwrap();
    let some: &[[usize; 3]] =
        if s.place().is_gl() { &[[17, 9, 20]] } else { &[[17, 9, 20], [3, 70, 2], [20, 5, 7], [9, 6, 1]] };
    with_forms(s, || {
        for &shape in some {
            let [rows, inner, columns] = shape;
            // Views of a row-major matrix and of a column-major one, with gaps between the rows, from the last row
            // on, with gaps between the columns too, and of one row that repeats.
            let of = |[rows, columns]: [usize; 2]| {
                let [r, c] = [rows, columns].map(|len| len as isize);
                [
                    Strides { first: 0, strides: [c, 1] },
                    Strides { first: 7, strides: [1, r + 3] },
                    Strides { first: (rows - 1) * (columns + 2), strides: [-c - 2, 1] },
                    Strides { first: 5, strides: [3 * c, 3] },
                    Strides { first: 11, strides: [0, 1] },
                ]
            };
            let lefts = of([rows, inner]);
            let rights = of([inner, columns]);
            for (at, left) in lefts.into_iter().enumerate() {
                // The first two have all pairs, and each other view has a partner.
                for (_, right) in
                    rights.into_iter().enumerate().filter(|&(other, _)| at.max(other) < 2 || at == other)
                {
                    let lists =
                        [elements(&list, [rows, inner], left), elements(&list, [inner, columns], right)];
                    let a = x.matrices([rows, inner], left);
                    let b = x.matrices([inner, columns], right);
                    compare(&queue, a, b, [&lists[0], &lists[1]], shape);
                }
            }
            // The views above, by name.
            let a = x.slice(0..inner * rows).unwrap().reshape([inner, rows]).unwrap();
            let b = x.slice(0..columns * inner).unwrap().reshape([columns, inner]).unwrap();
            let left = Strides { first: 0, strides: [1, rows as isize] };
            let right = Strides { first: 0, strides: [1, inner as isize] };
            let lists = [elements(&list, [rows, inner], left), elements(&list, [inner, columns], right)];
            compare(&queue, a.transposed(), b.transposed(), [&lists[0], &lists[1]], shape);
        }
        vectors(&queue);
    });
}

/// Multiplies vectors, which are rows on the left and columns on the right.
fn vectors(queue: &CommandQueue) {
    let x = queue.array(&[1_u32, 2, 3]).unwrap();
    let y = queue.array(&[10_u32, 100]).unwrap();
    let table = queue.array(&[1_u32, 2, 3, 4, 5, 6]).unwrap().reshape([2, 3]).unwrap();
    let mut pair = queue.zeros([2]).unwrap();
    queue.matmul(&table, &x, &mut pair, Matmul::default()).unwrap();
    assert_eq!(queue.read(&pair).wait().unwrap(), [14, 32]);
    let mut triple = queue.zeros([3]).unwrap();
    queue.matmul(&y, &table, &mut triple, Matmul::default().beta(7)).unwrap();
    assert_eq!(queue.read(&triple).wait().unwrap(), [410, 520, 630]);
    let mut one = queue.array(&[5_u32]).unwrap().reshape([]).unwrap();
    queue.matmul(&x, &x, &mut one, Matmul::default().beta(2)).unwrap();
    assert_eq!(queue.read(&one).wait().unwrap(), [24]);
    let stack = table.reshape([2, 1, 3]).unwrap();
    let mut rows = queue.zeros([2, 1]).unwrap();
    queue.matmul(&stack, &x, &mut rows, Matmul::default()).unwrap();
    assert_eq!(queue.read(&rows).wait().unwrap(), [14, 32]);
}

fn padded(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(803);
    with_forms(s, || {
        for shape in [[17, 9, 20], [3, 70, 2]] {
            let [rows, inner, columns] = shape;
            let lists = words(&mut rng, shape);
            let [x, y] = &lists;
            let mut a = ctx.full(Shape::padded([rows, inner], [rows + 2, inner + 5]), 99_u32).unwrap();
            let mut b = ctx.full(Shape::padded([inner, columns], [inner + 1, columns + 3]), 88_u32).unwrap();
            let mut out = ctx.full(Shape::padded([rows, columns], [rows + 1, columns + 4]), 77_u32).unwrap();
            queue.upload(x, &mut a).unwrap();
            queue.upload(y, &mut b).unwrap();
            queue.matmul(&a, &b, &mut out, Matmul::default()).unwrap();
            let found = queue.read(Matrices::from(&out).array()).wait().unwrap();
            let expected = host::matmul(x, y, shape).unwrap();
            for (at, word) in found.into_iter().enumerate() {
                let [row, column] = [at / (columns + 4), at % (columns + 4)];
                let is_inside = row < rows && column < columns;
                let expected = if is_inside { expected[row * columns + column] } else { 77 };
                assert_eq!(word, expected, "{shape:?} at {row}, {column}");
            }
        }
    });
}

/// Returns the number of the matrix of a stack that repeats, for an index of the results.
fn repeated(index: [usize; 3], stack: [usize; 3]) -> usize {
    index.into_iter().zip(stack).fold(0, |matrix, (at, len)| matrix * len + if len == 1 { 0 } else { at })
}

fn stacks(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(804);
    let all = [[9, 3, 10], [5, 1030, 6], [2, 5, 1], [1, 4, 3], [3, 40, 2]];
    let (all, rounds) = if s.place().is_gl() { (&all[..4], 8) } else { (&all[..], 20) };
    with_forms(s, || {
        for round in 0..rounds {
            let shape = all[round % all.len()];
            let [rows, inner, columns] = shape;
            // Long sums have several shares if there are few matrices.
            let most = if inner > 10 { 2 } else { 3 };
            let stack: [usize; 3] = std::array::from_fn(|_| rng.usize(1..=most));
            let [left, right] = [(); 2].map(|()| stack.map(|len| if rng.bool() { len } else { 1 }));
            let count = |stack: [usize; 3]| stack.iter().product::<usize>();
            let lens =
                [count(left) * rows * inner, count(right) * inner * columns, count(stack) * rows * columns];
            let [x, y, z] = lens.map(|len| (0..len).map(|_| rng.u32(..)).collect::<Vec<u32>>());
            let w: Vec<u32> = (0..columns).map(|_| rng.u32(..)).collect();
            let [l0, l1, l2] = left;
            let a = queue.array(&x).unwrap().reshape([l0, l1, l2, rows, inner]).unwrap();
            let [r0, r1, r2] = right;
            let b = queue.array(&y).unwrap().reshape([r0, r1, r2, inner, columns]).unwrap();
            let [s0, s1, s2] = stack;
            let mut out = queue.array(&z).unwrap().reshape([s0, s1, s2, rows, columns]).unwrap();
            let bias = queue.array(&w).unwrap();
            let has_steps = round % 2 == 1;
            let steps = if has_steps { plain().alpha(3).beta(7).bias(&bias) } else { plain() };
            // Axes of length 1 before the first longer one may be left out.
            match right {
                [1, 1, 1] => queue.matmul(&a, &b.reshape([inner, columns]).unwrap(), &mut out, steps),
                [1, 1, last] => {
                    queue.matmul(&a, &b.reshape([last, inner, columns]).unwrap(), &mut out, steps)
                }
                _ => queue.matmul(&a, &b, &mut out, steps),
            }
            .unwrap();
            let found = queue.read(&out).wait().unwrap();
            let lists = found.chunks(rows * columns).zip(z.chunks(rows * columns));
            for (at, (found, z)) in lists.enumerate() {
                let index = [at / (s1 * s2), at / s2 % s1, at % s2];
                let x = &x[repeated(index, left) * rows * inner..][..rows * inner];
                let y = &y[repeated(index, right) * inner * columns..][..inner * columns];
                let mut expected = host::matmul(x, y, shape).unwrap();
                if has_steps {
                    for (at, sum) in expected.iter_mut().enumerate() {
                        let others = z[at].wrapping_mul(7).wrapping_add(w[at % columns]);
                        *sum = sum.wrapping_mul(3).wrapping_add(others);
                    }
                }
                assert_eq!(found, expected, "round {round}: {left:?} and {right:?} to {stack:?}, {index:?}");
            }
        }
    });
    // No matrices, and results of no matrices.
    let a = queue.zeros::<u32, 3>([0, 2, 3]).unwrap();
    let b = queue.zeros::<u32, 2>([3, 4]).unwrap();
    queue.matmul(&a, &b, &mut queue.zeros([0, 2, 4]).unwrap(), Matmul::default()).unwrap();
    check_of_failed(s, |ctx, queue| {
        let a = ctx.zeros::<u32, 3>([0, 2, 3])?;
        let b = ctx.zeros::<u32, 2>([3, 4])?;
        queue.matmul(&a, &b, &mut ctx.zeros([0, 2, 4])?, Matmul::default())
    });
    // Without elements, the rows of all matrices need not be countable.
    check_of_failed(s, |ctx, queue| {
        let a = ctx.zeros::<u32, 3>([MANY, MANY, 0])?;
        let b = ctx.zeros::<u32, 2>([0, 0])?;
        queue.matmul(&a, &b, &mut ctx.zeros([MANY, MANY, 0])?, Matmul::default())
    });
}

/// Half a unit in the last place of numbers from 1 to 2.
const U: f64 = 1.0 / 16_777_216.0;

/// Terms of results in double precision.
struct Terms {
    /// Sums of the products, and sums of their magnitudes.
    sums: Vec<[f64; 2]>,
}

impl Terms {
    fn of(x: &[f32], y: &[f32], [rows, inner, columns]: [usize; 3]) -> Self {
        let sum = |at: usize| {
            let products = (0..inner).map(|i| {
                let factors = [x[at / columns * inner + i], y[i * columns + at % columns]];
                f64::from(factors[0]) * f64::from(factors[1])
            });
            products.fold([0.0, 0.0], |[sum, sizes], product| [sum + product, sizes + product.abs()])
        };
        Self { sums: (0..rows * columns).map(sum).collect() }
    }
}

/// Returns numbers of different sizes.
fn numbers(rng: &mut fastrand::Rng, len: usize) -> Vec<f32> {
    (0..len).map(|_| (rng.f32() - 0.5) * [1.0, 1e3][rng.usize(..2)]).collect()
}

fn floats(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(805);
    let scales: [[f32; 2]; 3] = [[1.0, 0.0], [-2.5, 0.0], [0.75, 3.0]];
    with_forms(s, || {
        for (at, &shape) in shapes(s).iter().enumerate() {
            compare_floats(&queue, &mut rng, shape, scales[at % 3]);
        }
    });
    nan(&queue);
}

/// Compares a product of random floats with the exact one.
fn compare_floats(queue: &CommandQueue, rng: &mut fastrand::Rng, shape: [usize; 3], scales: [f32; 2]) {
    let [rows, inner, columns] = shape;
    let x = numbers(rng, rows * inner);
    let y = numbers(rng, inner * columns);
    let z = numbers(rng, rows * columns);
    let w = numbers(rng, columns);
    let a = queue.array(&x).unwrap().reshape([rows, inner]).unwrap();
    let b = queue.array(&y).unwrap().reshape([inner, columns]).unwrap();
    let bias = queue.array(&w).unwrap();
    let mut out = queue.array(&z).unwrap().reshape([rows, columns]).unwrap();
    let steps = Matmul::default().alpha(scales[0]).beta(scales[1]).bias(&bias);
    queue.matmul(&a, &b, &mut out, steps).unwrap();
    let found = queue.read(&out).wait().unwrap();
    let terms = Terms::of(&x, &y, shape).sums;
    for (at, (&found, [sum, sizes])) in found.iter().zip(terms).enumerate() {
        let [scale, keep] = scales.map(f64::from);
        let others = [keep * f64::from(z[at]), f64::from(w[at % columns])];
        let exact = scale * sum + others[0] + others[1];
        let sizes = scale.abs() * sizes + others[0].abs() + others[1].abs();
        let bound = (inner as f64 + 5.0) * U * sizes;
        let error = (f64::from(found) - exact).abs();
        assert!(error <= bound, "{shape:?} at {at}: {found}, not {exact} +- {bound}");
    }
}

/// Compares products of integers, in C order and of transposes, and a product of floats with those of the host.
#[cfg(feature = "validation")]
pub(super) fn compare_all(queue: &CommandQueue, rng: &mut fastrand::Rng, shape: [usize; 3]) {
    let [rows, inner, columns] = shape;
    let [x, y] = words(rng, shape);
    let a = queue.array(&x).unwrap();
    let b = queue.array(&y).unwrap();
    let left = a.reshape([rows, inner]).unwrap();
    let right = b.reshape([inner, columns]).unwrap();
    compare(queue, &left, &right, [&x, &y], shape);
    let left_turned = a.reshape([inner, rows]).unwrap().transposed();
    let right_turned = b.reshape([columns, inner]).unwrap().transposed();
    let of_left = elements(&x, [rows, inner], Strides { first: 0, strides: [1, rows as isize] });
    let of_right = elements(&y, [inner, columns], Strides { first: 0, strides: [1, inner as isize] });
    compare(queue, left_turned.clone(), right_turned.clone(), [&of_left, &of_right], shape);
    compare(queue, &left, right_turned, [&x, &of_right], shape);
    compare(queue, left_turned, &right, [&of_left, &y], shape);
    compare_floats(queue, rng, shape, [0.75, 3.0]);
}

/// Multiplies a matrix with one NaN, which affects only the results of its row.
fn nan(queue: &CommandQueue) {
    for shape in [[20, 7, 21], [5, 70, 2], [3, 7, 70]] {
        let [rows, inner, columns] = shape;
        let mut x = vec![1.0_f32; rows * inner];
        x[2 * inner + 3] = f32::NAN;
        let a = queue.array(&x).unwrap().reshape([rows, inner]).unwrap();
        let b = queue.full([inner, columns], 2.0_f32).unwrap();
        let mut out = queue.zeros([rows, columns]).unwrap();
        queue.matmul(&a, &b, &mut out, Matmul::default()).unwrap();
        for (at, found) in queue.read(&out).wait().unwrap().into_iter().enumerate() {
            let is_right = if at / columns == 2 { found.is_nan() } else { found == 2.0 * inner as f32 };
            assert!(is_right, "{shape:?} at {at}: {found}");
        }
    }
}

fn twice(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(809);
    with_forms(s, || {
        // The sums of the second shape have several shares.
        for [rows, inner, columns] in [[9, 40, 10], [5, 1100, 6]] {
            let a = queue.array(&numbers(&mut rng, rows * inner)).unwrap().reshape([rows, inner]).unwrap();
            let b =
                queue.array(&numbers(&mut rng, inner * columns)).unwrap().reshape([inner, columns]).unwrap();
            check_same_bits(&ctx, &queue, rows * columns, |queue, out| {
                queue.matmul(&a, &b, &mut out.reshape([rows, columns])?, Matmul::default())
            });
        }
    });
}

fn zero_scales(s: &Subject) {
    let queue = s.ctx().queue("q");
    with_forms(s, || {
        // The results of the last shape are those of several shares.
        for shape in [[17, 9, 20], [5, 70, 2], [3, 9, 70], [9, 1030, 10]] {
            let [rows, inner, columns] = shape;
            let ones = [[rows, inner], [inner, columns]].map(|shape| queue.full(shape, 1.0_f32).unwrap());
            let nans = [[rows, inner], [inner, columns]].map(|shape| queue.full(shape, f32::NAN).unwrap());
            let mut out = queue.full([rows, columns], f32::NAN).unwrap();
            queue.matmul(&ones[0], &ones[1], &mut out, Matmul::default()).unwrap();
            assert_eq!(queue.read(&out).wait().unwrap(), vec![inner as f32; rows * columns], "{shape:?}");
            for zero in [0.0_f32, -0.0] {
                let scaled = Matmul::default().alpha(zero).beta(2.0);
                queue.fill(&mut out, 3.5).unwrap();
                queue.matmul(&nans[0], &nans[1], &mut out, scaled).unwrap();
                assert_eq!(queue.read(&out).wait().unwrap(), vec![7.0; rows * columns], "{shape:?}");
            }
            // Without products, the sums are 0.
            let a = queue.zeros::<f32, 2>([rows, 0]).unwrap();
            let b = queue.zeros::<f32, 2>([0, columns]).unwrap();
            queue.matmul(&a, &b, &mut out, Matmul::default().beta(-1.0)).unwrap();
            assert_eq!(queue.read(&out).wait().unwrap(), vec![-7.0; rows * columns], "{shape:?}");
            queue.fill(&mut out, f32::NAN).unwrap();
            queue.matmul(&a, &b, &mut out, Matmul::default()).unwrap();
            assert_eq!(queue.read(&out).wait().unwrap(), vec![0.0; rows * columns], "{shape:?}");
        }
    });
}

fn epilogues(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(806);
    with_forms(s, || {
        for shape in [[17, 9, 20], [5, 70, 2], [70, 9, 3], [9, 1030, 10]] {
            let [rows, inner, columns] = shape;
            let lists = [rows * inner, inner * columns, rows * columns, columns]
                .map(|len| (0..len).map(|_| rng.i32(-9..9)).collect::<Vec<i32>>());
            let [x, y, z, w] = &lists;
            let a = queue.array(x).unwrap().reshape([rows, inner]).unwrap();
            let b = queue.array(y).unwrap().reshape([inner, columns]).unwrap();
            let bias = queue.array(w).unwrap();
            let mut out = queue.array(z).unwrap().reshape([rows, columns]).unwrap();
            let steps = Matmul::default().alpha(3).beta(-2).bias(&bias).activation("max(x, -x) - 1");
            queue.matmul(&a, &b, &mut out, steps).unwrap();
            let sums = host::matmul(x, y, shape).unwrap();
            let result = |(at, sum): (usize, &i32)| (3 * sum - 2 * z[at] + w[at % columns]).abs() - 1;
            let expected: Vec<i32> = sums.iter().enumerate().map(result).collect();
            assert_eq!(queue.read(&out).wait().unwrap(), expected, "{shape:?}");
        }
    });
    let x = queue.full([3, 3], 1.0_f32).unwrap();
    let mut out = queue.full([3, 3], 7.0_f32).unwrap();
    let before = dump::enqueued(&ctx, "q");
    for (activation, said) in [
        ("", "expression:1:1: "),
        ("x +", "expression:1:"),
        ("x; x", "expression:1:2: "),
        ("a[0]", "no definition in scope for identifier: `a`"),
        ("params.alpha * x", "no definition in scope for identifier: `params`"),
        ("x + column", "no definition in scope for identifier: `column`"),
        ("u32(x)", "the value of the activation is"),
    ] {
        let steps = Matmul::default().activation(activation);
        let error = assert_refused!(queue.matmul(&x, &x, &mut out, steps), Kernel(_));
        assert!(error.to_string().contains(said), "{activation}: {error}");
    }
    assert_eq!(dump::enqueued(&ctx, "q"), before);
    assert_eq!(queue.read(&out).wait().unwrap(), [7.0; 9]);
}

fn halves(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    if !ctx.info().abilities.contains(&"f16") {
        let x = queue.array(&[f16::ONE; 9]).unwrap().reshape([3, 3]).unwrap();
        let mut out = queue.array(&[f16::ONE; 9]).unwrap().reshape([3, 3]).unwrap();
        let error = assert_refused!(queue.matmul(&x, &x, &mut out, Matmul::default()), Unsupported);
        assert!(error.to_string().contains("16-bit floats"), "{error}");
        assert_eq!(queue.read(&out).wait().unwrap(), [f16::ONE; 9]);
        return;
    }
    let mut rng = fastrand::Rng::with_seed(807);
    with_forms(s, || {
        for shape in [[17, 9, 21], [5, 70, 1], [3, 9, 71], [9, 1030, 11]] {
            let [rows, inner, columns] = shape;
            let list = |rng: &mut fastrand::Rng, len: usize| {
                (0..len).map(|_| f16::from_f32(rng.f32() * 4.0 - 1.0)).collect::<Vec<f16>>()
            };
            let x = list(&mut rng, rows * inner);
            let y = list(&mut rng, inner * columns);
            let w = list(&mut rng, columns);
            let a = queue.array(&x).unwrap().reshape([rows, inner]).unwrap();
            let b = queue.array(&y).unwrap().reshape([inner, columns]).unwrap();
            let bias = queue.array(&w).unwrap();
            let mut wide = queue.zeros::<f32, 2>([rows, columns]).unwrap();
            let zeros = vec![f16::ZERO; rows * columns];
            let mut out = queue.array(&zeros).unwrap().reshape([rows, columns]).unwrap();
            queue.matmul(&a, &b, &mut wide, Matmul::default()).unwrap();
            let steps = Matmul::default().alpha(0.5).bias(&bias).activation("x * 0.25");
            queue.matmul(&a, &b, &mut out, steps).unwrap();
            let wide = queue.read(&wide).wait().unwrap();
            let out = queue.read(&out).wait().unwrap();
            let lists = [&x, &y].map(|list| list.iter().map(|x| x.to_f32()).collect::<Vec<f32>>());
            let terms = Terms::of(&lists[0], &lists[1], shape).sums;
            for (at, [sum, sizes]) in terms.into_iter().enumerate() {
                let bound = (inner as f64 + 5.0) * U * sizes;
                let error = (f64::from(wide[at]) - sum).abs();
                assert!(error <= bound, "{shape:?} at {at}: {}, not {sum}", wide[at]);
                let added = w[at % columns].to_f64();
                let exact = (0.5 * sum + added) * 0.25;
                // A device may round to either neighbour, and take a number below the smallest normal one as 0.
                let bound = bound + (inner as f64 + 6.0) * U * added.abs() + exact.abs() / 1024.0 + 6.2e-5;
                let error = (out[at].to_f64() - exact).abs();
                assert!(error <= bound, "{shape:?} at {at}: {}, not {exact}", out[at]);
            }
        }
    });
    with_forms(s, || stacks_of_halves(&ctx, &queue, &mut rng));
    // A sum of halves would stay at 2048.
    let ones = queue.array(&[f16::ONE; 3000]).unwrap();
    let mut total = queue.array(&[f16::ZERO]).unwrap().reshape([]).unwrap();
    queue.matmul(&ones, &ones, &mut total, Matmul::default()).unwrap();
    assert_eq!(queue.read(&total).wait().unwrap(), [f16::from_f32(3000.0)]);
}

/// Multiplies padded stacks by the transpose of a matrix. The sums are small integers, so that they are exact.
fn stacks_of_halves(ctx: &Context, queue: &CommandQueue, rng: &mut fastrand::Rng) {
    for shape in [[5, 9, 6], [3, 70, 2]] {
        let [rows, inner, columns] = shape;
        let [x, y] = [2 * rows * inner, inner * columns]
            .map(|len| (0..len).map(|_| rng.i32(-3..=3) as f32).collect::<Vec<f32>>());
        let halves = |list: &[f32]| list.iter().map(|&x| f16::from_f32(x)).collect::<Vec<f16>>();
        let mut a = ctx.full(Shape::padded([2, rows, inner], [3, rows + 1, inner + 2]), f16::NAN).unwrap();
        queue.upload(&halves(&x), &mut a).unwrap();
        let b = queue.array(&halves(&y)).unwrap().reshape([columns, inner]).unwrap();
        let mut wide = queue.full([2, rows, columns], f32::NAN).unwrap();
        let mut out = queue.full([2, rows, columns], f16::NAN).unwrap();
        queue.matmul(&a, b.transposed(), &mut wide, Matmul::default()).unwrap();
        queue.matmul(&a, b.transposed(), &mut out, Matmul::default()).unwrap();
        let turned: Vec<f32> =
            (0..inner * columns).map(|at| y[at % columns * inner + at / columns]).collect();
        let products = x.chunks(rows * inner).map(|x| host::matmul(x, &turned, shape).unwrap());
        let expected: Vec<f32> = products.flatten().collect();
        assert_eq!(queue.read(&wide).wait().unwrap(), expected, "{shape:?}");
        assert_eq!(queue.read(&out).wait().unwrap(), halves(&expected), "{shape:?}");
    }
}

/// Multiplies bytes on the host.
fn product_of_bytes(x: &[i8], y: &[i8], shape: [usize; 3]) -> Vec<i32> {
    let [x, y] = [x, y].map(|list| list.iter().map(|&x| i32::from(x)).collect::<Vec<i32>>());
    host::matmul(&x, &y, shape).expect("the lists have the shape")
}

fn bytes(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(808);
    with_forms(s, || {
        for shape in [[17, 9, 21], [1, 1, 1], [5, 72, 3], [33, 66, 34], [9, 1031, 10]] {
            let [rows, inner, columns] = shape;
            let [x, y] =
                [rows * inner, inner * columns].map(|len| (0..len).map(|_| rng.i8(..)).collect::<Vec<i8>>());
            let [a, b] = [&x, &y].map(|list| queue.array(list).unwrap());
            let expected = product_of_bytes(&x, &y, shape);
            // The right factor by rows, and by columns.
            let turned: Vec<i8> =
                (0..inner * columns).map(|at| y[at % inner * columns + at / inner]).collect();
            let rights = [
                Matrices::from(&b.reshape([inner, columns]).unwrap()),
                queue.array(&turned).unwrap().reshape([columns, inner]).unwrap().transposed(),
            ];
            for right in rights {
                let left = a.reshape([rows, inner]).unwrap();
                let found = guarded(&queue, rows * columns, |out| {
                    queue.matmul(&left, right, &mut out.reshape([rows, columns])?, Matmul::default())
                });
                assert_eq!(found, expected, "{shape:?}");
            }
            // The left factor by columns, and the other steps.
            let turned: Vec<i8> = (0..rows * inner).map(|at| x[at % rows * inner + at / rows]).collect();
            let left = queue.array(&turned).unwrap().reshape([inner, rows]).unwrap();
            let right = b.reshape([inner, columns]).unwrap();
            let bias = queue.array(&(0..columns as i32).collect::<Vec<i32>>()).unwrap();
            let mut out = queue.full([rows, columns], 5).unwrap();
            let steps = Matmul::default().alpha(-2).beta(3).bias(&bias);
            queue.matmul(left.transposed(), &right, &mut out, steps).unwrap();
            let result = |(at, sum): (usize, &i32)| -2 * sum + 15 + (at % columns) as i32;
            let expected: Vec<i32> = expected.iter().enumerate().map(result).collect();
            assert_eq!(queue.read(&out).wait().unwrap(), expected, "{shape:?}");
        }
        stacks_of_bytes(&queue, &mut rng);
    });
}

/// Multiplies stacks of bytes from the last one on by a matrix from its last row on.
fn stacks_of_bytes(queue: &CommandQueue, rng: &mut fastrand::Rng) {
    for shape in [[5, 18, 6], [3, 70, 2]] {
        let [rows, inner, columns] = shape;
        let [x, y] =
            [2 * rows * inner, inner * columns].map(|len| (0..len).map(|_| rng.i8(..)).collect::<Vec<i8>>());
        let [a, b] = [&x, &y].map(|list| queue.array(list).unwrap());
        let [matrix, row] = [rows * inner, inner].map(|len| -(len as isize));
        let left = Strides { first: x.len() - 1, strides: [matrix, row, -1] };
        let right = Strides { first: (inner - 1) * columns, strides: [-(columns as isize), 1] };
        let mut out = queue.full([2, rows, columns], 5_i32).unwrap();
        let a = a.matrices([2, rows, inner], left);
        queue.matmul(a, b.matrices([inner, columns], right), &mut out, Matmul::default()).unwrap();
        let reversed: Vec<i8> = x.iter().rev().copied().collect();
        let turned: Vec<i8> = y.chunks(columns).rev().flatten().copied().collect();
        let products = reversed.chunks(rows * inner).map(|x| product_of_bytes(x, &turned, shape));
        let expected: Vec<i32> = products.flatten().collect();
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "{shape:?}");
    }
}

fn captured(s: &Subject) {
    let queue = s.ctx().queue("q");
    with_forms(s, || {
        for [rows, inner, columns] in [[17, 20, 17], [5, 70, 2], [9, 1030, 9]] {
            let x = queue.zeros::<u32, 1>([rows * inner]).unwrap();
            let lists = (0..3).map(|round| {
                let list = scrambled(rows * inner, round);
                bytemuck::cast_slice::<i32, u32>(&list).to_vec()
            });
            let y: Vec<u32> =
                (0..inner * columns).map(|at| (at as u32).wrapping_mul(2_654_435_761)).collect();
            let b = queue.array(&y).unwrap().reshape([inner, columns]).unwrap();
            check_replays(
                &queue,
                x,
                rows * columns,
                |queue, x, out| {
                    let a = x.reshape([rows, inner])?;
                    queue.matmul(&a, &b, &mut out.reshape([rows, columns])?, Matmul::default())
                },
                lists,
                |list, found| {
                    let expected = host::matmul(list, &y, [rows, inner, columns]);
                    assert!(expected.as_deref() == Some(found), "{rows} rows");
                },
            );
        }
    });
}

fn hazard(s: &Subject) {
    enqueue_nothing_with_a_hazard(
        s,
        40_000,
        &[
            |queue, x, out| {
                let x = x.reshape([200, 200])?;
                let left = x.slice(0..10)?;
                queue.matmul(&left, &x, &mut out.slice(0..2000)?.reshape([10, 200])?, Matmul::default())
            },
            // Two launches: one for the shares of the sum, and one that adds them.
            |queue, x, out| queue.matmul(x, x, &mut out.slice(0..1)?.reshape([])?, Matmul::default()),
        ],
    );
}

/// Returns the product without other steps.
fn plain() -> Matmul<'static, u32> {
    Matmul::default()
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let other = s.ctx().queue("other");
    // The results of the last shape are those of several shares. The kernel for the second one exchanges the factors.
    for shape in [[4, 5, 6], [70, 9, 2], [2, 20_000, 1]] {
        let [rows, inner, columns] = shape;
        let a = queue.full([rows, inner], 1_u32).unwrap();
        let b = queue.full([inner, columns], 1_u32).unwrap();
        let mut out = queue.full([rows, columns], 7_u32).unwrap();
        let mut wider = queue.full([rows, columns + 1], 7_u32).unwrap();
        let bias = queue.full([columns + 1], 1_u32).unwrap();
        let turned = a.reshape([inner, rows]).unwrap().transposed();
        let before = dump::enqueued(&ctx, "q");
        let names = |error: &Error, argument: &str| {
            let start = format!("verb `matmul`, argument `{argument}`: ");
            assert!(error.to_string().starts_with(&start), "{shape:?}: {error}");
        };
        names(&assert_refused!(queue.matmul(&a, &a, &mut out, plain()), Shape), "b");
        let error = assert_refused!(
            queue.matmul(&a, &b, &mut wider, plain()),
            Shape { expected, .. } if *expected == [rows, columns]
        );
        names(&error, "out");
        names(&assert_refused!(queue.matmul(&a, &b, &mut out, plain().bias(&bias)), Shape), "bias");
        let foreign = other.full([inner, rows], 1_u32).unwrap().transposed();
        names(&assert_refused!(queue.matmul(foreign, &b, &mut out, plain()), ForeignContext), "a");
        let foreign = other.full([inner, columns], 1_u32).unwrap();
        names(&assert_refused!(queue.matmul(turned, &foreign, &mut out, plain()), ForeignContext), "b");
        for (argument, factor) in [("a", &a), ("b", &b)] {
            let whole = factor.reshape([factor.len()]).unwrap();
            if whole.len() < rows * columns {
                continue;
            }
            let mut part = whole.slice(0..rows * columns).unwrap().reshape([rows, columns]).unwrap();
            let error = assert_refused!(queue.matmul(&a, &b, &mut part, plain()), Aliased);
            assert!(error.to_string().contains(&format!("arguments `{argument}` and `out`")), "{error}");
        }
        assert_eq!(dump::enqueued(&ctx, "q"), before, "{shape:?}");
        assert_eq!(queue.read(&out).wait().unwrap(), vec![7; rows * columns]);
    }
    values(&queue);
}

/// Calls the verb with views and stacks that it refuses.
fn values(queue: &CommandQueue) {
    let x = queue.full([100], 1_u32).unwrap();
    let mut out = queue.full([4, 4], 7_u32).unwrap();
    for (first, strides, range) in [
        (0, [26, 8], "0..=102 of 100 elements"),
        (5, [-2, 1], "-1..=8 of 100 elements"),
        (100, [0, 0], "100..=100 of 100 elements"),
        (usize::MAX, [isize::MAX, 1], "of 100 elements"),
    ] {
        let view = x.matrices([4, 4], Strides { first, strides });
        let good = x.matrices([4, 4], Strides { first: 0, strides: [4, 1] });
        let error = assert_refused!(queue.matmul(view.clone(), good.clone(), &mut out, plain()), Value);
        assert!(error.to_string().contains("argument `a`") && error.to_string().contains(range), "{error}");
        let error = assert_refused!(queue.matmul(good, view, &mut out, plain()), Value);
        assert!(error.to_string().contains("argument `b`"), "{error}");
    }
    // An array without axes is no factor, and stacks must repeat to one shape, and to that of the results.
    let one = x.slice(0..1).unwrap().reshape([]).unwrap();
    let mut scalar = queue.zeros([1]).unwrap().reshape([]).unwrap();
    assert_refused!(queue.matmul(&one, &x, &mut scalar, plain()), Shape);
    assert_refused!(queue.matmul(&x, &one, &mut scalar, plain()), Shape);
    let two = queue.zeros::<u32, 3>([2, 4, 4]).unwrap();
    let three = queue.zeros::<u32, 3>([3, 4, 4]).unwrap();
    assert_refused!(queue.matmul(&two, &three, &mut queue.zeros([2, 4, 4]).unwrap(), plain()), Shape);
    assert_refused!(queue.matmul(&two, &two, &mut queue.zeros([3, 4, 4]).unwrap(), plain()), Shape);
    assert_refused!(
        queue.matmul(&two, &two, &mut out, plain()),
        Shape { expected, .. } if *expected == [2, 4, 4]
    );
    // Four axes along which one of the factors repeats.
    let a = queue.zeros::<u32, 6>([2, 1, 2, 1, 1, 3]).unwrap();
    let b = queue.zeros::<u32, 6>([1, 2, 1, 2, 3, 1]).unwrap();
    let mut results = queue.zeros::<u32, 6>([2, 2, 2, 2, 1, 1]).unwrap();
    let error = assert_refused!(queue.matmul(&a, &b, &mut results, plain()), Value);
    assert!(error.to_string().contains("the number of axes of the stack"), "{error}");
    // A sum of more products than the kernels count.
    let long = x.matrices([1, usize::MAX], Strides { first: 0, strides: [0, 0] });
    let column = x.matrices([usize::MAX, 1], Strides { first: 0, strides: [0, 0] });
    assert_refused!(queue.matmul(long, column, &mut queue.zeros([1, 1]).unwrap(), plain()), Value);
    let table = x.reshape([10, 10]).unwrap();
    let bias = queue.zeros::<u32, 1>(Shape::padded([10], [16])).unwrap();
    let mut squares = queue.zeros([10, 10]).unwrap();
    assert_refused!(queue.matmul(&table, &table, &mut squares, plain().bias(&bias)), Padding);
    assert_eq!(queue.read(&out).wait().unwrap(), [7; 16]);
}

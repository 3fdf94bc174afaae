//! A01, A24: convolutions over the channels of images.

use super::*;
use fencepost::algorithms::ChannelElement;
use half::f16;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_convolution_over_channels_enqueues_nothing", refused),
        case("a01_a_convolution_over_channels_with_a_hazard_enqueues_nothing", hazard),
        case("a01_a_captured_convolution_over_channels_equals_that_of_the_queue", captured),
        case("a24_convolutions_over_channels_of_integers_are_exact", integers),
        case("a24_convolutions_over_channels_of_views_are_those_of_their_elements", views),
        case("a24_convolutions_over_channels_of_floats_are_within_their_bound", floats),
        case("a24_two_runs_of_a_convolution_over_channels_give_the_same_bits", twice),
        case("a24_a_nan_changes_only_the_results_whose_windows_have_it", nans),
        case("a24_a_bias_and_an_activation_follow_the_sum_over_channels", epilogues),
        case("a24_convolutions_over_channels_of_half_floats_are_sums_of_floats", halves),
        case("a24_images_without_elements_have_no_results_and_those_without_channels_zeros", empty),
    ]
}

/// Shapes of the images and the weights; stride, padding and dilation; number of groups.
type Sizes = ([usize; 4], [usize; 4], [[usize; 2]; 3], usize);

const USUAL: [[usize; 2]; 3] = [[1, 1], [0, 0], [1, 1]];
const SAME: [[usize; 2]; 3] = [[1, 1], [1, 1], [1, 1]];

/// Few kernels and more; groups with one kernel, a few and more; strides that skip elements; padding beyond the image;
/// numbers of kernels and of columns around tiles; sums with a remainder of a tile, and with several shares.
const SIZES: [Sizes; 18] = [
    ([2, 3, 7, 9], [5, 3, 3, 2], [[2, 1], [1, 0], [1, 2]], 1),
    ([2, 3, 5, 6], [4, 3, 3, 3], SAME, 1),
    ([1, 130, 4, 4], [5, 130, 3, 3], SAME, 1),
    ([1, 6, 5, 5], [9, 2, 2, 3], [[1, 2], [0, 1], [2, 1]], 3),
    ([2, 5, 6, 4], [5, 1, 3, 3], SAME, 5),
    ([1, 1, 1, 1], [1, 1, 1, 1], USUAL, 1),
    ([1, 4, 4, 5], [12, 2, 1, 1], USUAL, 2),
    ([3, 8, 3, 3], [33, 8, 1, 1], [[2, 2], [0, 0], [1, 1]], 1),
    ([1, 40, 3, 3], [17, 40, 3, 3], USUAL, 1),
    ([1, 2, 1, 2], [3, 2, 2, 2], [[1, 1], [4, 3], [3, 2]], 1),
    ([1, 1, 9, 9], [2, 1, 2, 2], [[4, 5], [0, 0], [1, 1]], 1),
    ([1, 2, 1, 31], [8, 2, 1, 1], USUAL, 1),
    ([2, 2, 4, 4], [15, 2, 1, 3], [[1, 1], [0, 1], [1, 1]], 1),
    ([1, 1, 1, 65], [6, 1, 1, 3], [[1, 1], [0, 1], [1, 1]], 1),
    ([1, 1, 3, 43], [1, 1, 3, 1], [[1, 1], [1, 0], [1, 1]], 1),
    ([5, 16, 1, 1], [16, 16, 1, 1], USUAL, 1),
    ([1, 17, 2, 3], [64, 17, 1, 1], USUAL, 1),
    ([1, 1200, 2, 1], [2, 1200, 1, 1], USUAL, 1),
];

/// Sizes whose tiles are large on a card.
const MANY_RESULTS: Sizes = ([1, 2, 65, 65], [65, 2, 1, 1], USUAL, 1);

/// Returns the sizes. GL has some of them, because its driver takes seconds to compile a kernel.
fn layers(s: &Subject) -> Vec<Sizes> {
    let count = if s.place().is_gl() && !large() { 4 } else { SIZES.len() };
    SIZES[..count].iter().copied().chain(large().then_some(MANY_RESULTS)).collect()
}

fn options<P: Element>((_, _, [stride, padding, dilation], groups): Sizes) -> ConvolveChannels<'static, P> {
    ConvolveChannels::default().stride(stride).padding(padding).dilation(dilation).groups(groups)
}

/// Returns the shape of the results.
fn results(sizes: Sizes) -> [usize; 4] {
    host::channel_results(sizes.0, sizes.1, &options::<f32>(sizes)).expect("the shapes fit")
}

fn count(shape: [usize; 4]) -> usize {
    shape.iter().product()
}

/// Returns random words for the images and the weights.
fn words(rng: &mut fastrand::Rng, (images, weights, ..): Sizes) -> [Vec<u32>; 2] {
    [images, weights].map(|shape| (0..count(shape)).map(|_| rng.u32(..)).collect())
}

/// Compares the results of views with those of the host, with guard elements around them.
#[track_caller]
fn compare<T: Reducible + ChannelElement<T> + Debug>(
    queue: &CommandQueue,
    images: impl Into<Matrices<T>>,
    weights: impl Into<Matrices<T>>,
    [x, w]: [&[T]; 2],
    sizes: Sizes,
) {
    let shape = results(sizes);
    let options = options::<T>(sizes);
    let found = guarded(queue, count(shape), |out| {
        queue.convolve_channels(images, weights, &mut out.reshape(shape)?, options)
    });
    let expected = host::convolve_channels((x, sizes.0), (w, sizes.1), &options);
    assert!(Some(found) == expected, "{sizes:?}");
}

fn integers(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(961);
    with_forms(s, || {
        for (at, sizes) in layers(s).into_iter().enumerate() {
            let [x, w] = words(&mut rng, sizes);
            let images = queue.array(&x).unwrap().reshape(sizes.0).unwrap();
            let weights = queue.array(&w).unwrap().reshape(sizes.1).unwrap();
            compare(&queue, &images, &weights, [&x, &w], sizes);
            if at % 5 == 0 {
                let lists: [&[i32]; 2] = [bytemuck::cast_slice(&x), bytemuck::cast_slice(&w)];
                compare(&queue, &images.cast_bits::<i32>(), &weights.cast_bits::<i32>(), lists, sizes);
            }
            assert_eq!(queue.read(&images).wait().unwrap(), x, "the images stay");
        }
    });
}

/// Returns the elements of a view of a list, in C order.
fn elements(list: &[u32], shape: [usize; 4], Strides { first, strides }: Strides<4>) -> Vec<u32> {
    let [_, b, c, d] = shape;
    let place = |at: usize| {
        let index = [at / (b * c * d), at / (c * d) % b, at / d % c, at % d];
        index.into_iter().zip(strides).fold(first as isize, |place, (at, step)| place + at as isize * step)
    };
    (0..count(shape)).map(|at| list[place(at) as usize]).collect()
}

/// Returns places of the elements of a shape: without gaps, with the second axis last in memory, reversed along the last two
/// axes, with gaps, and repeated along the first two axes.
fn places([_, b, c, d]: [usize; 4]) -> [Strides<4>; 5] {
    let [b, c, d] = [b, c, d].map(|len| len as isize);
    [
        Strides { first: 0, strides: [b * c * d, c * d, d, 1] },
        Strides { first: 3, strides: [c * d * b, 1, d * b, b] },
        Strides { first: (c * d - 1) as usize, strides: [b * c * d, c * d, -d, -1] },
        Strides { first: 1, strides: [2 * b * c * d + 5, 2 * c * d + 1, 2 * d, 2] },
        Strides { first: 5, strides: [1, 0, d, 1] },
    ]
}

fn views(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(962);
    let list: Vec<u32> = (0..6000).map(|_| rng.u32(..)).collect();
    let all = queue.array(&list).unwrap();
    let of_groups = SIZES[3];
    let some: &[Sizes] = if s.place().is_gl() { &SIZES[..1] } else { &[SIZES[0], SIZES[1], of_groups] };
    with_forms(s, || {
        for &sizes in some {
            let of_images = places(sizes.0);
            let of_weights = places(sizes.1);
            for (at, left) in of_images.into_iter().enumerate() {
                // The first two have all pairs, and each other view has a partner.
                let partners = of_weights.into_iter().enumerate();
                for (_, right) in partners.filter(|&(other, _)| at.max(other) < 2 || at == other) {
                    let lists = [elements(&list, sizes.0, left), elements(&list, sizes.1, right)];
                    let images = all.matrices(sizes.0, left);
                    let weights = all.matrices(sizes.1, right);
                    compare(&queue, images, weights, [&lists[0], &lists[1]], sizes);
                }
            }
            let [x, w] = words(&mut rng, sizes);
            let padded = |shape: [usize; 4]| Shape::padded(shape, shape.map(|len| len + 2));
            let mut images = ctx.full(padded(sizes.0), 99_u32).unwrap();
            let mut weights = ctx.full(padded(sizes.1), 88_u32).unwrap();
            queue.upload(&x, &mut images).unwrap();
            queue.upload(&w, &mut weights).unwrap();
            compare(&queue, &images, &weights, [&x, &w], sizes);
        }
    });
}

/// Half a unit in the last place of numbers from 1 to 2.
const U: f64 = 1.0 / 16_777_216.0;

/// Returns numbers of different sizes.
fn numbers(rng: &mut fastrand::Rng, len: usize) -> Vec<f32> {
    (0..len).map(|_| (rng.f32() - 0.5) * [1.0, 1e3][rng.usize(..2)]).collect()
}

/// Returns the sums of the products of each result in double precision, and the sums of their magnitudes.
fn exact(x: &[f32], w: &[f32], sizes: Sizes) -> Vec<[f64; 2]> {
    let options = options::<f32>(sizes);
    let sum = |products: Vec<[usize; 2]>| {
        let products = products.into_iter().map(|[at, of]| f64::from(x[at]) * f64::from(w[of]));
        products.fold([0.0, 0.0], |[sum, sizes], product| [sum + product, sizes + product.abs()])
    };
    host::channel_products(sizes.0, sizes.1, &options).map(sum).collect()
}

/// Returns the number of products in a sum.
fn inner((_, [_, channels, rows, columns], ..): Sizes) -> usize {
    channels * rows * columns
}

fn floats(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(963);
    with_forms(s, || {
        for sizes in layers(s) {
            let x = numbers(&mut rng, count(sizes.0));
            let w = numbers(&mut rng, count(sizes.1));
            let added = numbers(&mut rng, sizes.1[0]);
            let images = queue.array(&x).unwrap().reshape(sizes.0).unwrap();
            let weights = queue.array(&w).unwrap().reshape(sizes.1).unwrap();
            let bias = queue.array(&added).unwrap();
            let shape = results(sizes);
            let mut out = queue.full(shape, f32::NAN).unwrap();
            queue.convolve_channels(&images, &weights, &mut out, options(sizes).bias(&bias)).unwrap();
            let found = queue.read(&out).wait().unwrap();
            for (at, (found, [sum, magnitudes])) in found.into_iter().zip(exact(&x, &w, sizes)).enumerate() {
                let added = f64::from(added[at / (shape[2] * shape[3]) % shape[1]]);
                let bound = (inner(sizes) as f64 + 5.0) * U * (magnitudes + added.abs());
                let error = (f64::from(found) - sum - added).abs();
                assert!(error <= bound, "{sizes:?} at {at}: {found}, not {sum} + {added} +- {bound}");
            }
        }
    });
}

fn twice(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(964);
    with_forms(s, || {
        // The sums of the second one have several shares.
        for sizes in [SIZES[0], SIZES[2]] {
            let images = queue.array(&numbers(&mut rng, count(sizes.0))).unwrap().reshape(sizes.0).unwrap();
            let weights = queue.array(&numbers(&mut rng, count(sizes.1))).unwrap().reshape(sizes.1).unwrap();
            let shape = results(sizes);
            check_same_bits(&ctx, &queue, count(shape), |queue, out| {
                queue.convolve_channels(&images, &weights, &mut out.reshape(shape)?, options(sizes))
            });
        }
    });
}

fn nans(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    // Windows that have all elements, that skip some, and with channels of another group; in one share and in several.
    let some: &[Sizes] = if s.place().is_gl() {
        &SIZES[..1]
    } else {
        &[
            SIZES[0],
            SIZES[2],
            SIZES[3],
            SIZES[10],
            ([1, 2, 6, 7], [6, 2, 1, 2], [[3, 3], [0, 0], [1, 1]], 1),
            ([2, 2, 5, 6], [4, 1, 2, 2], [[1, 1], [1, 1], [3, 3]], 2),
        ]
    };
    with_forms(s, || {
        for &sizes in some {
            let options = options::<f32>(sizes);
            let products: Vec<Vec<[usize; 2]>> = host::channel_products(sizes.0, sizes.1, &options).collect();
            let mut is_read = vec![false; count(sizes.0)];
            products.iter().flatten().for_each(|&[at, _]| is_read[at] = true);
            // One element of a window, and all elements of none.
            let spoiled = products[products.len() / 2][0][0];
            let is_nan = |at: usize| at == spoiled || !is_read[at];
            let x: Vec<f32> = (0..count(sizes.0)).map(|at| if is_nan(at) { f32::NAN } else { 1.0 }).collect();
            // The elements beside the images are NaNs too.
            let [a, b, c, d] = sizes.0;
            let mut images =
                ctx.full(Shape::padded(sizes.0, [a + 1, b + 1, c + 2, d + 3]), f32::NAN).unwrap();
            queue.upload(&x, &mut images).unwrap();
            let weights = queue.full(sizes.1, 2.0_f32).unwrap();
            let mut out = queue.zeros(results(sizes)).unwrap();
            queue.convolve_channels(&images, &weights, &mut out, options).unwrap();
            for (at, found) in queue.read(&out).wait().unwrap().into_iter().enumerate() {
                // A driver may compute anything with a NaN.
                let has_nan = products[at].iter().any(|&[at, _]| at == spoiled);
                let expected = 2.0 * products[at].len() as f32;
                assert!(has_nan || found == expected, "{sizes:?} at {at}: {found}, not {expected}");
            }
        }
    });
}

fn epilogues(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(965);
    let some: &[usize] = if s.place().is_gl() { &[0] } else { &[0, 1, 2, 3, 8] };
    with_forms(s, || {
        for sizes in some.iter().map(|&at| SIZES[at]) {
            let mut list = |len: usize| (0..len).map(|_| rng.i32(-9..9)).collect::<Vec<i32>>();
            let x = list(count(sizes.0));
            let w = list(count(sizes.1));
            let added = list(sizes.1[0]);
            let images = queue.array(&x).unwrap().reshape(sizes.0).unwrap();
            let weights = queue.array(&w).unwrap().reshape(sizes.1).unwrap();
            let bias = queue.array(&added).unwrap();
            let shape = results(sizes);
            let sums =
                host::convolve_channels((&x[..], sizes.0), (&w[..], sizes.1), &options(sizes)).unwrap();
            let with_bias: Vec<i32> = sums
                .iter()
                .enumerate()
                .map(|(at, sum)| sum + added[at / (shape[2] * shape[3]) % shape[1]])
                .collect();
            let mut out = queue.full(shape, 5).unwrap();
            queue.convolve_channels(&images, &weights, &mut out, options(sizes).bias(&bias)).unwrap();
            assert_eq!(queue.read(&out).wait().unwrap(), with_bias, "{sizes:?}");
            let steps = options(sizes).bias(&bias).activation("max(x, -x) - 1");
            queue.convolve_channels(&images, &weights, &mut out, steps).unwrap();
            let expected: Vec<i32> = with_bias.iter().map(|x| x.abs() - 1).collect();
            assert_eq!(queue.read(&out).wait().unwrap(), expected, "{sizes:?}");
            queue.convolve_channels(&images, &weights, &mut out, options(sizes).activation("-x")).unwrap();
            let expected: Vec<i32> = sums.iter().map(|x| -x).collect();
            assert_eq!(queue.read(&out).wait().unwrap(), expected, "{sizes:?}");
        }
    });
    let images = queue.full([1, 1, 3, 3], 1.0_f32).unwrap();
    let weights = queue.full([1, 1, 1, 1], 1.0_f32).unwrap();
    let mut out = queue.full([1, 1, 3, 3], 7.0_f32).unwrap();
    let before = dump::enqueued(&ctx, "q");
    for (activation, said) in [
        ("", "expression:1:1: "),
        ("x; x", "expression:1:2: "),
        ("images[0]", "no definition in scope for identifier: `images`"),
        ("taps[0]", "no definition in scope for identifier: `taps`"),
        ("u32(x)", "the value of the activation is"),
    ] {
        let steps = ConvolveChannels::default().activation(activation);
        let error = assert_refused!(queue.convolve_channels(&images, &weights, &mut out, steps), Kernel(_));
        assert!(error.to_string().contains(said), "{activation}: {error}");
    }
    assert_eq!(dump::enqueued(&ctx, "q"), before);
    assert_eq!(queue.read(&out).wait().unwrap(), [7.0; 9]);
}

fn halves(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    if !ctx.info().abilities.contains(&"f16") {
        let one = queue.array(&[f16::ONE]).unwrap().reshape([1, 1, 1, 1]).unwrap();
        let mut out = queue.array(&[f16::ONE]).unwrap().reshape([1, 1, 1, 1]).unwrap();
        let plain = ConvolveChannels::default();
        let error = assert_refused!(queue.convolve_channels(&one, &one, &mut out, plain), Unsupported);
        assert!(error.to_string().contains("16-bit floats"), "{error}");
        assert_eq!(queue.read(&out).wait().unwrap(), [f16::ONE]);
        return;
    }
    let mut rng = fastrand::Rng::with_seed(966);
    with_forms(s, || {
        // An odd number of halves ends inside of a word.
        for sizes in [SIZES[0], SIZES[2], SIZES[3], SIZES[4], SIZES[14]] {
            let list = |rng: &mut fastrand::Rng, len: usize| {
                (0..len).map(|_| f16::from_f32(rng.f32() * 4.0 - 1.0)).collect::<Vec<f16>>()
            };
            let x = list(&mut rng, count(sizes.0));
            let w = list(&mut rng, count(sizes.1));
            let added = list(&mut rng, sizes.1[0]);
            let images = queue.array(&x).unwrap().reshape(sizes.0).unwrap();
            let weights = queue.array(&w).unwrap().reshape(sizes.1).unwrap();
            let bias = queue.array(&added).unwrap();
            let shape = results(sizes);
            let mut wide = queue.full(shape, f32::NAN).unwrap();
            let mut out = queue.array(&vec![f16::NAN; count(shape)]).unwrap().reshape(shape).unwrap();
            queue.convolve_channels(&images, &weights, &mut wide, options(sizes)).unwrap();
            let steps = options(sizes).bias(&bias).activation("x * 0.25");
            queue.convolve_channels(&images, &weights, &mut out, steps).unwrap();
            let wide = queue.read(&wide).wait().unwrap();
            let out = queue.read(&out).wait().unwrap();
            let [x, w] = [&x, &w].map(|list| list.iter().map(|x| x.to_f32()).collect::<Vec<f32>>());
            for (at, [sum, magnitudes]) in exact(&x, &w, sizes).into_iter().enumerate() {
                let bound = (inner(sizes) as f64 + 5.0) * U * magnitudes;
                let error = (f64::from(wide[at]) - sum).abs();
                assert!(error <= bound, "{sizes:?} at {at}: {}, not {sum}", wide[at]);
                let added = added[at / (shape[2] * shape[3]) % shape[1]].to_f64();
                let exact = (sum + added) * 0.25;
                // A device may round to either neighbour, and take a number below the smallest normal one as 0.
                let bound =
                    bound + (inner(sizes) as f64 + 6.0) * U * added.abs() + exact.abs() / 1024.0 + 6.2e-5;
                let error = (out[at].to_f64() - exact).abs();
                assert!(error <= bound, "{sizes:?} at {at}: {}, not {exact}", out[at]);
            }
        }
    });
    // A sum of halves would stay at 2048.
    let ones = queue.array(&[f16::ONE; 3000]).unwrap().reshape([1, 3000, 1, 1]).unwrap();
    let mut total = queue.array(&[f16::ZERO]).unwrap().reshape([1, 1, 1, 1]).unwrap();
    queue.convolve_channels(&ones, &ones, &mut total, ConvolveChannels::default()).unwrap();
    assert_eq!(queue.read(&total).wait().unwrap(), [f16::from_f32(3000.0)]);
}

fn empty(s: &Subject) {
    let queue = s.ctx().queue("q");
    let none = |shape: [usize; 4]| queue.zeros::<u32, 4>(shape).unwrap();
    let plain = ConvolveChannels::default();
    for (images, weights, out) in [
        ([0, 2, 5, 5], [3, 2, 3, 3], [0, 3, 3, 3]),
        ([1, 2, 5, 5], [0, 2, 3, 3], [1, 0, 3, 3]),
        ([1, 2, 0, 5], [3, 2, 1, 3], [1, 3, 0, 3]),
        // No window of three rows fits into two.
        ([1, 2, 2, 5], [3, 2, 3, 3], [1, 3, 0, 3]),
        ([1, 0, 2, 5], [3, 0, 3, 3], [1, 3, 0, 3]),
    ] {
        queue.convolve_channels(&none(images), &none(weights), &mut none(out), plain).unwrap();
    }
    // A padded image without elements has zeros, and a sum over no channels is 0.
    let bias = queue.array(&[5_u32, 6]).unwrap();
    let weights = queue.full([2, 1, 2, 2], 9_u32).unwrap();
    let mut out = queue.full([1, 2, 1, 3], 7_u32).unwrap();
    let options = plain.padding([1, 2]).bias(&bias);
    queue.convolve_channels(&none([1, 1, 0, 0]), &weights, &mut out, options).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [5, 5, 5, 6, 6, 6]);
    let mut out = queue.full([1, 2, 1, 2], 7_u32).unwrap();
    queue.convolve_channels(&none([1, 0, 2, 3]), &none([2, 0, 2, 2]), &mut out, plain.bias(&bias)).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [5, 5, 6, 6]);
    queue.convolve_channels(&none([1, 0, 2, 3]), &none([2, 0, 2, 2]), &mut out, plain).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [0; 4]);
    check_of_failed(s, |ctx, queue| {
        let images = ctx.zeros::<u32, 4>([0, 2, 5, 5])?;
        let weights = ctx.zeros::<u32, 4>([3, 2, 3, 3])?;
        queue.convolve_channels(&images, &weights, &mut ctx.zeros([0, 3, 3, 3])?, ConvolveChannels::default())
    });
    // Without elements, the products need not be countable.
    check_of_failed(s, |ctx, queue| {
        let images = ctx.zeros::<u32, 4>([0, MANY, 1, 1])?;
        let weights = ctx.zeros::<u32, 4>([0, MANY, 1, 1])?;
        queue.convolve_channels(&images, &weights, &mut ctx.zeros([0, 0, 1, 1])?, ConvolveChannels::default())
    });
}

fn captured(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(967);
    with_forms(s, || {
        for sizes in [SIZES[0], SIZES[2], SIZES[4]] {
            let [_, w] = words(&mut rng, sizes);
            let weights = queue.array(&w).unwrap().reshape(sizes.1).unwrap();
            let x = queue.zeros::<u32, 4>(sizes.0).unwrap();
            let lists = (0..3).map(|round| {
                let list = scrambled(count(sizes.0), round);
                bytemuck::cast_slice::<i32, u32>(&list).to_vec()
            });
            let shape = results(sizes);
            check_replays(
                &queue,
                x,
                count(shape),
                |queue, x, out| {
                    queue.convolve_channels(x, &weights, &mut out.reshape(shape)?, options(sizes))
                },
                lists,
                |list, found| {
                    let expected =
                        host::convolve_channels((list, sizes.0), (&w[..], sizes.1), &options(sizes));
                    assert!(expected.as_deref() == Some(found), "{sizes:?}");
                },
            );
        }
    });
}

fn hazard(s: &Subject) {
    enqueue_nothing_with_a_hazard(
        s,
        4096,
        &[
            |queue, x, out| {
                let images = x.slice(0..600)?.reshape([1, 2, 20, 15])?;
                let weights = x.slice(0..18)?.reshape([1, 2, 3, 3])?;
                let mut out = out.slice(0..234)?.reshape([1, 1, 18, 13])?;
                queue.convolve_channels(&images, &weights, &mut out, ConvolveChannels::default())
            },
            // Two launches: one for the shares of the sums, and one that adds them.
            |queue, x, out| {
                let images = x.reshape([1, 4096, 1, 1])?;
                let mut out = out.slice(0..1)?.reshape([1, 1, 1, 1])?;
                queue.convolve_channels(&images, &images, &mut out, ConvolveChannels::default())
            },
        ],
    );
}

/// Returns the options of no other step.
fn plain() -> ConvolveChannels<'static, u32> {
    ConvolveChannels::default()
}

/// Checks that an error begins with the verb and its argument.
#[track_caller]
fn names(error: &Error, argument: &str) {
    let start = format!("verb `convolve_channels`, argument `{argument}`: ");
    assert!(error.to_string().starts_with(&start), "{error}");
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let other = s.ctx().queue("other");
    // The sums of the second one have several shares.
    for channels in [3, 1500] {
        let images = queue.full([1, channels, 4, 4], 1_u32).unwrap();
        let weights = queue.full([2, channels, 1, 1], 1_u32).unwrap();
        let mut out = queue.full([1, 2, 4, 4], 7_u32).unwrap();
        let mut wider = queue.full([1, 2, 4, 5], 7_u32).unwrap();
        let bias = queue.full([3], 1_u32).unwrap();
        let foreign = other.full([1, channels, 4, 4], 1_u32).unwrap();
        let foreign_weights = other.full([2, channels, 1, 1], 1_u32).unwrap();
        let foreign_bias = other.full([2], 1_u32).unwrap();
        let lost = queue.full([2, channels + 1, 1, 1], 1_u32).unwrap();
        let none = queue.zeros::<u32, 4>([2, channels, 0, 1]).unwrap();
        let before = dump::enqueued(&ctx, "q");
        let error = assert_refused!(
            queue.convolve_channels(&images, &lost, &mut out, plain()),
            Shape { expected, .. } if *expected == [2, channels, 1, 1]
        );
        names(&error, "weights");
        let error = assert_refused!(
            queue.convolve_channels(&images, &none, &mut out, plain()),
            Shape { expected, .. } if *expected == [2, channels, 1, 1]
        );
        names(&error, "weights");
        let error = assert_refused!(
            queue.convolve_channels(&images, &weights, &mut wider, plain()),
            Shape { expected, .. } if *expected == [1, 2, 4, 4]
        );
        names(&error, "out");
        names(
            &assert_refused!(
                queue.convolve_channels(&images, &weights, &mut out, plain().bias(&bias)),
                Shape { expected, .. } if *expected == [2]
            ),
            "bias",
        );
        let refusals = [
            ("images", queue.convolve_channels(&foreign, &weights, &mut out, plain())),
            ("weights", queue.convolve_channels(&images, &foreign_weights, &mut out, plain())),
            ("bias", queue.convolve_channels(&images, &weights, &mut out, plain().bias(&foreign_bias))),
        ];
        for (argument, refused) in refusals {
            names(&assert_refused!(refused, ForeignContext), argument);
        }
        let mut part =
            images.reshape([16 * channels]).unwrap().slice(0..32).unwrap().reshape([1, 2, 4, 4]).unwrap();
        let error = assert_refused!(queue.convolve_channels(&images, &weights, &mut part, plain()), Aliased);
        let said = "verb `convolve_channels`: arguments `images` and `out` overlap";
        assert!(error.to_string().starts_with(said), "{error}");
        assert_eq!(dump::enqueued(&ctx, "q"), before);
        assert_eq!(queue.read(&out).wait().unwrap(), [7; 32]);
    }
    refused_options(s);
}

/// Calls the verb with options and views that it refuses.
fn refused_options(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let images = queue.full([1, 6, 4, 4], 1_u32).unwrap();
    let weights = queue.full([4, 6, 1, 1], 1_u32).unwrap();
    let list = queue.full([100], 1_u32).unwrap();
    let mut out = queue.full([1, 4, 4, 4], 7_u32).unwrap();
    let mut one = queue.full([1, 1, 1, 1], 7_u32).unwrap();
    let mut padded = queue.full(Shape::padded([1, 4, 4, 4], [1, 4, 4, 6]), 7_u32).unwrap();
    let bias = queue.zeros::<u32, 1>(Shape::padded([4], [8])).unwrap();
    let before = dump::enqueued(&ctx, "q");
    for (options, said) in [
        (plain().stride([1, 0]), ": the option `stride` is [1, 0]; at least 1 along each axis"),
        (plain().dilation([0, 2]), ": the option `dilation` is [0, 2]; at least 1 along each axis"),
        (plain().groups(0), ": the option `groups` is 0; a number that divides"),
        // Three divides the channels alone, and four the kernels.
        (plain().groups(3), ": the option `groups` is 3; a number that divides"),
        (plain().groups(4), ": the option `groups` is 4; a number that divides"),
        (plain().padding([1 << 30, 0]), ", argument `images`: the height with the padding is 2147483652; "),
        (plain().padding([0, 1 << 30]), ", argument `images`: the width with the padding is 2147483652; "),
    ] {
        let error = assert_refused!(queue.convolve_channels(&images, &weights, &mut out, options), Value);
        assert!(error.to_string().starts_with(&format!("verb `convolve_channels`{said}")), "{error}");
    }
    let error =
        assert_refused!(queue.convolve_channels(&images, &weights, &mut out, plain().groups(2)), Shape);
    names(&error, "weights");
    // Images and weights have four axes.
    let error = assert_refused!(
        queue.convolve_channels(&list, &weights, &mut out, plain()),
        Shape { expected, .. } if *expected == [1, 1, 1, 100]
    );
    names(&error, "images");
    let three = images.reshape([6, 4, 4]).unwrap();
    let error = assert_refused!(
        queue.convolve_channels(&images, &three, &mut out, plain()),
        Shape { expected, .. } if *expected == [1, 6, 4, 4]
    );
    names(&error, "weights");
    // Views with an element outside of their array.
    let inside = Strides { first: 0, strides: [1, 1, 1, 1] };
    for (first, strides) in [(98, [0, 0, 1, 1]), (0, [0, 0, -1, 1]), (100, [0, 0, 0, 0])] {
        let view = list.matrices([1, 1, 2, 2], Strides { first, strides });
        let good = list.matrices([1, 1, 2, 2], inside);
        let refusals = [
            ("images", queue.convolve_channels(view.clone(), good.clone(), &mut one, plain())),
            ("weights", queue.convolve_channels(good, view, &mut one, plain())),
        ];
        for (argument, refused) in refusals {
            names(&assert_refused!(refused, Value), argument);
        }
    }
    // A sum of more products than the kernel counts.
    let long = list.matrices([1, 1 << 16, 1 << 8, 1 << 8], Strides { first: 0, strides: [0; 4] });
    let error = assert_refused!(queue.convolve_channels(long.clone(), long, &mut one, plain()), Value);
    assert!(
        error.to_string().contains("argument `weights`: the number of weights of a kernel is"),
        "{error}"
    );
    assert_refused!(queue.convolve_channels(&images, &weights, &mut padded, plain()), Padding);
    assert_refused!(queue.convolve_channels(&images, &weights, &mut out, plain().bias(&bias)), Padding);
    assert_eq!(dump::enqueued(&ctx, "q"), before);
    assert_eq!(queue.read(&out).wait().unwrap(), [7; 64]);
    assert_eq!(queue.read(&one).wait().unwrap(), [7]);
}

//! A01, A24: filters of images.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_filter_enqueues_nothing", refused),
        case("a01_a_filter_with_a_hazard_enqueues_nothing", hazard),
        case("a01_a_captured_filter_equals_that_of_the_queue", captured),
        case("a24_filters_of_integers_are_exact_for_each_boundary", integers),
        case("a24_separable_filters_are_those_along_the_columns_and_then_along_the_rows", separable),
        case("a24_filters_of_floats_are_within_their_bound", floats),
        case("a24_two_runs_of_a_filter_give_the_same_bits", twice),
        case("a24_a_nan_changes_only_the_results_around_it", nans),
        case("a24_an_image_without_elements_has_no_results", empty),
    ]
}

/// Returns the boundaries. GL has some of them, because its driver takes seconds to compile a kernel.
fn boundaries<T: Reducible>(s: &Subject, constant: T) -> Vec<Boundary<T>> {
    let some = [Boundary::Mirror, Boundary::Constant(constant), Boundary::Valid];
    let others = [Boundary::Reflect, Boundary::Nearest, Boundary::Wrap];
    let count = if s.place().is_gl() && !large() { 0 } else { others.len() };
    some.into_iter().chain(others.into_iter().take(count)).collect()
}

/// Images with their filter: numbers of images, rows, columns and channels, and of weights along the columns and the rows.
/// There are images smaller than their filter, rows that are no multiple of those of an invocation, lines around a
/// workgroup, and filters around the memory of a tile.
const SHAPES: [([usize; 4], [usize; 2]); 14] = [
    ([1, 1, 1, 1], [1, 1]),
    ([1, 1, 1, 1], [3, 4]),
    ([1, 5, 7, 1], [3, 3]),
    ([2, 4, 9, 1], [1, 5]),
    ([2, 9, 4, 1], [5, 1]),
    ([1, 8, 8, 1], [2, 4]),
    ([3, 7, 5, 3], [4, 3]),
    ([1, 3, 2, 1], [9, 11]),
    ([1, 17, 33, 1], [3, 3]),
    ([2, 16, 32, 1], [5, 6]),
    ([1, 15, 31, 2], [2, 7]),
    ([1, 6, 257, 1], [3, 3]),
    ([1, 40, 3, 4], [7, 2]),
    ([1, 20, 20, 1], [13, 17]),
];

/// Shapes of separable filters besides: with more and more weights, tiles take all memory of a workgroup, and no tile fits.
const SEPARABLE: [([usize; 4], [usize; 2]); 4] = [
    ([1, 40, 50, 1], [33, 33]),
    ([1, 40, 50, 1], [34, 33]),
    ([1, 20, 20, 3], [9, 17]),
    ([1, 70, 6, 1], [1, 200]),
];

/// Returns the numbers of rows and of columns of the results.
fn sides<T>(boundary: Boundary<T>, shape: [usize; 4], taps: [usize; 2]) -> Option<[usize; 2]> {
    let [_, height, width, _] = shape;
    if !matches!(boundary, Boundary::Valid) {
        return Some([height, width]);
    }
    Some([(height + 1).checked_sub(taps[0])?, (width + 1).checked_sub(taps[1])?])
}

/// Calls a filter for images with their channels as the last axis, or without that axis if there is one channel. Returns
/// the results, which have guard elements around them.
#[track_caller]
fn filtered<T: Reducible + Debug>(
    queue: &CommandQueue,
    x: &[T],
    shape: [usize; 4],
    [rows, columns]: [usize; 2],
    boundary: Boundary<T>,
    of_images: impl FnOnce(&DeviceArray<T, 3>, Filter<T>, &mut DeviceArray<T, 3>) -> Result<()>,
    of_channels: impl FnOnce(&DeviceArray<T, 4>, Filter<T>, &mut DeviceArray<T, 4>) -> Result<()>,
) -> Vec<T> {
    let [images, height, width, channels] = shape;
    let filter = Filter::default().boundary(boundary);
    let x = queue.array(x).unwrap();
    guarded(queue, images * rows * columns * channels, |out| {
        if channels == 1 {
            let x = x.reshape([images, height, width])?;
            return of_images(&x, filter, &mut out.reshape([images, rows, columns])?);
        }
        let x = x.reshape(shape)?;
        of_channels(&x, filter.channels_last(), &mut out.reshape([images, rows, columns, channels])?)
    })
}

/// Compares a convolution or a correlation with the host's.
#[track_caller]
fn compare<T: Reducible + Debug>(
    queue: &CommandQueue,
    is_convolution: bool,
    x: &[T],
    (shape, taps): ([usize; 4], [usize; 2]),
    weights: &[T],
    boundary: Boundary<T>,
) {
    let Some(sides) = sides(boundary, shape, taps) else { return };
    let list = queue.array(weights).unwrap().reshape(taps).unwrap();
    let found = filtered(
        queue,
        x,
        shape,
        sides,
        boundary,
        |x, filter, out| match is_convolution {
            true => queue.convolve_2d(x, &list, out, filter),
            false => queue.correlate_2d(x, &list, out, filter),
        },
        |x, filter, out| match is_convolution {
            true => queue.convolve_2d(x, &list, out, filter),
            false => queue.correlate_2d(x, &list, out, filter),
        },
    );
    let expected = match is_convolution {
        true => host::convolve_2d(x, shape, weights, taps, boundary),
        false => host::correlate_2d(x, shape, weights, taps, boundary),
    };
    assert!(Some(found) == expected, "{shape:?} by {taps:?}, {boundary:?}, convolution {is_convolution}");
}

/// Returns random words for images and for weights.
fn words(rng: &mut fastrand::Rng, shape: [usize; 4], weights: usize) -> [Vec<u32>; 2] {
    [shape.iter().product(), weights].map(|len: usize| (0..len).map(|_| rng.u32(..)).collect())
}

fn integers(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(951);
    // One kernel computes these filters in each form.
    for (at, (shape, taps)) in SHAPES.into_iter().enumerate() {
        let [x, weights] = words(&mut rng, shape, taps[0] * taps[1]);
        for boundary in boundaries(s, 0x8765_4321) {
            for is_convolution in [false, true] {
                compare(&queue, is_convolution, &x, (shape, taps), &weights, boundary);
            }
        }
        let signed = |list: &[u32]| bytemuck::cast_slice::<u32, i32>(list).to_vec();
        compare(&queue, at % 2 == 0, &signed(&x), (shape, taps), &signed(&weights), Boundary::Constant(-7));
    }
    // An image is a part of the batch: one axis more, and none.
    let x = queue.array(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    let weights = queue.array(&[1, 1]).unwrap().reshape([1, 2]).unwrap();
    let mut out = queue.zeros([2, 1, 2, 2]).unwrap();
    queue.correlate_2d(&x.reshape([2, 1, 2, 2]).unwrap(), &weights, &mut out, Filter::default()).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [2, 3, 6, 7, 10, 11, 14, 15]);
    let mut out = queue.zeros([2, 4]).unwrap();
    queue.convolve_2d(&x.reshape([2, 4]).unwrap(), &weights, &mut out, Filter::default()).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [3, 5, 7, 8, 11, 13, 15, 16]);
}

/// Compares a separable filter with the host's.
#[track_caller]
fn compare_separable<T: Reducible + Debug>(
    queue: &CommandQueue,
    is_convolution: bool,
    x: &[T],
    shape: [usize; 4],
    [down, across]: [&[T]; 2],
    boundary: Boundary<T>,
) {
    let taps = [down.len(), across.len()];
    let Some(sides) = sides(boundary, shape, taps) else { return };
    let first = queue.array(down).unwrap();
    let second = queue.array(across).unwrap();
    let found = filtered(
        queue,
        x,
        shape,
        sides,
        boundary,
        |x, filter, out| match is_convolution {
            true => queue.convolve_separable(x, &first, &second, out, filter),
            false => queue.correlate_separable(x, &first, &second, out, filter),
        },
        |x, filter, out| match is_convolution {
            true => queue.convolve_separable(x, &first, &second, out, filter),
            false => queue.correlate_separable(x, &first, &second, out, filter),
        },
    );
    let expected = match is_convolution {
        true => host::convolve_separable(x, shape, [down, across], boundary),
        false => host::correlate_separable(x, shape, [down, across], boundary),
    };
    assert!(Some(found) == expected, "{shape:?} by {taps:?}, {boundary:?}, convolution {is_convolution}");
}

fn separable(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(952);
    with_forms(s, || {
        for (at, (shape, taps)) in SHAPES.into_iter().chain(SEPARABLE).enumerate() {
            let [x, weights] = words(&mut rng, shape, taps[0] + taps[1]);
            let (down, across) = weights.split_at(taps[0]);
            for boundary in boundaries(s, 0x8765_4321) {
                for &is_convolution in some(&[false, true], at) {
                    compare_separable(&queue, is_convolution, &x, shape, [down, across], boundary);
                }
            }
        }
    });
}

/// Half a unit in the last place of numbers from 1 to 2.
const U: f64 = 1.0 / 16_777_216.0;

/// Returns the sum of the products of weights and the elements around a result, and the sum of their magnitudes. The first
/// weight belongs to the element `pads` before it.
fn exact(
    x: &[f32],
    [height, width]: [usize; 2],
    (weights, taps, pads): (&[f64], [usize; 2], [usize; 2]),
    boundary: Boundary<f32>,
    at: usize,
) -> [f64; 2] {
    let products = weights.iter().enumerate().map(|(tap, weight)| {
        let y = (at / width + tap / taps[1]) as isize - pads[0] as isize;
        let column = (at % width + tap % taps[1]) as isize - pads[1] as isize;
        let place = host::beside(&boundary, y, height).zip(host::beside(&boundary, column, width));
        let constant = if let Boundary::Constant(constant) = boundary { constant } else { f32::NAN };
        weight * f64::from(place.map_or(constant, |(y, column)| x[y * width + column]))
    });
    products.fold([0.0, 0.0], |[sum, sizes], product| [sum + product, sizes + product.abs()])
}

fn floats(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(953);
    let number = |rng: &mut fastrand::Rng| (rng.f32() - 0.5) * [1.0, 1e3][rng.usize(..2)];
    with_forms(s, || {
        for (side, taps) in [([17, 33], [3, 4]), ([6, 9], [5, 5]), ([21, 20], [9, 2])] {
            let [height, width] = side;
            let numbers: Vec<f32> = (0..height * width).map(|_| number(&mut rng)).collect();
            let [down, across] = taps.map(|len| (0..len).map(|_| number(&mut rng)).collect::<Vec<f32>>());
            let weights: Vec<f32> = (0..taps[0] * taps[1]).map(|_| number(&mut rng)).collect();
            let x = queue.array(&numbers).unwrap().reshape(side).unwrap();
            let table = queue.array(&weights).unwrap().reshape(taps).unwrap();
            let [of_columns, of_rows] = [&down, &across].map(|list| queue.array(list).unwrap());
            let mut out = queue.zeros(side).unwrap();
            for boundary in boundaries(s, 0.0).into_iter().filter(|boundary| *boundary != Boundary::Valid) {
                let filter = Filter::default().boundary(boundary);
                let check = |weights: &[f64], count: usize, out: &DeviceArray<f32, 2>| {
                    let pads = taps.map(|count| count / 2);
                    for (at, found) in queue.read(out).wait().unwrap().into_iter().enumerate() {
                        let [sum, sizes] = exact(&numbers, side, (weights, taps, pads), boundary, at);
                        let error = (f64::from(found) - sum).abs();
                        let bound = (count as f64 + 1.0) * U * sizes;
                        assert!(error <= bound, "{side:?} by {taps:?}, {boundary:?}: {found}, not {sum}");
                    }
                };
                queue.correlate_2d(&x, &table, &mut out, filter).unwrap();
                let of_table: Vec<f64> = weights.iter().map(|&weight| f64::from(weight)).collect();
                check(&of_table, weights.len(), &out);
                // With 0 as the constant, the products of the weights give the same as two filters.
                queue.correlate_separable(&x, &of_columns, &of_rows, &mut out, filter).unwrap();
                let both =
                    down.iter().flat_map(|&a| across.iter().map(move |&b| f64::from(a) * f64::from(b)));
                check(&both.collect::<Vec<f64>>(), taps[0] + taps[1], &out);
            }
        }
    });
}

fn twice(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(956);
    let side = [20, 30];
    let mut list = |len: usize| {
        let number = |_| (rng.f32() - 0.5) * [1.0, 1e3][rng.usize(..2)];
        queue.array(&(0..len).map(number).collect::<Vec<f32>>()).unwrap()
    };
    let x = list(600).reshape(side).unwrap();
    let weights = list(15).reshape([3, 5]).unwrap();
    let [down, across] = [list(3), list(5)];
    let filter = Filter::default().boundary(Boundary::Mirror);
    with_forms(s, || {
        check_same_bits(&ctx, &queue, 600, |queue, out| {
            queue.convolve_2d(&x, &weights, &mut out.reshape(side)?, filter)
        });
        check_same_bits(&ctx, &queue, 600, |queue, out| {
            queue.correlate_separable(&x, &down, &across, &mut out.reshape(side)?, filter)
        });
    });
}

fn nans(s: &Subject) {
    let queue = s.ctx().queue("q");
    let side = [23, 40];
    let mut list = vec![1.0_f32; side[0] * side[1]];
    list[11 * side[1] + 18] = f32::NAN;
    let x = queue.array(&list).unwrap().reshape(side).unwrap();
    let weights = queue.full([3, 3], 1.0_f32).unwrap();
    let of_axis = queue.full([3], 1.0_f32).unwrap();
    with_forms(s, || {
        let filter = Filter::default().boundary(Boundary::Mirror);
        let [mut whole, mut parts] = [(); 2].map(|()| queue.zeros(side).unwrap());
        queue.correlate_2d(&x, &weights, &mut whole, filter).unwrap();
        queue.convolve_separable(&x, &of_axis, &of_axis, &mut parts, filter).unwrap();
        for out in [whole, parts] {
            for (at, found) in queue.read(&out).wait().unwrap().into_iter().enumerate() {
                let is_near = (at / side[1]).abs_diff(11) < 2 && (at % side[1]).abs_diff(18) < 2;
                // A driver may compute anything with a NaN.
                assert!(is_near || found == 9.0, "row {}, column {}: {found}", at / side[1], at % side[1]);
            }
        }
    });
}

fn empty(s: &Subject) {
    let queue = s.ctx().queue("q");
    let weights = queue.full([3, 3], 1_u32).unwrap();
    let of_axis = queue.full([3], 1_u32).unwrap();
    let none = |shape: [usize; 3]| queue.zeros::<u32, 3>(shape).unwrap();
    for shape in [[0, 5, 5], [2, 0, 5], [2, 5, 0]] {
        queue.correlate_2d(&none(shape), &weights, &mut none(shape), Filter::default()).unwrap();
        let filter = Filter::default().channels_last();
        queue.convolve_2d(&none(shape), &weights, &mut none(shape), filter).unwrap();
        let mut out = none(shape);
        queue.convolve_separable(&none(shape), &of_axis, &of_axis, &mut out, Filter::default()).unwrap();
    }
    // Two elements have no valid results of three weights.
    let valid = Filter::default().boundary(Boundary::Valid);
    let x = queue.zeros::<u32, 2>([2, 9]).unwrap();
    let mut out = queue.zeros([0, 7]).unwrap();
    queue.correlate_2d(&x, &weights, &mut out, valid).unwrap();
    queue.correlate_separable(&x, &of_axis, &of_axis, &mut out, valid).unwrap();
    check_of_failed(s, |ctx, queue| {
        let x = ctx.zeros::<u32, 2>([0, 5])?;
        let of_axis = ctx.zeros::<u32, 1>([3])?;
        queue.convolve_2d(&x, &of_axis.reshape([1, 3])?, &mut ctx.zeros([0, 5])?, Filter::default())?;
        queue.convolve_separable(&x, &of_axis, &of_axis, &mut ctx.zeros([0, 5])?, Filter::default())
    });
}

/// First element of the second results of a call.
const SECOND: usize = 768;

fn captured(s: &Subject) {
    let queue = s.ctx().queue("q");
    let weights: Vec<u32> = (1..=9).collect();
    let table = queue.array(&weights).unwrap().reshape([3, 3]).unwrap();
    let first = queue.array(&weights[..5]).unwrap();
    let second = queue.array(&weights[5..]).unwrap();
    with_forms(s, || {
        let x = queue.zeros::<u32, 2>([20, 37]).unwrap();
        let lists = (0..3).map(|round| {
            let list = scrambled(20 * 37, round);
            bytemuck::cast_slice::<i32, u32>(&list).to_vec()
        });
        check_replays(
            &queue,
            x,
            SECOND + 20 * 37,
            |queue, x, out| {
                let mut one = out.slice(0..20 * 37)?.reshape([20, 37])?;
                let mut two = out.slice(SECOND..SECOND + 20 * 37)?.reshape([20, 37])?;
                queue.convolve_2d(x, &table, &mut one, Filter::default())?;
                queue.correlate_separable(x, &first, &second, &mut two, Filter::default())
            },
            lists,
            |list, found| {
                let shape = [1, 20, 37, 1];
                let one = host::convolve_2d(list, shape, &weights, [3, 3], Boundary::Reflect).unwrap();
                let lists = [&weights[..5], &weights[5..]];
                let two = host::correlate_separable(list, shape, lists, Boundary::Reflect).unwrap();
                assert!(found[..20 * 37] == one && found[SECOND..] == two);
            },
        );
    });
}

fn hazard(s: &Subject) {
    enqueue_nothing_with_a_hazard(
        s,
        4000,
        &[
            |queue, x, out| {
                let image = x.slice(0..600)?.reshape([20, 30])?;
                let weights = x.slice(0..9)?.reshape([3, 3])?;
                let mut out = out.slice(0..600)?.reshape([20, 30])?;
                queue.convolve_2d(&image, &weights, &mut out, Filter::default())
            },
            |queue, x, out| {
                let image = x.slice(0..600)?.reshape([20, 30])?;
                let weights = x.slice(0..3)?;
                let mut out = out.slice(0..600)?.reshape([20, 30])?;
                queue.correlate_separable(&image, &weights, &weights, &mut out, Filter::default())
            },
            // Two launches at each place.
            |queue, x, out| {
                let image = x.slice(0..600)?.reshape([20, 30])?;
                let weights = x.slice(0..200)?;
                let mut out = out.slice(0..600)?.reshape([20, 30])?;
                queue.correlate_separable(&image, &weights, &weights, &mut out, Filter::default())
            },
        ],
    );
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let table = |shape: [usize; 2]| queue.zeros::<u32, 2>(shape).unwrap();
    let list = |len: usize| queue.zeros::<u32, 1>([len]).unwrap();
    let x = table([6, 8]);
    let mut out = queue.full([6, 8], 7_u32).unwrap();
    let tables = [table([0, 3]), table([3, 0]), table([8, 1]), table([1, 10])];
    let many = table([91, 91]);
    let none = list(0);
    let three = list(3);
    let longest = list(8193);
    let before = dump::enqueued(&ctx, "q");
    let filter = Filter::default();
    let valid = filter.boundary(Boundary::Valid);
    for (at, (weights, filter)) in tables.iter().zip([filter, filter, valid, valid]).enumerate() {
        let error = assert_refused!(queue.convolve_2d(&x, weights, &mut out, filter), Shape);
        names(&error, "convolve_2d", "weights");
        let needed = ["[1, 3]", "[3, 1]", "[6, 1]", "[1, 8]"][at];
        assert!(error.to_string().contains(&format!("{needed} is needed")), "{error}");
    }
    let error = assert_refused!(queue.correlate_2d(&x, &many, &mut out, filter), Value);
    assert!(error.to_string().starts_with("verb `correlate_2d`: the number of weights is 8281"), "{error}");
    for (down, across, argument) in [(&none, &three, "down"), (&three, &none, "across")] {
        let error = assert_refused!(queue.convolve_separable(&x, down, across, &mut out, filter), Shape);
        names(&error, "convolve_separable", argument);
    }
    for (down, across) in [(&longest, &three), (&three, &longest)] {
        assert_refused!(queue.correlate_separable(&x, down, across, &mut out, filter), Value);
    }
    assert_eq!(dump::enqueued(&ctx, "q"), before);
    assert_eq!(queue.read(&out).wait().unwrap(), [7; 48]);
    refused_images(s);
}

/// Checks that an error begins with the verb and its argument.
#[track_caller]
fn names(error: &Error, verb: &str, argument: &str) {
    let start = format!("verb `{verb}`, argument `{argument}`: ");
    assert!(error.to_string().starts_with(&start), "{error}");
}

/// Calls filters with images that do not fit.
fn refused_images(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let other = s.ctx().queue("other");
    let x = queue.zeros::<u32, 2>([6, 8]).unwrap();
    let line = queue.zeros::<u32, 1>([48]).unwrap();
    let weights = queue.zeros::<u32, 2>([3, 3]).unwrap();
    let three = queue.zeros::<u32, 1>([3]).unwrap();
    let mut out = queue.full([6, 8], 7_u32).unwrap();
    let mut wider = queue.full([6, 9], 7_u32).unwrap();
    let foreign = other.zeros::<u32, 2>([6, 8]).unwrap();
    let foreign_list = other.zeros::<u32, 1>([3]).unwrap();
    let before = dump::enqueued(&ctx, "q");
    let filter = Filter::default();
    let valid = filter.boundary(Boundary::Valid);
    let error = assert_refused!(queue.correlate_2d(&x, &weights, &mut wider, filter), Shape);
    names(&error, "correlate_2d", "out");
    let error = assert_refused!(
        queue.correlate_2d(&x, &weights, &mut out, valid),
        Shape { expected, .. } if *expected == [4, 6]
    );
    names(&error, "correlate_2d", "out");
    let error = assert_refused!(queue.correlate_separable(&x, &three, &three, &mut out, valid), Shape);
    names(&error, "correlate_separable", "out");
    // Images need two axes, and three with channels.
    assert_refused!(
        queue.correlate_2d(&line, &weights, &mut line.clone(), filter),
        Axis { axis: 1, rank: 1, .. }
    );
    assert_refused!(
        queue.convolve_separable(&x, &three, &three, &mut out, filter.channels_last()),
        Axis { axis: 2, rank: 2, .. }
    );
    let error = assert_refused!(queue.convolve_2d(&foreign, &weights, &mut out, filter), ForeignContext);
    names(&error, "convolve_2d", "x");
    let error = assert_refused!(
        queue.convolve_separable(&x, &three, &foreign_list, &mut out, filter),
        ForeignContext
    );
    names(&error, "convolve_separable", "across");
    let error = assert_refused!(queue.convolve_2d(&x, &weights, &mut x.clone(), filter), Aliased);
    assert!(error.to_string().starts_with("verb `convolve_2d`: arguments `x` and `out` overlap"), "{error}");
    let error =
        assert_refused!(queue.correlate_separable(&x, &three, &three, &mut x.clone(), filter), Aliased);
    assert!(error.to_string().starts_with("verb `correlate_separable`: arguments `x` and `out`"), "{error}");
    assert_eq!(dump::enqueued(&ctx, "q"), before);
    assert_eq!(queue.read(&out).wait().unwrap(), [7; 48]);
}

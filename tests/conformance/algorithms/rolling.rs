//! A01, A22: medians, smallest and largest elements of windows, and sums of windows above thresholds.

use super::*;
use fencepost_kernels::Scalar;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_refused_windows_enqueue_nothing", refused),
        case("a01_windows_with_a_hazard_enqueue_nothing", hazard),
        case("a01_windows_in_a_graph_equal_those_of_the_host", in_a_graph),
        case("a22_a_window_of_each_width_has_the_result_of_the_host", widths),
        case("a22_a_window_along_two_axes_has_the_result_of_the_host", pictures),
        case("a22_elements_that_a_mask_leaves_out_are_in_no_window", masks),
        case("a22_a_nan_that_a_mask_leaves_out_is_in_no_window", nans_with_masks),
        case("a22_a_nan_makes_the_results_of_its_windows_nans_or_is_left_out", nans),
        case("a22_flags_are_those_of_sums_above_thresholds", thresholds),
        case("a22_a_flagged_element_counts_as_the_threshold_in_longer_windows", flagged),
        case("a22_windows_write_their_results_alone", guards),
    ]
}

/// Functions that make windows with each result.
fn results<'a, const D: usize>() -> [fn([usize; D]) -> Rolling<'a, D>; 3] {
    [Rolling::median, Rolling::min, Rolling::max]
}

/// Returns the result of a window on the host: the median, the smallest or the largest element.
fn of_host<T: Reducible>(result: usize, window: &[T], nan: Nan) -> T {
    let is_float = T::DTYPE.scalar() == Some(Scalar::F32);
    let none =
        if is_float { T::of_none(Operation::Smallest, Nan::Ignore) } else { T::identity(Operation::Sum) };
    let found = match result {
        0 => host::median(window, nan),
        1 => host::min(window, nan),
        _ => host::max(window, nan),
    };
    found.unwrap_or(none)
}

/// Compares the words of results. A mean of floats may differ by two units in the last place.
#[track_caller]
fn check<T: Reducible>(found: &[T], expected: &[T], message: &str) {
    let [left, right] = [found, expected].map(|list| bytemuck::cast_slice::<T, u32>(list));
    let is_float = T::DTYPE.scalar() == Some(Scalar::F32);
    let is_near = |a: u32, b: u32| {
        let [x, y] = [a, b].map(f32::from_bits);
        x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 2.0 * f32::EPSILON * y.abs()
    };
    assert_eq!(left.len(), right.len(), "{message}");
    for (at, (&a, &b)) in left.iter().zip(right).enumerate() {
        assert!(
            a == b || (is_float && is_near(a, b)),
            "{message}: result {at} is {a:#x}, and {b:#x} on the host"
        );
    }
}

/// Computes the three results of windows and compares them with the host's.
#[track_caller]
fn compare<T: Reducible, const D: usize>(
    queue: &CommandQueue,
    list: &[T],
    shape: [usize; D],
    widths: [usize; D],
) {
    let x = queue.array(list).unwrap().reshape(shape).unwrap();
    for (at, windows) in results().into_iter().enumerate() {
        let mut out = queue.empty(shape).unwrap();
        queue.rolling(&x, &mut out, windows(widths)).unwrap();
        let result = |window: &[T]| of_host(at, window, Nan::Propagate);
        let expected = host::rolling(list, shape, widths, |_| true, result);
        let found = queue.read(&out).wait().unwrap();
        check(&found, &expected, &format!("result {at} of {widths:?} in {shape:?}"));
    }
}

fn widths(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(221);
    // Windows up to 24 elements compare pairs, and longer ones search by digits.
    for (at, (n, width)) in [
        (0, 3),
        (1, 1),
        (1, 5),
        (2, 3),
        (40, 1),
        (70, 3),
        (64, 13),
        (65, 23),
        (130, 25),
        (90, 201),
        (30, 2047),
    ]
    .into_iter()
    .enumerate()
    {
        let whole: Vec<u32> = (0..n * 3).map(|_| rng.u32(..)).collect();
        let numbers: Vec<f32> = (0..n * 3).map(|_| rng.i32(-50..50) as f32 / 4.0).collect();
        match at % 2 {
            0 => compare::<u32, 1>(&queue, &whole[..n], [n], [width]),
            _ => compare::<i32, 1>(&queue, bytemuck::cast_slice(&whole[..n]), [n], [width]),
        }
        compare(&queue, &numbers, [n, 3], [width, 1]);
        compare(&queue, &numbers, [3, n], [1, width]);
        compare(&queue, &numbers, [3, n, 1], [1, width, 1]);
    }
    let numbers: Vec<f32> = (0..4 * 9 * 5).map(|_| rng.f32() - 0.5).collect();
    compare(&queue, &numbers, [4, 9, 5], [1, 3, 1]);
    compare(&queue, &numbers, [180], [1]);
}

fn pictures(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(222);
    for (shape, widths) in [([1, 1], [3, 3]), ([7, 9], [3, 3]), ([12, 11], [5, 5]), ([6, 30], [3, 13])] {
        let list: Vec<u32> = (0..shape[0] * shape[1]).map(|_| rng.u32(..) >> 8).collect();
        compare(&queue, &list, shape, widths);
        let numbers: Vec<f32> = list.iter().map(|&word| word as f32 - 1e7).collect();
        compare(&queue, &numbers, shape, widths);
    }
    let list: Vec<i32> = (0..3 * 5 * 4 * 6).map(|_| rng.i32(..)).collect();
    for widths in [[1, 3, 3, 1], [3, 1, 1, 3], [1, 3, 1, 5], [3, 5, 1, 1], [1, 1, 3, 3], [1, 1, 1, 1]] {
        compare(&queue, &list, [3, 5, 4, 6], widths);
    }
}

fn masks(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(223);
    let shape = [3, 20, 4];
    let list: Vec<f32> = (0..240).map(|_| rng.f32() * 8.0 - 4.0).collect();
    let x = queue.array(&list).unwrap().reshape(shape).unwrap();
    // One row of windows has no element.
    let mut of_all: Vec<u32> = (0..240).map(|_| u32::from(rng.u32(..3) == 0) * 7).collect();
    of_all[80..160].fill(7);
    for (flags, of_flags) in [
        (of_all.clone(), shape),
        (of_all[..20].to_vec(), [1, 20, 1]),
        (of_all[..80].to_vec(), [1, 20, 4]),
        (of_all[..60].to_vec(), [3, 20, 1]),
        (vec![1; 20], [1, 20, 1]),
    ] {
        let on_device = queue.array(&flags).unwrap().reshape(of_flags).unwrap();
        let flag = |place: usize| {
            let at = |index: usize, axis: usize| if of_flags[axis] == 1 { 0 } else { index };
            let row = at(place / 80, 0) * 20 + place / 4 % 20;
            flags[row * of_flags[2] + at(place % 4, 2)]
        };
        for (at, windows) in results().into_iter().enumerate() {
            for width in [3, 5, 31] {
                let message = format!("result {at} of {width} with flags of {of_flags:?}");
                let windows = windows([1, width, 1]);
                let result = |window: &[f32]| of_host(at, window, Nan::Propagate);
                let mut out = queue.empty(shape).unwrap();
                queue.rolling(&x, &mut out, windows.without(&on_device)).unwrap();
                let expected = host::rolling(&list, shape, [1, width, 1], |place| flag(place) == 0, result);
                check(&queue.read(&out).wait().unwrap(), &expected, &message);
                queue.rolling(&x, &mut out, windows.only(&on_device)).unwrap();
                let expected = host::rolling(&list, shape, [1, width, 1], |place| flag(place) != 0, result);
                check(&queue.read(&out).wait().unwrap(), &expected, &message);
            }
        }
    }
    // A window of integers without elements has the result 0.
    let integers = queue.full([5], 9_u32).unwrap();
    let mut out = queue.full([5], 7_u32).unwrap();
    let mask = queue.array(&[0_u32, 0, 0, 0, 1]).unwrap();
    queue.rolling(&integers, &mut out, Rolling::median([3]).only(&mask)).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [0, 0, 0, 9, 9]);
}

fn nans(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(224);
    for one_in in [2, 20] {
        let number = |rng: &mut fastrand::Rng| match rng.u32(..one_in) {
            0 => f32::NAN,
            1 => [f32::INFINITY, f32::NEG_INFINITY, -0.0][rng.usize(..3)],
            _ => rng.f32() * 4.0 - 2.0,
        };
        let list: Vec<f32> = (0..200).map(|_| number(&mut rng)).collect();
        let x = queue.array(&list).unwrap();
        let mut out = queue.empty([200]).unwrap();
        for width in [1, 3, 7, 41] {
            for (at, windows) in results().into_iter().enumerate() {
                let message = format!("result {at} of {width}, one in {one_in}");
                for (nan, windows) in
                    [(Nan::Propagate, windows([width])), (Nan::Ignore, windows([width]).skip_nan())]
                {
                    queue.rolling(&x, &mut out, windows).unwrap();
                    let result = |window: &[f32]| of_host(at, window, nan);
                    let expected = host::rolling(&list, [200], [width], |_| true, result);
                    check(&queue.read(&out).wait().unwrap(), &expected, &message);
                }
            }
        }
    }
}

/// Returns numbers whose sums are exact in any order.
fn eighths(len: usize, rng: &mut fastrand::Rng) -> Vec<f32> {
    (0..len).map(|_| rng.i32(-8..32) as f32 / 8.0).collect()
}

fn nans_with_masks(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(228);
    let shape = [60, 3];
    let list: Vec<f32> =
        (0..180).map(|_| if rng.u32(..6) == 0 { f32::NAN } else { rng.f32() - 0.5 }).collect();
    let flags: Vec<u32> = (0..180).map(|_| u32::from(rng.u32(..3) == 0)).collect();
    let x = queue.array(&list).unwrap().reshape(shape).unwrap();
    let on_device = queue.array(&flags).unwrap().reshape(shape).unwrap();
    let mut out = queue.empty(shape).unwrap();
    for (at, windows) in results().into_iter().enumerate() {
        // The last one has more elements than windows whose pairs are compared.
        for width in [1, 3, 7, 25] {
            for (nan, windows) in
                [(Nan::Propagate, windows([width, 1])), (Nan::Ignore, windows([width, 1]).skip_nan())]
            {
                for kept in [0, 1] {
                    let masked =
                        if kept == 0 { windows.without(&on_device) } else { windows.only(&on_device) };
                    queue.rolling(&x, &mut out, masked).unwrap();
                    let result = |window: &[f32]| of_host(at, window, nan);
                    let is_kept = |place: usize| flags[place] == kept;
                    let expected = host::rolling(&list, shape, [width, 1], is_kept, result);
                    let message = format!("result {at} of {width} with the flags {kept}, {nan:?}");
                    check(&queue.read(&out).wait().unwrap(), &expected, &message);
                }
            }
        }
    }
}

fn thresholds(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(225);
    for shape in [[1, 1, 1], [2, 3, 2], [3, 40, 1], [1, 9, 70], [2, 130, 3]] {
        let [outer, n, inner] = shape;
        let list = eighths(outer * n * inner, &mut rng);
        // The thresholds are exact, too.
        let noise: Vec<f32> = (0..outer * inner).map(|_| [0.5, 1.0, 2.0][rng.usize(..3)]).collect();
        let x = queue.array(&list).unwrap().reshape(shape).unwrap();
        let of_rows = queue.array(&noise).unwrap().reshape([outer, 1, inner]).unwrap();
        for lengths in 1..=5 {
            let options = SumThreshold::along(1, 2.0).lengths(lengths).falloff(2.0).flag(3);
            let mut flags = queue.full(shape, 9_u32).unwrap();
            queue.sum_threshold(&x, &of_rows, &mut flags, options).unwrap();
            let found = queue.read(&flags).wait().unwrap();
            for (row, noise) in noise.iter().enumerate() {
                let at = |i: usize| (row / inner * n + i) * inner + row % inner;
                let elements: Vec<f32> = (0..n).map(|i| list[at(i)]).collect();
                let limits: Vec<f32> = (0..lengths).map(|step| 2.0 * noise / (1 << step) as f32).collect();
                let expected: Vec<u32> =
                    host::sum_threshold(&elements, &limits).into_iter().map(|flag| 3 * flag).collect();
                let found: Vec<u32> = (0..n).map(|i| found[at(i)]).collect();
                assert_eq!(found, expected, "row {row} of {shape:?}, {lengths} lengths");
            }
        }
    }
}

fn flagged(s: &Subject) {
    let queue = s.ctx().queue("q");
    let noise = queue.array(&[1.0_f32]).unwrap();
    let options = SumThreshold::along(0, 4.0).lengths(2).falloff(1.0);
    let flags_of = |list: &[f32], options: SumThreshold| {
        let x = queue.array(list).unwrap();
        let mut flags = queue.full([list.len()], 9_u32).unwrap();
        queue.sum_threshold(&x, &noise, &mut flags, options).unwrap();
        queue.read(&flags).wait().unwrap()
    };
    // A single peak does not flag its neighbours, although the sum of two elements is above 8.
    assert_eq!(flags_of(&[0.0, 100.0, 0.0, 0.0], options), [0, 1, 0, 0]);
    // With the peak as 4, a neighbour above 4 would be flagged by itself; one at 4 is not.
    assert_eq!(flags_of(&[4.0, 100.0, 4.0, 0.0], options), [0, 1, 0, 0]);
    // A sum equal to the threshold flags nothing, and negative elements lower it.
    assert_eq!(flags_of(&[4.0, 4.0, -4.0, 4.0], options), [0; 4]);
    assert_eq!(flags_of(&[3.0, 3.0, 3.0, -9.0], options.falloff(2.0)), [1, 1, 1, 0]);
    // Windows lie inside the array.
    assert_eq!(flags_of(&[3.0], options.falloff(2.0)), [0]);
    assert_eq!(flags_of(&[f32::NAN, 3.0, f32::INFINITY], options), [0, 0, 1]);
    let noise = queue.array(&[f32::NAN]).unwrap();
    let x = queue.full([3], 5.0_f32).unwrap();
    let mut flags = queue.full([3], 9_u32).unwrap();
    queue.sum_threshold(&x, &noise, &mut flags, options).unwrap();
    assert_eq!(queue.read(&flags).wait().unwrap(), [0; 3]);
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let other = s.ctx().queue("other");
    let x = queue.full([4, 5], 1.0_f32).unwrap();
    let mut out = queue.full([4, 5], 7.0_f32).unwrap();
    let windows = Rolling::median([3, 1]);
    assert_refused!(queue.rolling(&x, &mut queue.zeros([5, 4]).unwrap(), windows), Shape);
    for widths in [[0, 1], [1, 2], [4, 3], [2049, 1], [47, 45], [usize::MAX, 3]] {
        let error = assert_refused!(queue.rolling(&x, &mut out, Rolling::median(widths)), Value);
        assert!(error.to_string().contains("verb `rolling`: the widths of a window"), "{error}");
    }
    let boxes = queue.zeros::<u32, 3>([2, 2, 2]).unwrap();
    assert_refused!(queue.rolling(&boxes, &mut boxes.clone(), Rolling::max([3; 3])), Value);
    for shape in [[4, 1], [1, 1], [5, 4], [2, 5]] {
        let mask = queue.zeros::<u32, 2>(shape).unwrap();
        let windows = Rolling::median([1, 3]).only(&mask);
        let error = assert_refused!(queue.rolling(&x, &mut out, windows), Shape);
        assert!(error.to_string().contains("verb `rolling`, argument `mask`: array"), "{error}");
    }
    assert_refused!(queue.rolling(&x, &mut x.clone(), windows), Aliased);
    let own = out.cast_bits::<u32>();
    assert_refused!(queue.rolling(&x, &mut out, windows.without(&own)), Aliased { first, .. } if first == "mask");
    assert_refused!(queue.rolling(&x, &mut other.zeros([4, 5]).unwrap(), windows), ForeignContext);
    let padded = queue.zeros(Shape::padded([4, 5], [4, 8])).unwrap();
    assert_refused!(queue.rolling(&padded, &mut out, windows), Padding);

    let noise = queue.full([4, 1], 1.0_f32).unwrap();
    let mut flags = queue.full([4, 5], 7_u32).unwrap();
    let options = SumThreshold::along(1, 4.0);
    assert_refused!(queue.sum_threshold(&x, &noise, &mut queue.zeros([5, 4]).unwrap(), options), Shape);
    assert_refused!(queue.sum_threshold(&x, &x, &mut flags, options), Shape);
    assert_refused!(queue.sum_threshold(&x, &noise, &mut flags, SumThreshold::along(2, 4.0)), Axis);
    for options in [
        options.lengths(0),
        options.lengths(9),
        options.flag(0),
        options.falloff(0.0),
        options.falloff(f64::NAN),
        SumThreshold::along(1, f64::INFINITY),
    ] {
        assert_refused!(queue.sum_threshold(&x, &noise, &mut flags, options), Value);
    }
    let own = x.cast_bits::<u32>();
    assert_refused!(queue.sum_threshold(&x, &noise, &mut own.clone(), options), Aliased);
    assert_refused!(
        queue.sum_threshold(&x, &noise, &mut other.zeros([4, 5]).unwrap(), options),
        ForeignContext
    );
    assert_eq!(queue.read(&out).wait().unwrap(), [7.0; 20]);
    assert_eq!(queue.read(&flags).wait().unwrap(), [7; 20]);
    assert_eq!(queue.read(&x).wait().unwrap(), [1.0; 20]);
}

fn hazard(s: &Subject) {
    let verbs: [Verb; 2] = [
        |q, x, out| q.rolling(x, out, Rolling::median([3])),
        |q, x, out| {
            let noise = x.slice(0..1)?.cast_bits();
            q.sum_threshold(&x.cast_bits(), &noise, out, SumThreshold::along(0, 4.0))
        },
    ];
    enqueue_nothing_with_a_hazard(s, 300, &verbs);
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    let n = 150;
    let mut rng = fastrand::Rng::with_seed(227);
    // Most elements are negative, so that some are in no window above its threshold.
    let lists: Vec<Vec<f32>> =
        (0..2).map(|_| eighths(2 * n, &mut rng).into_iter().map(|x| x - 2.0).collect()).collect();
    let noise = queue.full([2, 1], 0.25_f32).unwrap();
    let enqueue = |queue: &CommandQueue, x: &DeviceArray<f32, 2>, out: &DeviceArray<f32>| {
        let part = |from: usize| out.slice(from..from + 2 * n)?.reshape([2, n]);
        queue.rolling(x, &mut part(0)?, Rolling::median([1, 5]))?;
        let options = SumThreshold::along(1, 4.0).falloff(2.0);
        queue.sum_threshold(x, &noise, &mut part(320)?.cast_bits(), options)
    };
    check_replays(&queue, queue.zeros([2, n]).unwrap(), 640, enqueue, lists, |list, found| {
        let median = |window: &[f32]| host::median(window, Nan::Propagate).unwrap();
        check(&found[..2 * n], &host::rolling(list, [2, n], [1, 5], |_| true, median), "medians");
        let flags: Vec<u32> = found[320..320 + 2 * n].iter().map(|flag| flag.to_bits()).collect();
        let expected: Vec<u32> =
            list.chunks(n).flat_map(|row| host::sum_threshold(row, &[1.0, 0.5, 0.25, 0.125])).collect();
        assert!(expected.contains(&0) && expected.contains(&1), "the elements are too simple");
        assert_eq!(flags, expected);
    });
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    let list = scrambled(120, 3);
    for guard in [i32::MIN, i32::MAX] {
        let all = queue.array(&around(&list, guard)).unwrap();
        let x = inside(&all).reshape([8, 15]).unwrap();
        for (at, windows) in results().into_iter().enumerate() {
            let found =
                guarded(&queue, 120, |out| queue.rolling(&x, &mut out.reshape([8, 15])?, windows([3, 5])));
            let result = |window: &[i32]| of_host(at, window, Nan::Propagate);
            assert_eq!(found, host::rolling(&list, [8, 15], [3, 5], |_| true, result));
        }
        assert!(queue.read(&all).wait().unwrap() == around(&list, guard), "the input stays");
    }
    let mut rng = fastrand::Rng::with_seed(226);
    let list = eighths(40, &mut rng);
    // Guard elements around the input would be flagged, and would flag their neighbours.
    let all = queue.array(&around(&list, 1000.0)).unwrap();
    let x = inside(&all);
    let noise = queue.array(&[1.0_f32]).unwrap();
    let options = SumThreshold::along(0, 2.0).falloff(2.0);
    let found = guarded(&queue, 40, |out| queue.sum_threshold(&x, &noise, out, options));
    assert_eq!(found, host::sum_threshold(&list, &[2.0, 1.0, 0.5, 0.25]));
}

//! A01, A14: medians and other quantiles, and deviations from medians.

use super::*;
use fencepost_kernels::Scalar;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_quantile_enqueues_nothing", refused),
        case("a01_a_quantile_with_a_hazard_enqueues_nothing", hazard),
        case("a01_quantiles_in_a_graph_equal_those_of_the_host", in_a_graph),
        case("a14_a_median_along_each_axis_is_the_middle_of_the_sorted_elements", medians),
        case("a14_a_quantile_of_each_method_is_that_of_the_host", methods),
        case("a14_a_quantile_of_millions_of_elements_is_that_of_the_decimal_number", millions)
            .on_devices("the CPU recorder takes too long for millions of elements"),
        case("a14_a_list_of_quantiles_has_a_result_for_each", lists),
        case("a14_a_nan_makes_a_median_a_nan_or_is_left_out", nans),
        case("a14_a_median_of_infinities_and_of_large_numbers_does_not_overflow", extremes),
        case("a14_each_segment_has_its_quantile", segments),
        case("a14_a_median_of_first_elements_reads_no_others", first),
        case("a14_several_workgroups_find_the_median_of_a_long_row", |s| with_shares(s, || long(s))),
        case("a14_a_deviation_from_the_median_is_that_of_the_host", deviations),
        case("a14_no_elements_have_no_median", none),
        case("a14_quantiles_write_their_results_alone", guards),
    ]
}

pub(super) const METHODS: [QuantileMethod; 13] = [
    QuantileMethod::Linear,
    QuantileMethod::Lower,
    QuantileMethod::Higher,
    QuantileMethod::Nearest,
    QuantileMethod::Midpoint,
    QuantileMethod::InvertedCdf,
    QuantileMethod::AveragedInvertedCdf,
    QuantileMethod::ClosestObservation,
    QuantileMethod::InterpolatedInvertedCdf,
    QuantileMethod::Hazen,
    QuantileMethod::Weibull,
    QuantileMethod::MedianUnbiased,
    QuantileMethod::NormalUnbiased,
];

/// Lists shapes with axis lengths around the limits of pairs, invocations and workgroups. The full suite has more.
fn shapes() -> Vec<[usize; 3]> {
    let mut shapes = vec![
        [1, 1, 1],
        [3, 2, 4],
        [24, 3, 25],
        [2, 64, 3],
        [3, 65, 2],
        [5, 4, 255],
        [2, 256, 2],
        [1, 513, 3],
        [257, 3, 4],
        [1, 1, 4097],
    ];
    if large() {
        shapes.extend([[3, 5, 16_385], [1, 100_000, 2], [2, 1, 65_537], [70_000, 2, 1], [1, 1, 2_100_000]]);
    }
    shapes
}

/// Returns words of two kinds: with all bits, and few distinct ones. As floats, none is a NaN.
fn words(len: usize, kind: usize, rng: &mut fastrand::Rng) -> Vec<u32> {
    let special = [0, 0x8000_0000, 0x7F80_0000, 0xFF80_0000, 5, 0x3F80_0000, 0x3F80_0001, 0xBF80_0000];
    let word = |_| if kind == 0 { rng.u32(..) } else { special[rng.usize(..8)] };
    let is_nan = |word: u32| word & 0x7FFF_FFFF > 0x7F80_0000;
    (0..len).map(word).map(|word| if is_nan(word) { word & 0xBFFF_FFFF } else { word }).collect()
}

/// Compares results with the host's. Results of `f32` may differ by `units` of 2^-24 of the larger element next to them,
/// which is below twice the magnitude of the result or at most `beside`.
#[track_caller]
fn check<T: Reducible>(found: &[T], expected: &[T], units: f64, beside: f64, message: &str) {
    assert_eq!(found.len(), expected.len(), "{message}");
    let [left, right] = [found, expected].map(|list| bytemuck::cast_slice::<T, u32>(list));
    for (at, (&a, &b)) in left.iter().zip(right).enumerate() {
        let is_same = if T::DTYPE.scalar() == Some(Scalar::F32) {
            let [a, b] = [a, b].map(|word| f64::from(f32::from_bits(word)));
            let bound = units * 2_f64.powi(-24) * beside.max(b.abs()) + 2_f64.powi(-126);
            a == b || (a.is_nan() && b.is_nan()) || (units > 0.0 && (a - b).abs() <= bound)
        } else {
            a == b
        };
        assert!(is_same, "{message}: result {at} is {a:#x}, and {b:#x} on the host");
    }
}

fn along<T: Reducible, const D: usize>(
    queue: &CommandQueue,
    x: &DeviceArray<T, D>,
    axis: usize,
    quantiles: Quantiles<'_>,
    nan: Nan,
) -> Vec<T> {
    let mut out = queue.empty(reduced(x.shape(), axis)).unwrap();
    queue.quantile(treated(x.axis(axis), nan), quantiles, &mut out).unwrap();
    queue.read(&out).wait().unwrap()
}

fn medians(s: &Subject) {
    fn of<T: Reducible>(queue: &CommandQueue, list: &[T], shape: [usize; 3]) {
        let x = queue.array(list).unwrap().reshape(shape).unwrap();
        for axis in 0..3 {
            let mut out = queue.empty(reduced(shape, axis)).unwrap();
            queue.median(x.axis(axis), &mut out).unwrap();
            let found = queue.read(&out).wait().unwrap();
            let expected =
                host::quantile_axis(list, shape, axis, 0.5, QuantileMethod::Linear, Nan::Propagate).unwrap();
            check(&found, &expected, 2.0, 0.0, &format!("along {axis} of {shape:?}"));
        }
        let mut out = queue.empty([1]).unwrap();
        queue.median(&x, &mut out).unwrap();
        let expected = host::median(list, Nan::Propagate).unwrap();
        check(&queue.read(&out).wait().unwrap(), &[expected], 2.0, 0.0, &format!("all of {shape:?}"));
    }
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(141);
    for (at, shape) in shapes().into_iter().enumerate() {
        for kind in 0..2 {
            let list = words(shape.iter().product(), kind, &mut rng);
            of::<f32>(&queue, bytemuck::cast_slice(&list), shape);
            match (at + kind) % 2 {
                0 => of::<u32>(&queue, &list, shape),
                _ => of::<i32>(&queue, bytemuck::cast_slice(&list), shape),
            }
        }
    }
}

fn methods(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(142);
    for (rows, n) in [(3, 1), (2, 2), (3, 11), (2, 40), (3, 101), (1, 300)] {
        let whole: Vec<u32> = (0..rows * n).map(|_| rng.u32(..)).collect();
        let numbers: Vec<f32> = (0..rows * n).map(|_| rng.f32() * 8.0 - 4.0).collect();
        let of_rows = queue.array(&numbers).unwrap().reshape([rows, n]).unwrap();
        let of_columns = queue.array(&whole).unwrap().reshape([n, rows]).unwrap();
        for (at, q) in [0.0, 1.0, 0.5, 0.25, 0.1, 0.7, rng.f64(), rng.f64()].into_iter().enumerate() {
            for method in some(&METHODS, at + n) {
                let quantile = Quantiles::at(q).method(*method);
                let message = format!("{q} of {n} by {method:?}");
                let found = along(&queue, &of_rows, 1, quantile, Nan::Propagate);
                let expected =
                    host::quantile_axis(&numbers, [rows, n], 1, q, *method, Nan::Propagate).unwrap();
                check(&found, &expected, 4.0, 4.0, &message);
                let found = along(&queue, &of_columns, 0, quantile, Nan::Propagate);
                let expected = host::quantile_axis(&whole, [n, rows], 0, q, *method, Nan::Propagate).unwrap();
                check(&found, &expected, 0.0, 0.0, &message);
            }
        }
        // Every method once with each number of elements.
        for method in METHODS {
            let found = along(&queue, &of_columns, 0, Quantiles::at(0.3).method(method), Nan::Propagate);
            let expected = host::quantile_axis(&whole, [n, rows], 0, 0.3, method, Nan::Propagate).unwrap();
            check(&found, &expected, 0.0, 0.0, &format!("0.3 of {n} by {method:?}"));
        }
    }
}

/// The floats nearest to 0.7 and 0.55 are below and above these numbers, so far that places of millions of elements differ
/// by more than half a unit.
fn millions(s: &Subject) {
    let queue = s.ctx().queue("q");
    let list: Vec<f32> = (0..3_000_005).map(|i| i as f32).collect();
    let x = queue.array(&list).unwrap();
    let mut out = queue.zeros([1]).unwrap();
    for (count, q, method, expected) in [
        (3_000_001, 0.7, QuantileMethod::Lower, 2_100_000.0),
        (3_000_001, 0.7, QuantileMethod::Midpoint, 2_100_000.0),
        (3_000_000, 0.7, QuantileMethod::AveragedInvertedCdf, 2_099_999.5),
        (3_000_005, 0.7, QuantileMethod::ClosestObservation, 2_100_003.0),
        (3_000_001, 0.55, QuantileMethod::Higher, 1_650_000.0),
        (3_000_000, 0.55, QuantileMethod::InvertedCdf, 1_649_999.0),
    ] {
        let part = x.slice(0..count).unwrap();
        queue.quantile(&part, Quantiles::at(q).method(method), &mut out).unwrap();
        assert_eq!(queue.read(&out).wait().unwrap(), [expected], "{q} of {count} by {method:?}");
    }
    // The place of the first element is not before it.
    let three = x.slice(0..3).unwrap();
    let third = Quantiles::at(1.0 / 3.0).method(QuantileMethod::AveragedInvertedCdf);
    queue.quantile(&three, third, &mut out).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [0.5]);
}

fn lists(s: &Subject) {
    let queue = s.ctx().queue("q");
    let list: Vec<u32> = (0..240).map(|i| i * 89 % 997).collect();
    let x = queue.array(&list).unwrap().reshape([3, 80]).unwrap();
    let levels = [0.0, 1.0, 0.25, 0.75, 0.5];
    let mut out = queue.empty([5, 3, 1]).unwrap();
    let lower = Quantiles::several(&levels).method(QuantileMethod::Lower);
    queue.quantile(x.axis(1), lower, &mut out).unwrap();
    let of_rows =
        |q: f64| host::quantile_axis(&list, [3, 80], 1, q, QuantileMethod::Lower, Nan::Propagate).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), levels.map(of_rows).concat());
    let mut ends = queue.empty([2]).unwrap();
    queue.quantile(&x, &[1.0, 0.0], &mut ends).unwrap();
    let all = [*list.iter().max().unwrap(), *list.iter().min().unwrap()];
    assert_eq!(queue.read(&ends).wait().unwrap(), all);
    queue.quantile(x.axis(1), &[0.0; 0], &mut queue.empty([0, 3, 1]).unwrap()).unwrap();
}

fn nans(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(143);
    let special = [0x7FC0_0000, 0xFFFF_FFFF, 0x7F80_0001_u32];
    for shape in [[3, 70, 1], [4, 3, 5], [1, 300, 2], [2, 1, 130], [30, 7, 1]] {
        for one_in in [1, 2, 9, 200] {
            let mut word = || match rng.u32(..one_in) {
                0 => special[rng.usize(..3)],
                _ => (rng.f32() * 4.0 - 2.0).to_bits(),
            };
            let list: Vec<u32> = (0..shape.iter().product()).map(|_| word()).collect();
            let numbers: &[f32] = bytemuck::cast_slice(&list);
            let x = queue.array(numbers).unwrap().reshape(shape).unwrap();
            for (axis, nan) in [(0, Nan::Ignore), (1, Nan::Ignore), (1, Nan::Propagate), (2, Nan::Ignore)] {
                for q in [0.5, 0.9] {
                    let found = along(&queue, &x, axis, Quantiles::at(q), nan);
                    let expected =
                        host::quantile_axis(numbers, shape, axis, q, QuantileMethod::Linear, nan).unwrap();
                    check(&found, &expected, 4.0, 2.0, &format!("{q} along {axis} of {shape:?}, {nan:?}"));
                }
            }
            // The bits of a NaN are an ordinary integer, and no integer is left out.
            let found = along(&queue, &x.cast_bits::<i32>(), 1, Quantiles::at(0.5), Nan::Ignore);
            let integers: &[i32] = bytemuck::cast_slice(&list);
            let linear = QuantileMethod::Linear;
            let expected = host::quantile_axis(integers, shape, 1, 0.5, linear, Nan::Propagate).unwrap();
            assert_eq!(found, expected, "{shape:?}");
        }
    }
}

fn extremes(s: &Subject) {
    let queue = s.ctx().queue("q");
    let infinity = f32::INFINITY;
    let rows = [
        ([f32::MAX, f32::MAX], f32::MAX),
        ([-f32::MAX, f32::MAX], 0.0),
        ([-infinity, 1.0], -infinity),
        ([1.0, infinity], infinity),
        ([infinity, infinity], infinity),
        ([-infinity, infinity], f32::NAN),
        ([3e38, 2e38], 2.5e38),
    ];
    let list = rows.map(|(row, _)| row).concat();
    let expected = rows.map(|(_, median)| median);
    let x = queue.array(&list).unwrap().reshape([rows.len(), 2]).unwrap();
    let found = along(&queue, &x, 1, Quantiles::at(0.5), Nan::Propagate);
    check(&found, &expected, 2.0, 0.0, "pairs");
    // Rows of a workgroup each have the same middle.
    let long: Vec<f32> = rows
        .iter()
        .flat_map(|([a, b], _)| {
            let [low, high] = [a.min(*b), a.max(*b)];
            [vec![low; 50], vec![high; 50]].concat()
        })
        .collect();
    let x = queue.array(&long).unwrap().reshape([rows.len(), 100]).unwrap();
    let found = along(&queue, &x, 1, Quantiles::at(0.5), Nan::Propagate);
    check(&found, &expected, 2.0, 0.0, "rows");
    let ends = [i32::MIN, i32::MAX, -3, 2, -4, -3];
    let x = queue.array(&ends).unwrap().reshape([3, 2]).unwrap();
    assert_eq!(along(&queue, &x, 1, Quantiles::at(0.5), Nan::Propagate), [-1, -1, -4]);
}

fn segments(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(144);
    for len in [1, 300, 4200] {
        let list: Vec<u32> = (0..len as u32).map(|_| rng.u32(..) & 0xBFFF_FFFF).collect();
        let numbers: &[f32] = bytemuck::cast_slice(&list);
        let end = len as u32;
        let mut many: Vec<u32> = (0..40).map(|_| rng.u32(0..=end)).collect();
        many.sort_unstable();
        for offsets in
            [vec![0, end], many, vec![0, end / 2, end, end + 7, end + 9], vec![end / 3; 3], vec![1]]
        {
            let x = queue.array(&list).unwrap();
            let floats = x.cast_bits::<f32>();
            let on_device = queue.array(&offsets).unwrap();
            for (q, nan) in [(0.5, Nan::Propagate), (0.2, Nan::Ignore)] {
                let linear = QuantileMethod::Linear;
                let count = offsets.len() - 1;
                let mut out = queue.empty([count]).unwrap();
                queue.quantile(x.segments(&on_device), q, &mut out).unwrap();
                let expected = host::quantile_segments(&list, &offsets, q, linear, nan);
                assert_eq!(queue.read(&out).wait().unwrap(), expected, "{q} in {offsets:?} of {len}");
                let mut out = queue.empty([count]).unwrap();
                queue.quantile(treated(floats.segments(&on_device), nan), q, &mut out).unwrap();
                let expected = host::quantile_segments(numbers, &offsets, q, linear, nan);
                let found = queue.read(&out).wait().unwrap();
                check(&found, &expected, 4.0, 2.0, &format!("{q} in {offsets:?} of {len}"));
            }
        }
    }
}

fn first(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(145);
    for len in [1, 90, 1000] {
        let list: Vec<i32> = (0..len).map(|_| rng.i32(-1000..1000)).collect();
        let x = queue.array(&list).unwrap();
        for count in [0, 1, len / 2, len, len + 5] {
            let on_device = queue.array(&[count as u32]).unwrap();
            let mut out = queue.empty([1]).unwrap();
            queue.median(x.first(&on_device), &mut out).unwrap();
            let part = &list[..count.min(len)];
            let expected = host::median(part, Nan::Propagate).unwrap_or(0);
            assert_eq!(queue.read(&out).wait().unwrap(), [expected], "{count} of {len}");
        }
    }
}

/// The CPU recorder takes few elements as many.
fn long(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(146);
    let n = if s.is_cpu() { 301 } else { 66_001 };
    for one_in in [u32::MAX, 50] {
        let number = |rng: &mut fastrand::Rng| match rng.u32(..one_in) {
            0 => f32::NAN,
            _ => rng.f32() * 4.0 - 2.0,
        };
        let list: Vec<f32> = (0..2 * n).map(|_| number(&mut rng)).collect();
        let x = queue.array(&list).unwrap();
        let [rows, columns] = [[2, n], [n, 2]].map(|shape| x.reshape(shape).unwrap());
        for (q, nan) in [(0.5, Nan::Ignore), (0.5, Nan::Propagate), (0.999, Nan::Ignore), (1.0, Nan::Ignore)]
        {
            let linear = QuantileMethod::Linear;
            let message = format!("{q} of {n}, {nan:?}, one in {one_in}");
            let expected = host::quantile_axis(&list, [2, n], 1, q, linear, nan).unwrap();
            check(&along(&queue, &rows, 1, Quantiles::at(q), nan), &expected, 4.0, 2.0, &message);
            let expected = host::quantile_axis(&list, [n, 2], 0, q, linear, nan).unwrap();
            check(&along(&queue, &columns, 0, Quantiles::at(q), nan), &expected, 4.0, 2.0, &message);
            for count in [0, 7, n + 1] {
                let on_device = queue.array(&[count as u32]).unwrap();
                let mut out = queue.empty([1]).unwrap();
                queue.quantile(treated(x.first(&on_device), nan), q, &mut out).unwrap();
                let expected = host::quantile(&list[..count], q, linear, nan).unwrap_or(f32::NAN);
                check(&queue.read(&out).wait().unwrap(), &[expected], 4.0, 2.0, &message);
            }
        }
        let mut out = queue.empty([2, 1]).unwrap();
        queue.mad(rows.axis(1).skip_nan(), &mut out).unwrap();
        let expected = [&list[..n], &list[n..]].map(|row| host::mad(row, Nan::Ignore).unwrap());
        check(&queue.read(&out).wait().unwrap(), &expected, 4.0, 4.0, "deviations of long rows");
    }
}

fn deviations(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(147);
    for (rows, n) in [(3, 1), (4, 5), (3, 65), (2, 300)] {
        for nan in [Nan::Propagate, Nan::Ignore] {
            let mut list: Vec<f32> = (0..rows * n).map(|_| rng.f32() * 8.0 - 4.0).collect();
            list[0] = f32::INFINITY;
            list[rows * n - 1] = f32::NAN;
            let x = queue.array(&list).unwrap();
            let mut out = queue.empty([rows, 1]).unwrap();
            queue.mad(treated(x.reshape([rows, n]).unwrap().axis(1), nan), &mut out).unwrap();
            let expected: Vec<f32> = list.chunks(n).map(|row| host::mad(row, nan).unwrap()).collect();
            let message = format!("{rows} rows of {n}, {nan:?}");
            check(&queue.read(&out).wait().unwrap(), &expected, 4.0, 8.0, &message);
            let offsets = queue.array(&[0, n as u32, n as u32, 2 * n as u32]).unwrap();
            let mut out = queue.empty([3]).unwrap();
            queue.mad(treated(x.segments(&offsets), nan), &mut out).unwrap();
            let expected = [expected[0], f32::NAN, expected[1]];
            check(&queue.read(&out).wait().unwrap(), &expected, 4.0, 8.0, &message);
        }
    }
    // An infinite median differs from itself by 0.
    let x = queue.array(&[f32::INFINITY, f32::INFINITY, f32::INFINITY, 1.0]).unwrap();
    let mut out = queue.empty([1]).unwrap();
    queue.mad(&x, &mut out).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [0.0]);
    // The median of as many infinities of each sign is a NaN.
    for count in [1, 100] {
        let list = [vec![f32::NEG_INFINITY; count], vec![f32::INFINITY; count]].concat();
        let x = queue.array(&list).unwrap().reshape([1, 2 * count]).unwrap();
        for nan in [Nan::Propagate, Nan::Ignore] {
            let mut out = queue.zeros([1, 1]).unwrap();
            queue.mad(treated(x.axis(1), nan), &mut out).unwrap();
            assert!(queue.read(&out).wait().unwrap()[0].is_nan(), "{count} of each sign, {nan:?}");
            assert!(host::mad(&list, nan).unwrap().is_nan(), "{count} of each sign, {nan:?}, on the host");
        }
    }
}

fn none(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.empty::<f32, 2>([3, 0]).unwrap();
    let said =
        "has shape [3, 0], [3, 1] is needed: pass at least one element, because an empty array has no median";
    let error = assert_refused!(queue.median(x.axis(1), &mut queue.zeros([3, 1]).unwrap()), Shape);
    assert!(error.to_string().contains(said), "{error}");
    let error = assert_refused!(queue.mad(x.axis(1), &mut queue.zeros([3, 1]).unwrap()), Shape);
    assert!(error.to_string().contains(said), "{error}");
    queue.median(x.axis(0), &mut queue.zeros([1, 0]).unwrap()).unwrap();
    let offsets = queue.zeros::<u32, 1>([3]).unwrap();
    let mut out = queue.zeros([2]).unwrap();
    queue.median(x.segments(&offsets), &mut out).unwrap();
    assert!(queue.read(&out).wait().unwrap().iter().all(|median: &f32| median.is_nan()));
    let integers = queue.empty::<u32, 1>([0]).unwrap();
    let mut out = queue.full([2], 7).unwrap();
    queue.median(integers.segments(&offsets), &mut out).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [0, 0]);
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let other = s.ctx().queue("other");
    for shape in [[4, 5], [3, 200], [600, 2]] {
        let x = queue.full(shape, 1.0_f32).unwrap();
        let [rows, n] = shape;
        let mut out = queue.full([rows, 1], 7.0_f32).unwrap();
        assert_refused!(queue.median(x.axis(2), &mut out), Axis { axis: 2, rank: 2, .. });
        let error = assert_refused!(queue.median(x.axis(0), &mut out), Shape);
        assert!(error.to_string().contains("verb `median`, argument `out`: array"), "{error}");
        assert_refused!(queue.quantile(x.axis(1), &[0.5], &mut out), Shape);
        assert_refused!(queue.quantile(x.axis(1), 0.5, &mut queue.zeros([1, rows, 1]).unwrap()), Shape);
        assert_refused!(queue.quantile(&x, &[0.5, 0.6], &mut queue.zeros([3]).unwrap()), Shape);
        for q in [-0.01, 1.01, f64::NAN] {
            let error = assert_refused!(queue.quantile(x.axis(1), &[0.5, q], &mut out), Value);
            assert!(error.to_string().contains("verb `quantile`: a quantile"), "{error}");
        }
        let padded = queue.zeros(Shape::padded(shape, [rows, n + 3])).unwrap();
        assert_refused!(queue.median(padded.axis(1), &mut out), Padding);
        assert_refused!(queue.median(x.axis(1), &mut other.zeros([rows, 1]).unwrap()), ForeignContext);
        let own = x.reshape([rows * n]).unwrap().slice(0..rows).unwrap();
        let call = queue.median(x.axis(1), &mut own.reshape([rows, 1]).unwrap());
        assert_refused!(call, Aliased { first, second, .. } if first == "x" && second == "out");
        assert_refused!(queue.mad(x.axis(1), &mut own.reshape([rows, 1]).unwrap()), Aliased);
        let offsets = queue.zeros::<u32, 1>([rows + 1]).unwrap();
        let same = offsets.cast_bits::<f32>().slice(0..rows).unwrap();
        let call = queue.median(x.segments(&offsets), &mut same.clone());
        assert_refused!(call, Aliased { first, second, .. } if first == "offsets" && second == "out");
        assert_eq!(queue.read(&out).wait().unwrap(), vec![7.0; rows]);
        assert_eq!(queue.read(&x).wait().unwrap(), vec![1.0; rows * n]);
    }
}

fn hazard(s: &Subject) {
    let verbs: [Verb; 4] = [
        |q, x, out| q.median(x.reshape([4, 75])?.axis(0), &mut out.slice(0..75)?.reshape([1, 75])?),
        |q, x, out| q.median(x.reshape([2, 150])?.axis(1), &mut out.slice(0..2)?.reshape([2, 1])?),
        |q, x, out| q.quantile(x.segments(&x.slice(0..3)?), 0.1, &mut out.slice(0..2)?),
        |q, x, out| q.mad(&x.cast_bits::<f32>(), &mut out.slice(0..1)?.cast_bits()),
    ];
    enqueue_nothing_with_a_hazard(s, 300, &verbs);
}

/// Enqueues quantiles of rows, of columns, of segments and of all elements. `x` has four rows.
fn enqueue(queue: &CommandQueue, x: &DeviceArray<i32, 2>, out: &DeviceArray<i32>) -> Result<()> {
    let [rows, n] = x.shape();
    let part = |from: usize, len: usize| out.slice(from..from + len);
    queue.median(x.axis(1), &mut part(0, rows)?.reshape([rows, 1])?)?;
    queue.quantile(x.axis(0), 0.75, &mut part(64, n)?.reshape([1, n])?)?;
    let after = 64 + n.next_multiple_of(64);
    queue.quantile(x, &[0.0, 0.5], &mut part(after, 2)?)?;
    let columns = x.reshape([n, rows])?;
    queue.median(columns.axis(0), &mut part(after + 64, rows)?.reshape([1, rows])?)
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for n in [30, 600] {
        let lists = (0..2).map(|round| scrambled(4 * n, round));
        let x = queue.zeros([4, n]).unwrap();
        check_replays(&queue, x, n + 300, enqueue, lists, |list, found| {
            let of = |shape: [usize; 2], axis: usize, q: f64| {
                host::quantile_axis(list, shape, axis, q, QuantileMethod::Linear, Nan::Propagate).unwrap()
            };
            assert_eq!(found[..4], of([4, n], 1, 0.5));
            assert_eq!(found[64..64 + n], of([4, n], 0, 0.75));
            let after = 64 + n.next_multiple_of(64);
            let ends = [0.0, 0.5].map(|q| of([1, 4 * n], 1, q)[0]);
            assert_eq!(found[after..after + 2], ends);
            assert_eq!(found[after + 64..after + 68], of([n, 4], 0, 0.5));
        });
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    for n in [30, 600] {
        let list = scrambled(4 * n, 3);
        for guard in [i32::MIN, i32::MAX] {
            let all = queue.array(&around(&list, guard)).unwrap();
            let rows = inside(&all).reshape([4, n]).unwrap();
            let columns = inside(&all).reshape([n, 4]).unwrap();
            let linear = QuantileMethod::Linear;
            let found = guarded(&queue, 4, |out| queue.median(rows.axis(1), &mut out.reshape([4, 1])?));
            assert_eq!(Some(found), host::quantile_axis(&list, [4, n], 1, 0.5, linear, Nan::Propagate));
            let found = guarded(&queue, 4, |out| queue.median(columns.axis(0), &mut out.reshape([1, 4])?));
            assert_eq!(Some(found), host::quantile_axis(&list, [n, 4], 0, 0.5, linear, Nan::Propagate));
            assert!(queue.read(&all).wait().unwrap() == around(&list, guard), "the input stays");
        }
    }
}

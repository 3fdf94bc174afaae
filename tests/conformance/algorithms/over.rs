//! A01, A11: verbs over parts of arrays equal the host functions over the same elements.

use super::parts::counts;
use super::*;
use fencepost::algorithms::Terms;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_means_norms_and_places_of_first_elements_are_those_of_the_host", first),
        case("a04_a_mean_and_a_norm_take_what_a_sum_takes", same_arguments),
        case("a01_first_elements_are_combined_in_their_order", first_in_order),
        case("a01_extremes_without_nans_of_axes_and_segments_are_those_of_the_host", numbers),
        case("a11_scans_along_each_axis_are_those_of_each_row", scans),
        case("a01_sorts_along_each_axis_are_those_of_each_row", sorts),
        case("a01_refused_verbs_over_parts_enqueue_nothing", refused),
        case("a01_an_empty_axis_may_stand_beside_axes_of_any_length", empty_axis).host_side(),
        case("a05_a_reduction_of_no_first_elements_has_one_value", no_first),
        case("a01_verbs_over_parts_follow_the_inputs_of_a_graph", in_a_graph),
    ]
}

fn one<T: Element>(queue: &CommandQueue, verb: impl FnOnce(&mut DeviceArray<T>) -> Result<()>) -> T {
    queue.value_of(verb).wait().unwrap()
}

fn sum_and_mean<'a>(queue: &CommandQueue, x: impl Into<Terms<'a, f32>> + Copy) -> [f32; 2] {
    [one(queue, |out| queue.sum(x, out)), one(queue, |out| queue.mean(x, out))]
}

fn same_arguments(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut x = queue.array(&[3.0_f32, 4.0, 0.0, 5.0]).unwrap();
    let count = queue.array(&[2_u32]).unwrap();
    assert_eq!(sum_and_mean(&queue, &x), [12.0, 3.0]);
    assert_eq!(sum_and_mean(&queue, x.first(&count)), [7.0, 3.5]);
    assert_eq!(one(&queue, |out| queue.mean(&mut x, out)), 3.0);
    let norm = one(&queue, |out| queue.norm(&mut x, out));
    assert!((norm - 50_f32.sqrt()).abs() <= 1e-5, "{norm}");
}

fn first(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(40);
    for len in few_lengths() {
        // Sums of the numbers and of their squares are exact in any order.
        let list: Vec<f32> = (0..len).map(|_| f32::from(rng.i8(-2..3))).collect();
        let mut with_nans = list.clone();
        (0..len).filter(|i| i % 3 == 1).for_each(|i| with_nans[i] = f32::NAN);
        let x = queue.array(&list).unwrap();
        let nans = queue.array(&with_nans).unwrap();
        for count in counts(len) {
            let on_device = queue.array(&[count as u32]).unwrap();
            let part = &list[..count.min(len)];
            let message = format!("{count} of {len} elements");
            let mean = one(&queue, |out| queue.mean(x.first(&on_device), out));
            match part.len() {
                0 => assert!(mean.is_nan(), "{message}"),
                n => assert_eq!(mean, host::sum(part) / n as f32, "{message}"),
            }
            let squares: f32 = part.iter().map(|x| x * x).sum();
            let norm = one(&queue, |out| queue.norm(x.first(&on_device), out));
            assert!((norm - squares.sqrt()).abs() <= squares.sqrt() * 1e-6, "{message}: {norm}, {squares}");
            assert_eq!(one(&queue, |out| queue.dot(x.first(&on_device), &x, out)), squares, "{message}");
            let places = |list: &[f32], nan: Nan| {
                [host::argmin_with(list, nan), host::argmax_with(list, nan)]
                    .map(|place| place.map_or(u32::MAX, |place| place as u32))
            };
            for (x, list) in [(&x, &list), (&nans, &with_nans)] {
                for nan in [Nan::Propagate, Nan::Ignore] {
                    let found = [
                        one(&queue, |out| queue.argmin(treated(x.first(&on_device), nan), out)),
                        one(&queue, |out| queue.argmax(treated(x.first(&on_device), nan), out)),
                    ];
                    assert_eq!(found, places(&list[..count.min(len)], nan), "{message}, {nan:?}");
                }
            }
        }
    }
}

fn empty_axis(s: &Subject) {
    let queue = s.ctx().queue("q");
    let shape = [0, usize::MAX, 2];
    let x = queue.zeros::<f32, 3>(shape).unwrap();
    let mut out = queue.zeros::<f32, 3>(shape).unwrap();
    queue.sort(x.axis(0), &mut out, Sort::ascending()).unwrap();
    queue.scan(x.axis(0), &mut out, Scan::inclusive(Operation::Sum)).unwrap();
    queue.sum(x.axis(1), &mut queue.zeros::<f32, 3>([0, 1, 2]).unwrap()).unwrap();
    let error = queue.sum(x.axis(0), &mut out).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
}

fn no_first(s: &Subject) {
    let queue = s.ctx().queue("q");
    let none = queue.array(&[0_u32]).unwrap();
    for len in [0, 8] {
        let x = queue.zeros::<f32, 1>([len]).unwrap();
        for operation in [Operation::SmallestNumber, Operation::LargestNumber] {
            let found = one(&queue, |out| queue.reduce(x.first(&none), operation, out));
            assert!(found.is_nan(), "{operation:?} of none of {len} elements: {found}");
        }
        assert_eq!(one(&queue, |out| queue.reduce(x.first(&none), Operation::Product, out)), 1.0);
    }
}

fn first_in_order(s: &Subject) {
    let queue = s.ctx().queue("q");
    // Affine maps, whose composition is not commutative: (a, b) then (c, d) is (a c, b c + d).
    let compose = "vec2<u32>(a.x * b.x, a.y * b.x + b.y)";
    let host = |all: [u32; 2], one: &[u32; 2]| {
        [all[0].wrapping_mul(one[0]), all[1].wrapping_mul(one[0]).wrapping_add(one[1])]
    };
    for len in if large() { few_lengths() } else { vec![1, 257, 20_481] } {
        let list: Vec<[u32; 2]> = (0..len as u32).map(|i| [2 * i + 3, i ^ 5]).collect();
        let x = queue.array(&list).unwrap();
        for count in counts(len) {
            let on_device = queue.array(&[count as u32]).unwrap();
            let found =
                one(&queue, |out| queue.reduce(x.first(&on_device), Monoid::new(compose, [1, 0]), out));
            let expected = list[..count.min(len)].iter().fold([1, 0], host);
            assert_eq!(found, expected, "{count} of {len} elements");
            let words: DeviceArray<u32> = queue.array(&list.concat()).unwrap();
            let largest = one(&queue, |out| queue.reduce(words.first(&on_device), Operation::Largest, out));
            let expected = list.concat()[..count.min(2 * len)].iter().copied().max().unwrap_or(0);
            assert_eq!(largest, expected, "{count} of {} words", 2 * len);
        }
    }
}

/// Returns the rows along an axis: for each index of the other axes, the elements along this axis.
fn rows<T: Copy>(list: &[T], shape: [usize; 3], axis: usize) -> Vec<Vec<T>> {
    let inner: usize = shape[axis + 1..].iter().product();
    let outer: usize = shape[..axis].iter().product();
    let row = |at: usize| {
        let first = at / inner * shape[axis] * inner + at % inner;
        (0..shape[axis]).map(|i| list[first + i * inner]).collect()
    };
    (0..outer * inner).map(row).collect()
}

/// Returns the array with these rows along an axis.
fn of_rows<T: Copy + Default>(rows: &[Vec<T>], shape: [usize; 3], axis: usize) -> Vec<T> {
    let inner: usize = shape[axis + 1..].iter().product();
    let mut list = vec![T::default(); shape.iter().product()];
    for (at, row) in rows.iter().enumerate() {
        let first = at / inner * shape[axis] * inner + at % inner;
        row.iter().enumerate().for_each(|(i, &element)| list[first + i * inner] = element);
    }
    list
}

fn shapes() -> Vec<[usize; 3]> {
    let some = vec![[1, 1, 1], [2, 3, 4], [5, 1, 7], [1, 300, 3], [3, 2, 257], [19, 33, 40]];
    if large() {
        some.into_iter().chain([[2, 20_000, 2], [64, 64, 65], [1, 1, 20_481]]).collect()
    } else {
        some
    }
}

fn numbers(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(41);
    for shape in shapes() {
        let len: usize = shape.iter().product();
        let number = |rng: &mut fastrand::Rng| if rng.u8(..3) == 0 { f32::NAN } else { rng.f32() - 0.5 };
        let list: Vec<f32> = (0..len).map(|_| number(&mut rng)).collect();
        let x = queue.array(&list).unwrap().reshape(shape).unwrap();
        let same = |found: &[f32], expected: Vec<Option<f32>>, none: f32| {
            let expected: Vec<u32> = expected.into_iter().map(|one| one.unwrap_or(none).to_bits()).collect();
            let canonical = |bits: u32| if f32::from_bits(bits).is_nan() { f32::NAN.to_bits() } else { bits };
            let found: Vec<u32> = found.iter().map(|one| canonical(one.to_bits())).collect();
            assert_eq!(found, expected.into_iter().map(canonical).collect::<Vec<_>>(), "{shape:?}");
        };
        for axis in 0..3 {
            let mut reduced = shape;
            reduced[axis] = 1;
            let mut out = queue.zeros(reduced).unwrap();
            for nan in [Nan::Propagate, Nan::Ignore] {
                queue.min(treated(x.axis(axis), nan), &mut out).unwrap();
                let rows = rows(&list, shape, axis);
                let expected = rows.iter().map(|row| host::min(row, nan)).collect();
                same(&queue.read(&out).wait().unwrap(), expected, 0.0);
                queue.max(treated(x.axis(axis), nan), &mut out).unwrap();
                let expected = rows.iter().map(|row| host::max(row, nan)).collect();
                same(&queue.read(&out).wait().unwrap(), expected, 0.0);
            }
        }
        let ends = [0, len / 3, len / 3, len];
        let offsets = queue.array(&ends.map(|end| end as u32)).unwrap();
        let segments: Vec<&[f32]> = ends.windows(2).map(|ends| &list[ends[0]..ends[1]]).collect();
        let mut out = queue.zeros([3]).unwrap();
        queue.min(x.segments(&offsets).skip_nan(), &mut out).unwrap();
        let expected = segments.iter().map(|segment| host::min(segment, Nan::Ignore)).collect();
        same(&queue.read(&out).wait().unwrap(), expected, f32::INFINITY);
        queue.max(x.segments(&offsets), &mut out).unwrap();
        let expected = segments.iter().map(|segment| host::max(segment, Nan::Propagate)).collect();
        same(&queue.read(&out).wait().unwrap(), expected, f32::NEG_INFINITY);
    }
}

fn scans(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(42);
    for shape in shapes() {
        let list: Vec<u32> = (0..shape.iter().product()).map(|_| rng.u32(..) | 1).collect();
        let x = queue.array(&list).unwrap().reshape(shape).unwrap();
        for axis in 0..3 {
            let sums = Scan::inclusive(Operation::Sum);
            for scan in [sums, sums.reversed(), Scan::exclusive(Operation::Product).from(3)] {
                let mut out = queue.zeros(shape).unwrap();
                queue.scan(x.axis(axis), &mut out, scan).unwrap();
                let rows: Vec<Vec<u32>> =
                    rows(&list, shape, axis).iter().map(|row| host::scan(row, scan)).collect();
                let expected = of_rows(&rows, shape, axis);
                assert!(queue.read(&out).wait().unwrap() == expected, "{scan:?} along {axis} of {shape:?}");
            }
        }
    }
    let none = queue.zeros::<u32, 2>([0, 3]).unwrap();
    queue.scan(none.axis(1), &mut queue.zeros([0, 3]).unwrap(), Scan::inclusive(Operation::Sum)).unwrap();
}

fn sorts(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(43);
    for shape in shapes() {
        let list: Vec<f32> = (0..shape.iter().product()).map(|_| rng.f32() - 0.5).collect();
        let x = queue.array(&list).unwrap().reshape(shape).unwrap();
        for axis in 0..3 {
            for sort in [Sort::ascending(), Sort::descending()] {
                let mut out = queue.zeros(shape).unwrap();
                queue.sort(x.axis(axis), &mut out, sort).unwrap();
                let rows: Vec<Vec<f32>> =
                    rows(&list, shape, axis).iter().map(|row| host::sort(row, sort).unwrap()).collect();
                let expected = of_rows(&rows, shape, axis);
                assert!(queue.read(&out).wait().unwrap() == expected, "{sort:?} along {axis} of {shape:?}");
            }
        }
        let mut out = queue.zeros(shape).unwrap();
        queue.sort(&x, &mut out, Sort::ascending()).unwrap();
        assert!(
            queue.read(&out).wait().unwrap() == host::sort(&list, Sort::ascending()).unwrap(),
            "{shape:?}"
        );
    }
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let x = queue.full([4, 100], 1_u32).unwrap();
    let pairs = queue.full([400], [1_u32, 2]).unwrap();
    let offsets = queue.array(&[0, 50, 400]).unwrap();
    let two = queue.array(&[1_u32, 2]).unwrap();
    let mut own = x.clone();
    let mut out = queue.zeros([4, 100]).unwrap();
    let sum = Scan::inclusive(Operation::Sum);
    let last = Monoid::new("b", [0_u32; 2]);
    let mut of_rows = queue.zeros([4]).unwrap();
    let mut of_segments = queue.zeros([2]).unwrap();
    let mut scanned = queue.zeros([400]).unwrap();
    let mut mean = queue.zeros([1]).unwrap();
    let floats: DeviceArray<f32> = queue.zeros([9]).unwrap();
    let before = dump::enqueued(&ctx, "q");
    let over = |x: Over<'_, u32, 2>, out: &mut DeviceArray<u32, 2>| {
        [queue.scan(x, out, sum), queue.sort(x, out, Sort::ascending()), queue.sum(x, out)]
            .map(|refused| refused.unwrap_err())
    };
    for (at, error) in over(x.axis(2), &mut out).into_iter().enumerate() {
        assert!(matches!(error.detail(), ErrorDetail::Axis { axis: 2, rank: 2, .. }), "verb {at}: {error}");
    }
    let aliased = [queue.scan(x.axis(0), &mut own, sum), queue.sort(x.axis(1), &mut own, Sort::ascending())];
    for error in aliased.map(|refused| refused.unwrap_err()) {
        assert!(matches!(error.detail(), ErrorDetail::Aliased { .. }), "{error}");
    }
    assert_refused!(queue.sum(x.axis(1), &mut of_rows), Shape);
    let error = queue.reduce(pairs.segments(&offsets), last, &mut of_segments).unwrap_err();
    assert!(error.to_string().contains("the type of the elements of segments"), "{error}");
    let inclusive = Scan::inclusive(last);
    for over in [pairs.segments(&offsets), pairs.axis(0)] {
        assert_refused!(queue.scan(over, &mut scanned, inclusive), Value);
    }
    assert_refused!(queue.mean(floats.first(&two), &mut mean), Shape);
    assert_eq!(dump::enqueued(&ctx, "q"), before, "a refused verb has enqueued work");
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut x = queue.zeros::<f32, 2>([30, 40]).unwrap();
    let mut count = queue.zeros([1]).unwrap();
    let mut mean = queue.zeros([1]).unwrap();
    let mut sorted = queue.zeros([30, 40]).unwrap();
    let (graph, ()) = queue
        .capture(|c| {
            c.mean(x.reshape([1200])?.first(&count), &mut mean)?;
            c.sort(x.axis(0), &mut sorted, Sort::ascending())
        })
        .unwrap();
    for round in 1..4_usize {
        let list: Vec<f32> = (0..1200).map(|i| (i * round % 71) as f32).collect();
        queue.upload(&list, &mut x).unwrap();
        queue.upload(&[300 * round as u32], &mut count).unwrap();
        queue.replay(&graph).unwrap();
        let part = &list[..300 * round];
        assert_eq!(queue.read(&mean).wait().unwrap(), [part.iter().sum::<f32>() / part.len() as f32]);
        let rows: Vec<Vec<f32>> = rows(&list, [30, 40, 1], 0)
            .iter()
            .map(|row| host::sort(row, Sort::ascending()).unwrap())
            .collect();
        assert!(queue.read(&sorted).wait().unwrap() == of_rows(&rows, [30, 40, 1], 0), "round {round}");
    }
}

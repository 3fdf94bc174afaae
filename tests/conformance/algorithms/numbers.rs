//! A02, A05, A08, A10, A11: operations and searches that leave NaNs out.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a03_the_place_of_a_number_leaves_nans_out", places),
        case("a05_the_smallest_and_largest_numbers_along_an_axis_leave_nans_out", along_an_axis),
        case("a05_the_places_of_numbers_along_an_axis_leave_nans_out", places_along_an_axis),
        case("a08_scans_leave_nans_out", scans),
        case("a08_scans_of_parts_leave_nans_out", parts),
        case("a10_verbs_by_key_leave_nans_out", by_key),
        case("a11_segments_leave_nans_out", segments),
        case("a11_operations_that_leave_nans_out_are_those_of_the_extremes_for_integers", integers),
    ]
}

const BOTH: [Operation; 2] = [Operation::SmallestNumber, Operation::LargestNumber];

/// Lists numbers of elements for one share and for several.
fn lengths() -> &'static [usize] {
    if large() { &[1, 2, 64, 255, 257, 4097, 16_384, 16_385, 20_481, 34_567] } else { &[1, 257, 16_385] }
}

/// Returns lists of numbers: with few NaNs, with NaNs in the first half, with a number only at the end, and with only
/// NaNs.
fn lists(rng: &mut fastrand::Rng, len: usize) -> [Vec<f32>; 4] {
    let special = [0, 0x8000_0000, 1, 0x8000_0001, 0x7F80_0000, 0xFF80_0000, 0x3F80_0000, 0xBF80_0000];
    let nans = [0x7FC0_0000, 0xFFFF_FFFF, 0x7F80_0001, 0xFF80_0001_u32];
    let mut list = |is_nan: &dyn Fn(usize, u32) -> bool| {
        let mut word = |i| match rng.u32(..8) {
            chance if is_nan(i, chance) => nans[rng.usize(..4)],
            0 => special[rng.usize(..8)],
            _ => rng.u32(1 << 28..3 << 28) | rng.u32(..2) << 31,
        };
        (0..len).map(|i| f32::from_bits(word(i))).collect()
    };
    [
        list(&|_, chance| chance == 1),
        list(&|i, chance| chance == 1 || i < len / 2),
        list(&|i, _| i + 1 < len),
        list(&|_, _| true),
    ]
}

/// Returns `true` if the bits are equal, or both numbers are NaNs.
fn same(found: &[f32], expected: &[f32]) -> bool {
    let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    found.len() == expected.len() && found.iter().zip(expected).all(same)
}

fn places(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(501);
    let found = |x: &DeviceArray<f32>, nan| {
        let [mut least, mut most] = [(); 2].map(|()| queue.full([1], 9_u32).unwrap());
        queue.argmin(treated(x, nan), &mut least).unwrap();
        queue.argmax(treated(x, nan), &mut most).unwrap();
        [least, most].map(|out| queue.read(&out).wait().unwrap()[0] as usize)
    };
    for &len in lengths() {
        for (at, list) in lists(&mut rng, len).iter().enumerate() {
            let x = queue.array(list).unwrap();
            for nan in [Nan::Ignore, Nan::Propagate] {
                let expected = [host::argmin_with(list, nan), host::argmax_with(list, nan)];
                assert_eq!(found(&x, nan).map(Some), expected, "list {at} of {len}, {nan:?}");
            }
        }
    }
    let x = queue.array(&[f32::NAN, 5.0, -0.0, 0.0, 5.0]).unwrap();
    assert_eq!((found(&x, Nan::Ignore), found(&x, Nan::Propagate)), ([2, 1], [0, 0]));
    assert_eq!(found(&queue.full([3], f32::NAN).unwrap(), Nan::Ignore), [0, 0]);
}

/// Lists shapes with rows and columns of one share and of several.
fn shapes() -> &'static [[usize; 2]] {
    let all = &[[3, 5], [2, 70], [1030, 2], [1, 16_392], [5, 1], [2, 16_385], [3000, 3], [2, 72]];
    if large() { all } else { &all[..4] }
}

fn along_an_axis(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(502);
    for &shape in shapes() {
        for (at, list) in lists(&mut rng, shape[0] * shape[1]).iter().enumerate() {
            let x = queue.array(list).unwrap().reshape(shape).unwrap();
            for (axis, operation) in [0, 1].into_iter().flat_map(|axis| BOTH.map(|one| (axis, one))) {
                let mut reduced = shape;
                reduced[axis] = 1;
                let mut out = queue.zeros(reduced).unwrap();
                queue.reduce(x.axis(axis), operation, &mut out).unwrap();
                let found = queue.read(&out).wait().unwrap();
                let expected = host::reduce(list, shape, operation, axis).unwrap();
                assert!(same(&found, &expected), "{operation:?} along {axis} of {shape:?}, list {at}");
            }
        }
    }
    let none = queue.empty::<f32, 2>([3, 0]).unwrap();
    assert_refused!(queue.reduce(none.axis(1), BOTH[0], &mut queue.zeros([3, 1]).unwrap()), Shape);
}

fn places_along_an_axis(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(503);
    for &shape in shapes() {
        for (at, list) in lists(&mut rng, shape[0] * shape[1]).iter().enumerate() {
            let x = queue.array(list).unwrap().reshape(shape).unwrap();
            for (axis, nan) in [(0, Nan::Ignore), (1, Nan::Ignore), (1, Nan::Propagate)] {
                let mut reduced = shape;
                reduced[axis] = 1;
                let [mut least, mut most] = [(); 2].map(|()| queue.full(reduced, 9_u32).unwrap());
                queue.argmin(treated(x.axis(axis), nan), &mut least).unwrap();
                queue.argmax(treated(x.axis(axis), nan), &mut most).unwrap();
                let found = [least, most].map(|out| Some(queue.read(&out).wait().unwrap()));
                let expected = [
                    host::argmin_axis_with(list, shape, axis, nan),
                    host::argmax_axis_with(list, shape, axis, nan),
                ];
                assert_eq!(found, expected, "along {axis} of {shape:?}, list {at}, {nan:?}");
            }
        }
    }
}

/// Lists scans without an initial value, and with the identity, a number and a NaN as the initial value.
fn scans_of(operation: Operation) -> [Scan<f32>; 6] {
    let inclusive = Scan::inclusive(operation);
    let exclusive = Scan::exclusive(operation);
    [
        inclusive,
        exclusive,
        inclusive.reversed(),
        exclusive.reversed(),
        inclusive.from(0.25),
        exclusive.from(f32::NAN).reversed(),
    ]
}

fn scans(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(504);
    let results = |x: &DeviceArray<f32>, scan: Scan<f32>| {
        let [mut out, mut own] = [(); 2].map(|()| queue.zeros([x.len()]).unwrap());
        let mut total = queue.zeros([1]).unwrap();
        queue.scan_and_total(x, &mut out, &mut total, scan).unwrap();
        queue.copy(x, &mut own).unwrap();
        queue.scan_in_place(&mut own, scan).unwrap();
        [out, own, total].map(|array| queue.read(&array).wait().unwrap())
    };
    for &len in lengths() {
        for (at, list) in lists(&mut rng, len).iter().enumerate() {
            let x = queue.array(list).unwrap();
            let scans = BOTH.map(scans_of).concat();
            // In a plain run, each list is tested with different scans.
            let step = if large() || len < 1000 { 1 } else { 5 };
            for &scan in scans.iter().skip(at % step).step_by(step) {
                let [found, in_place, total] = results(&x, scan);
                let expected = host::scan(list, scan);
                assert!(same(&found, &expected), "{scan:?} of list {at} of {len}");
                assert!(same(&in_place, &expected), "{scan:?} in place of list {at} of {len}");
                let of_all = |part: [f32; 2]| host::scan(&part, Scan::inclusive(BOTH[0]))[1];
                if scan == Scan::inclusive(BOTH[0]) {
                    assert!(same(&total, &[of_all([f32::NAN, expected[len - 1]])]), "{total:?}");
                }
            }
        }
    }
    let nan = f32::NAN;
    let most = f32::INFINITY;
    let x = queue.array(&[nan, 3.0, nan, 1.0]).unwrap();
    let [found, ..] = results(&x, Scan::inclusive(BOTH[0]));
    assert!(same(&found, &[nan, 3.0, 3.0, 1.0]), "{found:?}");
    let [found, _, total] = results(&x, Scan::exclusive(BOTH[0]));
    assert!(same(&found, &[most, most, 3.0, 3.0]) && total == [1.0], "{found:?}, {total:?}");
    let [found, ..] = results(&x, Scan::inclusive(BOTH[1]).reversed());
    assert!(same(&found, &[3.0, 3.0, 1.0, 1.0]), "{found:?}");
    let [found, _, total] = results(&x.slice(0..1).unwrap(), Scan::inclusive(BOTH[1]).from(-2.0));
    assert!(found == [-2.0] && total == [-2.0], "{found:?}, {total:?}");
    let none = queue.empty([0]).unwrap();
    let [_, _, total] = results(&none, Scan::inclusive(BOTH[0]));
    assert!(total[0].is_nan(), "the total of no elements is a NaN: {total:?}");
    let [_, _, total] = results(&none, Scan::exclusive(BOTH[0]));
    assert_eq!(total, [most]);
}

fn parts(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(505);
    for (len, counts) in [(300, [0, 77, 300]), (20_481, [0, 5000, 20_481])] {
        for list in &lists(&mut rng, len)[..3] {
            let x = queue.array(list).unwrap();
            for (at, count) in counts.into_iter().enumerate() {
                let [operation, scan] = [BOTH[at % 2], BOTH[(at + 1) % 2]];
                let number = queue.array(&[count as u32]).unwrap();
                let part = x.first(&number);
                for scan in [Scan::inclusive(operation), Scan::exclusive(scan).reversed()] {
                    let mut out = queue.full([len], 5.0).unwrap();
                    let mut total = queue.zeros([1]).unwrap();
                    queue.scan_and_total(part, &mut out, &mut total, scan).unwrap();
                    let mut expected = host::scan(&list[..count], scan);
                    expected.resize(len, 5.0);
                    let found = queue.read(&out).wait().unwrap();
                    assert!(same(&found, &expected), "{scan:?} of {count} of {len}");
                    let last = host::scan(&[&list[..count], &[f32::NAN]].concat(), scan);
                    let at = if scan == Scan::inclusive(operation) { count } else { 0 };
                    // NaNs are left out, so the result at a NaN after all elements is the total.
                    if at == count {
                        let total = queue.read(&total).wait().unwrap();
                        assert!(same(&total, &last[at..=at]), "{scan:?}: the total of {count}");
                    }
                }
            }
        }
    }
}

/// Returns keys of runs of several lengths.
fn keys(rng: &mut fastrand::Rng, len: usize) -> Vec<u32> {
    let mut key = 0;
    let mut next = || {
        key += u32::from(rng.u8(..30) == 0);
        key
    };
    (0..len).map(|_| next()).collect()
}

fn by_key(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(506);
    for &len in lengths() {
        for (at, list) in lists(&mut rng, len).iter().enumerate() {
            let runs = keys(&mut rng, len);
            let keys = queue.array(&runs).unwrap();
            let x = queue.array(list).unwrap();
            let operation = BOTH[at % 2];
            for scan in &scans_of(operation)[at / 2..][..4] {
                let mut out = queue.zeros([len]).unwrap();
                queue.scan_by_key(&keys, &x, &mut out, *scan).unwrap();
                let found = queue.read(&out).wait().unwrap();
                assert!(same(&found, &host::scan_by_key(&runs, list, *scan)), "{scan:?} of {len}, list {at}");
            }
            let mut kept = queue.zeros([len]).unwrap();
            let mut out = queue.zeros([len]).unwrap();
            let mut count = queue.zeros([1]).unwrap();
            queue.reduce_by_key(&keys, &x, operation, &mut kept, &mut out, &mut count).unwrap();
            let (_, expected) = host::reduce_by_key(&runs, list, operation);
            let found = &queue.read(&out).wait().unwrap()[..expected.len()];
            assert!(same(found, &expected), "{operation:?} of the runs of {len}, list {at}");
        }
    }
}

fn segments(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(507);
    let reduced = |x: &DeviceArray<f32>, offsets: &[u32], operation| {
        let mut out = queue.zeros([offsets.len() - 1]).unwrap();
        queue.reduce(x.segments(&queue.array(offsets).unwrap()), operation, &mut out).unwrap();
        queue.read(&out).wait().unwrap()
    };
    for &len in lengths() {
        for (at, list) in lists(&mut rng, len).iter().enumerate() {
            let x = queue.array(list).unwrap();
            let mut many: Vec<u32> = (0..len.min(400)).map(|_| rng.u32(..=len as u32)).collect();
            many.sort_unstable();
            for (offsets, operation) in [(vec![0, len as u32], BOTH[at % 2]), (many, BOTH[(at + 1) % 2])] {
                let expected = host::reduce_segments(list, &offsets, operation);
                let found = reduced(&x, &offsets, operation);
                assert!(same(&found, &expected), "{operation:?} of {len}, list {at}");
            }
        }
    }
    // The result of a segment with only NaNs is a NaN, and that of an empty segment is the greatest number.
    let x = queue.array(&[f32::NAN, f32::NAN, 2.0, f32::NAN]).unwrap();
    let found = reduced(&x, &[0, 2, 2, 4], Operation::SmallestNumber);
    assert!(same(&found, &[f32::NAN, f32::INFINITY, 2.0]), "{found:?}");
}

fn integers(s: &Subject) {
    let queue = s.ctx().queue("q");
    // The bits of a NaN are an ordinary integer.
    let list: Vec<i32> = (0..300).map(|i| if i % 7 == 0 { 0x7FC0_0000 } else { i - 150 }).collect();
    let x = queue.array(&list).unwrap();
    let offsets = queue.array(&[0_u32, 100, 100, 300]).unwrap();
    for (numbers, extremes) in BOTH.into_iter().zip([Operation::Smallest, Operation::Largest]) {
        let [found, expected] = [numbers, extremes].map(|operation| {
            let mut of_segments = queue.zeros([3]).unwrap();
            let mut scanned = queue.zeros([300]).unwrap();
            let mut of_rows = queue.zeros([3, 1]).unwrap();
            queue.reduce(x.segments(&offsets), operation, &mut of_segments).unwrap();
            queue.scan(&x, &mut scanned, Scan::exclusive(operation)).unwrap();
            queue.reduce(x.reshape([3, 100]).unwrap().axis(1), operation, &mut of_rows).unwrap();
            let results = [of_segments, scanned, of_rows.reshape([3]).unwrap()];
            results.map(|array| queue.read(&array).wait().unwrap())
        });
        assert_eq!(found, expected, "{numbers:?}");
        assert_eq!(host::reduce_segments(&list, &[0, 300], numbers), {
            host::reduce_segments(&list, &[0, 300], extremes)
        });
    }
}

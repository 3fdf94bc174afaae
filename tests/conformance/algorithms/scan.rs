//! A01, A08: scans.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_scan_enqueues_nothing", refused),
        case("a01_a_scan_with_a_hazard_enqueues_nothing", hazard),
        case("a01_a_scan_in_a_graph_equals_that_of_a_queue", in_a_graph),
        case("a08_scans_of_integers_are_exact", integers),
        case("a08_scans_of_floats_are_within_their_bounds", floats),
        case("a08_the_smallest_and_largest_numbers_so_far_are_exact_and_keep_nans", extremes),
        case("a08_a_scan_of_no_elements_has_the_initial_value_as_its_total", none),
        case("a08_a_scan_writes_its_results_alone", guards),
    ]
}

const ALL: [Operation; 4] = [Operation::Sum, Operation::Product, Operation::Smallest, Operation::Largest];

/// Returns the elements and the total of a scan to another array, and the elements of a scan in place.
fn results<T: Reducible>(queue: &CommandQueue, x: &DeviceArray<T>, scan: Scan<T>) -> (Vec<T>, T, Vec<T>) {
    let mut out = queue.empty([x.len()]).unwrap();
    let mut total = queue.empty([1]).unwrap();
    let mut own = queue.empty([x.len()]).unwrap();
    queue.scan_and_total(x, &mut out, &mut total, scan).unwrap();
    queue.copy(x, &mut own).unwrap();
    queue.scan_in_place(&mut own, scan).unwrap();
    let total = queue.read(&total).wait().unwrap()[0];
    (queue.read(&out).wait().unwrap(), total, queue.read(&own).wait().unwrap())
}

fn integers(s: &Subject) {
    fn of<T: Reducible + Debug>(queue: &CommandQueue, list: &[T], operation: Operation) {
        let x = queue.array(list).unwrap();
        let scans = [
            Scan::inclusive(operation),
            Scan::exclusive(operation),
            Scan::exclusive(operation).from(list[0]),
        ];
        for scan in scans.into_iter().flat_map(|scan| [scan, scan.reversed()]) {
            let (expected, sum) = host::scan_with_total(list, scan);
            let (found, total, in_place) = results(queue, &x, scan);
            assert!(found == expected, "{scan:?} of {} elements", list.len());
            assert!(in_place == expected, "{scan:?} in place of {} elements", list.len());
            assert_eq!(total, sum, "{scan:?} of {} elements", list.len());
        }
    }
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(41);
    for (at, len) in lengths().into_iter().enumerate() {
        // With odd factors, the product does not become 0.
        let list: Vec<u32> = (0..len).map(|_| rng.u32(..) | 1).collect();
        for &operation in if len < 1000 { &ALL[..] } else { some(&ALL, at) } {
            match at % 2 {
                0 => of::<u32>(&queue, &list, operation),
                _ => of::<i32>(&queue, bytemuck::cast_slice(&list), operation),
            }
        }
    }
}

fn floats(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(42);
    for len in lengths() {
        let list: Vec<f32> = (0..len).map(|_| (rng.f32() - 0.5) * [1.0, 1e6][rng.usize(..2)]).collect();
        let x = queue.array(&list).unwrap();
        let (found, total, in_place) = results(&queue, &x, Scan::inclusive(Operation::Sum).from(3.0));
        let depth = 95.0 + len as f64 / 2_f64.powi(17);
        let mut exact = 3.0;
        let mut sizes = 3.0;
        for (i, element) in list.iter().enumerate() {
            exact += f64::from(*element);
            sizes += f64::from(element.abs());
            let bound = depth * 2_f64.powi(-24) * sizes;
            let error = (f64::from(found[i]) - exact).abs();
            assert!(error <= bound, "element {i} of {len}: an error of {error}, more than {bound}");
        }
        assert!((f64::from(total) - exact).abs() <= depth * 2_f64.powi(-24) * sizes);
        assert_eq!(found, in_place, "the order of the operations is the same");
        let (found, ..) = results(&queue, &x, Scan::inclusive(Operation::Sum).reversed());
        (exact, sizes) = (0.0, 0.0);
        for (i, element) in list.iter().enumerate().rev() {
            exact += f64::from(*element);
            sizes += f64::from(element.abs());
            let bound = depth * 2_f64.powi(-24) * sizes;
            let error = (f64::from(found[i]) - exact).abs();
            assert!(error <= bound, "element {i} of {len}, reversed: an error of {error}, more than {bound}");
        }
    }
    let x = queue.array(&[1.5_f32, 2.0, -0.5, 4.0]).unwrap();
    let (found, total, _) = results(&queue, &x, Scan::exclusive(Operation::Product));
    assert_eq!((&found[..], total), (&[1.0, 1.5, 3.0, -1.5][..], -6.0));
}

fn extremes(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(43);
    let special = [0, 0x8000_0000, 1, 0x7F80_0000, 0xFF80_0000, 0x3F80_0000, 0xBF80_0000, 0x7FC0_0000];
    let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    for (len, nan) in [(1, false), (255, true), (5000, false), (5000, true), (20_000, false), (20_000, true)]
    {
        let mut words: Vec<u32> = (0..len)
            .map(|_| if rng.u32(..40) == 0 { special[rng.usize(..7)] } else { rng.u32(1 << 28..3 << 28) })
            .collect();
        if nan {
            words[len * 3 / 4] = special[7];
        }
        let list: &[f32] = bytemuck::cast_slice(&words);
        let x = queue.array(&words).unwrap().cast_bits::<f32>();
        for operation in [Operation::Smallest, Operation::Largest] {
            let inclusive = Scan::inclusive(operation);
            let exclusive = Scan::exclusive(operation);
            for scan in [inclusive, exclusive, inclusive.reversed(), exclusive.reversed()] {
                let (expected, extreme) = host::scan_with_total(list, scan);
                let (found, total, in_place) = results(&queue, &x, scan);
                let all = |found: &[f32]| found.iter().zip(&expected).all(|(a, b)| same(*a, *b));
                assert!(all(&found) && all(&in_place), "{scan:?} of {len} numbers");
                assert!(same(total, extreme), "{scan:?}: {total}, {extreme}");
            }
        }
    }
    let x = queue.array(&[2.0_f32, 5.0]).unwrap();
    let (found, ..) = results(&queue, &x, Scan::inclusive(Operation::Smallest).from(f32::NAN));
    assert!(found.iter().all(|number| number.is_nan()));
}

fn none(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.empty::<u32, 1>([0]).unwrap();
    let (found, total, _) = results(&queue, &x, Scan::exclusive(Operation::Sum).from(7));
    assert_eq!((found.len(), total), (0, 7));
    let (found, total, _) = results(&queue, &x, Scan::inclusive(Operation::Largest).from(8).reversed());
    assert_eq!((found.len(), total), (0, 8));
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let other = s.ctx().queue("other");
    for len in [100, 20_000] {
        let x = queue.full([len], 1_u32).unwrap();
        let mut out = queue.full([len], 7_u32).unwrap();
        let scan = Scan::inclusive(Operation::Sum);
        assert_refused!(queue.scan(&x, &mut queue.zeros([len + 1]).unwrap(), scan), Shape);
        let mut two = queue.zeros([2]).unwrap();
        assert_refused!(queue.scan_and_total(&x, &mut out, &mut two, scan), Shape);
        assert_refused!(queue.scan(&x, &mut x.clone(), scan), Aliased);
        let mut first = out.slice(0..1).unwrap();
        assert_refused!(queue.scan_and_total(&x, &mut out, &mut first, scan), Aliased);
        let mut foreign = other.zeros::<u32, 1>([len]).unwrap();
        assert_refused!(queue.scan_in_place(&mut foreign, scan), ForeignContext);
        assert_eq!(queue.read(&out).wait().unwrap(), vec![7; len]);
        assert_eq!(queue.read(&x).wait().unwrap(), vec![1; len]);
    }
    let mut padded = queue.zeros::<u32, 2>(Shape::padded([4, 5], [4, 8])).unwrap();
    assert_refused!(queue.scan_in_place(&mut padded, Scan::exclusive(Operation::Product)), Padding);
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for shape in [[7, 100], [3, 16_400]] {
        let len: usize = shape.iter().product();
        let mut x = queue.zeros::<i32, 1>([len]).unwrap();
        let view = x.reshape(shape).unwrap();
        let mut out = queue.zeros(shape).unwrap();
        let mut own = queue.zeros(shape).unwrap();
        let (graph, ()) = queue
            .capture(|c| {
                c.scan(&view, &mut out, Scan::inclusive(Operation::Sum))?;
                c.copy(&view, &mut own)?;
                c.scan_in_place(&mut own, Scan::exclusive(Operation::Smallest).reversed())
            })
            .unwrap();
        for round in 0..3 {
            let list = scrambled(len, round);
            queue.upload(&list, &mut x).unwrap();
            queue.replay(&graph).unwrap();
            let found = (queue.read(&out).wait().unwrap(), queue.read(&own).wait().unwrap());
            let eager = results(&queue, &x, Scan::inclusive(Operation::Sum)).0;
            assert!(found.0 == eager, "{shape:?}, round {round}");
            assert!(found.1 == host::scan(&list, Scan::exclusive(Operation::Smallest).reversed()));
        }
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [300, 16_385] {
        let list: Vec<i32> = (0..len as i32).map(|i| i * 7 - 40).collect();
        let all = queue.array(&around(&list, 9)).unwrap();
        let scan = Scan::exclusive(Operation::Sum).from(-3);
        for scan in [scan, scan.reversed()] {
            let found = guarded(&queue, len, |out| queue.scan(&inside(&all), out, scan));
            assert!(found == host::scan(&list, scan), "{scan:?} of {len} elements");
            assert!(queue.read(&all).wait().unwrap() == around(&list, 9), "the input stays");
        }
        let scan = scan.reversed();
        queue.scan_in_place(&mut inside(&all), scan).unwrap();
        assert!(queue.read(&all).wait().unwrap() == around(&host::scan(&list, scan), 9), "{len} in place");
    }
}

fn hazard(s: &Subject) {
    let verbs: [Verb; 3] = [
        |queue, x, out| queue.scan(x, out, Scan::inclusive(Operation::Sum)),
        |queue, _, out| queue.scan_in_place(out, Scan::inclusive(Operation::Sum)),
        |queue, x, out| {
            let n = x.len() - 1;
            let mut sums = out.slice(0..n)?;
            let mut total = out.slice(n..n + 1)?;
            queue.scan_and_total(&x.slice(0..n)?, &mut sums, &mut total, Scan::exclusive(Operation::Sum))
        },
    ];
    enqueue_nothing_with_a_hazard(s, 20_481, &verbs);
    enqueue_nothing_with_a_hazard(s, 129, &verbs);
}

//! A01, A13: sorts.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_sort_enqueues_nothing", refused),
        case("a01_a_sort_with_a_hazard_enqueues_nothing", hazard),
        case("a01_a_sort_in_a_graph_equals_that_of_a_queue", in_a_graph),
        case("a13_a_sort_is_exact_and_floats_have_their_total_order", keys),
        case("a13_a_sort_of_pairs_is_stable", pairs),
        case("a13_a_sort_by_some_bits_is_stable", some_bits),
        case("a13_an_argsort_has_the_place_of_each_element", places),
        case("a13_a_sort_writes_its_results_alone", guards),
    ]
}

/// Lists numbers of elements around multiples of workgroup sizes, tiles and shares. The full suite has more of them.
fn lengths() -> Vec<usize> {
    let some = vec![0, 1, 17, 255, 256, 257, 4096, 4097];
    if large() { [some, super::lengths()].concat() } else { some }
}

const BOTH: [Sort; 2] = [Sort::ascending(), Sort::descending()];

fn bits<T: Reducible>(list: &[T]) -> &[u32] {
    bytemuck::cast_slice(list)
}

/// Compares a sort to another array and a sort in place with the host's.
#[track_caller]
fn sorted<T: Reducible>(queue: &CommandQueue, list: &[T], sort: Sort) {
    let x = queue.array(list).unwrap();
    let mut out = queue.empty([list.len()]).unwrap();
    let mut own = queue.empty([list.len()]).unwrap();
    queue.sort(&x, &mut out, sort).unwrap();
    queue.copy(&x, &mut own).unwrap();
    queue.sort_in_place(&mut own, sort).unwrap();
    let expected = host::sort(list, sort).unwrap();
    for (what, found) in [("to another array", &out), ("in place", &own), ("of the input", &x)] {
        let found = queue.read(&found.cast_bits::<u32>()).wait().unwrap();
        let expected = if what == "of the input" { list } else { &expected };
        assert!(found == bits(expected), "{sort:?} {what} of {} elements", list.len());
    }
}

/// Returns lists of words: random, equal, sorted, reversed, and with few distinct values.
fn lists(len: usize, rng: &mut fastrand::Rng) -> Vec<Vec<u32>> {
    let step = |i: u32| i.wrapping_mul(u32::MAX / (len as u32).max(1));
    let range = 0..len as u32;
    vec![
        (0..len).map(|_| rng.u32(..)).collect(),
        vec![rng.u32(..); len],
        range.clone().map(step).collect(),
        range.rev().map(step).collect(),
        (0..len).map(|_| [0, 1, 0x7FFF_FFFF, 0x8000_0000, u32::MAX][rng.usize(..5)]).collect(),
    ]
}

fn keys(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(61);
    for (at, len) in lengths().into_iter().enumerate() {
        let lists = lists(len, &mut rng);
        let some = if large() || len == 257 { &lists[..] } else { &lists[(at + 2) % 5..][..1] };
        for (round, list) in some.iter().enumerate() {
            let sort = BOTH[(at + round) % 2];
            match (at + round) % 3 {
                0 => sorted::<i32>(&queue, bytemuck::cast_slice(list), sort),
                1 => sorted::<f32>(&queue, bytemuck::cast_slice(list), sort),
                _ => sorted::<u32>(&queue, list, sort),
            }
        }
    }
    let special =
        [0, 1, 0x8000_0001, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0xFFC0_0000, 0x7F80_0001, 1 << 31];
    for (len, sort) in [(300, BOTH[1]), (300, BOTH[0])] {
        let words: Vec<u32> =
            (0..len).map(|_| if rng.bool() { special[rng.usize(..9)] } else { rng.u32(..) }).collect();
        sorted::<f32>(&queue, bytemuck::cast_slice(&words), sort);
    }
    let numbers = [f32::NAN, 0.0, -0.0, f32::INFINITY, -1.0, f32::NEG_INFINITY, -f32::NAN, 1.0];
    let mut expected = numbers;
    expected.sort_by(f32::total_cmp);
    assert_eq!(bits(&host::sort(&numbers, BOTH[0]).unwrap()), bits(&expected));
}

/// Compares pairs, sorted to other arrays and in place, with the host's.
#[track_caller]
fn sorted_pairs<T: Reducible>(queue: &CommandQueue, list: &[T], sort: Sort) {
    let len = list.len();
    let values: Vec<i32> = (0..len as i32).map(|i| -3 * i).collect();
    let keys = queue.array(list).unwrap();
    let of_keys = queue.array(&values).unwrap();
    let mut out = queue.empty([len]).unwrap();
    let mut of_out = queue.empty([len]).unwrap();
    queue.sort_pairs(&keys, &of_keys, &mut out, &mut of_out, sort).unwrap();
    let mut own = queue.empty([len]).unwrap();
    let mut of_own = queue.empty([len]).unwrap();
    queue.copy(&keys, &mut own).unwrap();
    queue.copy(&of_keys, &mut of_own).unwrap();
    queue.sort_pairs_in_place(&mut own, &mut of_own, sort).unwrap();
    let expected = host::sort_pairs(list, &values, sort).unwrap();
    for (what, keys, values) in [("to other arrays", out, of_out), ("in place", own, of_own)] {
        let keys = queue.read(&keys.cast_bits::<u32>()).wait().unwrap();
        assert!(keys == bits(&expected.0), "{sort:?}: keys {what} of {len} pairs");
        assert!(queue.read(&values).wait().unwrap() == expected.1, "{sort:?}: values {what} of {len} pairs");
    }
}

fn pairs(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(63);
    for (at, len) in [257, 4097].into_iter().enumerate() {
        // Few distinct keys, so that the values show the order of equal keys.
        let few: Vec<u32> =
            (0..len).map(|_| [7, 0x7000_0000, 0x9000_0000, u32::MAX][rng.usize(..4)]).collect();
        match at % 3 {
            0 => sorted_pairs::<u32>(&queue, &few, BOTH[at % 2]),
            1 => sorted_pairs::<i32>(&queue, bytemuck::cast_slice(&few), BOTH[at % 2]),
            _ => sorted_pairs::<f32>(&queue, bytemuck::cast_slice(&few), BOTH[at % 2]),
        }
    }
}

fn some_bits(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(64);
    // From one to eight digits, so that even and odd numbers occur, and with fewer bits in the last digit.
    for (at, (range, len)) in
        [(0..1, 300), (5..9, 4200), (3..8, 4097), (20..32, 300), (31..32, 4096), (1..32, 300)]
            .into_iter()
            .enumerate()
    {
        let words: Vec<u32> = (0..len).map(|_| rng.u32(..)).collect();
        let sort = BOTH[at % 2].bits(range);
        match at % 3 {
            0 => sorted_pairs::<u32>(&queue, &words, sort),
            1 => sorted_pairs::<i32>(&queue, bytemuck::cast_slice(&words), sort),
            _ => sorted_pairs::<f32>(&queue, bytemuck::cast_slice(&words), sort),
        }
        sorted::<u32>(&queue, &words, sort);
    }
}

fn places(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(65);
    let whole = BOTH[0].bits(0..32);
    for (len, sort) in [
        (0, whole),
        (1, BOTH[1]),
        (300, whole),
        (4096, BOTH[1].bits(20..32)),
        (4200, BOTH[1].bits(28..32)),
        (4097, whole.bits(24..32)),
    ] {
        let list: Vec<f32> = (0..len).map(|_| rng.i32(-50..50) as f32 * 0.5).collect();
        let x = queue.array(&list).unwrap();
        let mut places = queue.empty([len]).unwrap();
        queue.argsort(&x, &mut places, sort).unwrap();
        assert!(
            queue.read(&places).wait().unwrap() == host::argsort(&list, sort).unwrap(),
            "{sort:?} of {len}"
        );
    }
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let other = s.ctx().queue("other");
    let sort = Sort::ascending();
    for len in [100, 4200] {
        let x = queue.array(&(0..len).rev().collect::<Vec<u32>>()).unwrap();
        let len = len as usize;
        let mut out = queue.full([len], 7_u32).unwrap();
        let mut values = queue.full([len], 7_u32).unwrap();
        let mut longer = queue.zeros::<u32, 1>([len + 1]).unwrap();
        assert_refused!(queue.sort(&x, &mut longer, sort), Shape);
        assert_refused!(queue.argsort(&x, &mut longer, sort), Shape);
        assert_refused!(queue.sort_pairs(&x, &longer.clone(), &mut out, &mut values, sort), Shape);
        assert_refused!(queue.sort_pairs_in_place(&mut out, &mut longer, sort), Shape);
        let aliased = [
            queue.sort(&x, &mut x.clone(), sort),
            queue.argsort(&x, &mut x.clone(), sort),
            queue.sort_pairs(&x, &values.clone(), &mut out, &mut values, sort),
            queue.sort_pairs_in_place(&mut out.clone(), &mut out, sort),
        ];
        let verbs = ["sort", "argsort", "sort_pairs", "sort_pairs_in_place"];
        let arguments = [["x", "out"], ["x", "places"], ["values", "out_values"], ["keys", "values"]];
        for ((error, verb), arguments) in aliased.map(Result::unwrap_err).iter().zip(verbs).zip(arguments) {
            let ErrorDetail::Aliased { subject, first, second, .. } = error.detail() else {
                panic!("{error}")
            };
            assert_eq!(*subject, format!("verb `{verb}`"), "{error}");
            assert_eq!([first.as_str(), second], arguments, "{error}");
        }
        let mut foreign = other.zeros::<u32, 1>([len]).unwrap();
        assert_refused!(queue.sort(&x, &mut foreign, sort), ForeignContext);
        assert_refused!(queue.sort_in_place(&mut foreign, sort), ForeignContext);
        assert_refused!(queue.argsort(&foreign.clone(), &mut out, sort), ForeignContext);
        assert_refused!(queue.sort_pairs_in_place(&mut out, &mut foreign, sort), ForeignContext);
        for (first, end) in [(0, 33), (4, 4), (9, 3), (32, 40)] {
            let sort = sort.bits(first..end);
            assert_refused!(queue.sort(&x, &mut out, sort), Value);
            assert_eq!(host::argsort(&[1_u32], sort), None);
            assert_eq!(host::sort_pairs(&[1_u32], &[2_u32], sort), None);
        }
        for array in [&out, &values] {
            assert_eq!(queue.read(array).wait().unwrap(), vec![7; len]);
        }
        assert!(queue.read(&x).wait().unwrap().into_iter().eq((0..len as u32).rev()));
    }
    let mut padded = queue.zeros::<u32, 1>(Shape::padded([5], [8])).unwrap();
    assert_refused!(queue.sort_in_place(&mut padded, sort), Padding);
}

fn hazard(s: &Subject) {
    let verbs: [Verb; 3] = [
        |queue, x, out| queue.sort(x, out, Sort::ascending().bits(0..3)),
        |queue, _, out| queue.sort_in_place(out, Sort::ascending().bits(0..3)),
        |queue, x, out| queue.argsort(x, out, Sort::ascending().bits(0..3)),
    ];
    enqueue_nothing_with_a_hazard(s, 4200, &verbs);
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [300, 4200] {
        let descending = Sort::descending().bits(10..22);
        let mut x = queue.zeros::<i32, 1>([len]).unwrap();
        let mut out = queue.zeros([len]).unwrap();
        let mut own = queue.zeros([len]).unwrap();
        let mut places = queue.zeros([len]).unwrap();
        let (graph, ()) = queue
            .capture(|c| {
                c.sort(&x, &mut out, descending)?;
                c.copy(&x, &mut own)?;
                c.sort_in_place(&mut own, Sort::ascending().bits(0..9))?;
                c.argsort(&x, &mut places, Sort::ascending().bits(27..32))
            })
            .unwrap();
        for round in 0..2 {
            let list = scrambled(len, round);
            queue.upload(&list, &mut x).unwrap();
            queue.replay(&graph).unwrap();
            let found = queue.read(&out).wait().unwrap();
            let mut eager = queue.empty([len]).unwrap();
            queue.sort(&x, &mut eager, descending).unwrap();
            assert!(found == queue.read(&eager).wait().unwrap(), "{len} elements, round {round}");
            assert!(found == host::sort(&list, descending).unwrap(), "{len} elements, round {round}");
            let found = queue.read(&own).wait().unwrap();
            let order = queue.read(&places).wait().unwrap();
            let expected = host::sort(&list, Sort::ascending().bits(0..9)).unwrap();
            assert!(found == expected, "{len} elements, round {round}");
            let expected = host::argsort(&list, Sort::ascending().bits(27..32)).unwrap();
            assert!(order == expected, "{len} elements, round {round}");
        }
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [300, 4200] {
        let list: Vec<u32> = (0..len as u32).map(|i| (i * 7919) % 1000).collect();
        let sort = Sort::ascending().bits(0..10);
        let order = host::argsort(&list, sort).unwrap();
        let expected = host::sort(&list, sort).unwrap();
        let [all, own] = [(); 2].map(|()| queue.array(&around(&list, 9)).unwrap());
        let [out, places] = [(); 2].map(|()| queue.full([128 + len], 9_u32).unwrap());
        queue.sort(&inside(&all), &mut inside(&out), sort).unwrap();
        queue.argsort(&inside(&all), &mut inside(&places), sort).unwrap();
        queue.sort_in_place(&mut inside(&own), sort).unwrap();
        for (array, list) in [(all, &list), (own, &expected), (out, &expected), (places, &order)] {
            assert!(queue.read(&array).wait().unwrap() == around(list, 9), "{len} elements");
        }
    }
}

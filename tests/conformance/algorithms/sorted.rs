//! A01, A14: searches in sorted arrays, merges, and the largest elements.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_refused_searches_merges_and_ranks_enqueue_nothing", refused),
        case("a01_searches_and_ranks_with_a_hazard_enqueue_nothing", hazard),
        case("a01_searches_merges_and_ranks_in_a_graph_equal_those_of_a_queue", in_a_graph),
        case("a14_a_query_has_the_number_of_elements_before_it", searches),
        case("a14_a_merge_keeps_the_elements_of_both_arrays_in_order", merges),
        case("a14_the_largest_elements_are_exact_and_the_first_of_equal_ones", largest),
        case("a14_the_largest_elements_along_each_axis_are_those_of_the_host", largest_along),
        case("a14_the_largest_elements_of_segments_are_those_of_the_host", largest_of_segments),
        case("a14_searches_merges_and_ranks_write_their_results_alone", guards),
    ]
}

/// Lists numbers of elements around multiples of the workgroup size. The full suite has more of them.
fn lengths() -> Vec<usize> {
    let some = vec![0, 1, 7, 8, 9, 255, 256, 257, 513, 1025];
    if large() { [some, super::lengths()].concat() } else { some }
}

fn bits<T: Reducible>(list: &[T]) -> &[u32] {
    bytemuck::cast_slice(list)
}

/// Returns words, many of them equal; as floats, they include zeros, infinities and NaNs of both signs.
fn words(len: usize, rng: &mut fastrand::Rng) -> Vec<u32> {
    let special = [0, 0x8000_0000, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0xFFC0_0000, 5, u32::MAX];
    (0..len).map(|_| if rng.bool() { special[rng.usize(..8)] } else { rng.u32(..) }).collect()
}

#[track_caller]
fn search<T: Reducible>(queue: &CommandQueue, list: &[T], queries: &[T]) {
    let list = host::sort(list, Sort::ascending()).unwrap();
    let x = queue.array(&list).unwrap();
    let of = queue.array(queries).unwrap();
    for side in [Side::Left, Side::Right] {
        let mut places = queue.full([queries.len()], 7).unwrap();
        queue.searchsorted(&x, &of, side, &mut places).unwrap();
        let expected = host::searchsorted(&list, queries, side);
        let sizes = (queries.len(), list.len());
        assert!(queue.read(&places).wait().unwrap() == expected, "{side:?} of {sizes:?}");
    }
}

fn searches(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(71);
    for (at, len) in lengths().into_iter().enumerate() {
        let list = words(len, &mut rng);
        let queries = [&list[..len.min(100)], &words([0, 1, 65, 300][at % 4], &mut rng)].concat();
        match at % 3 {
            0 => search::<u32>(&queue, &list, &queries),
            1 => search::<f32>(&queue, bytemuck::cast_slice(&list), bytemuck::cast_slice(&queries)),
            _ => search::<i32>(&queue, bytemuck::cast_slice(&list), bytemuck::cast_slice(&queries)),
        }
    }
    let x = queue.array(&[-0.0_f32, 0.0, f32::NAN]).unwrap();
    let queries = queue.array(&[0.0, f32::INFINITY, f32::NAN]).unwrap().reshape([3, 1]).unwrap();
    let mut places = queue.zeros([3, 1]).unwrap();
    queue.searchsorted(&x, &queries, Side::Left, &mut places).unwrap();
    assert_eq!(queue.read(&places).wait().unwrap(), [1, 2, 2]);
}

#[track_caller]
fn merge<T: Reducible>(queue: &CommandQueue, first: &[T], second: &[T]) {
    let [first, second] = [first, second].map(|list| host::sort(list, Sort::ascending()).unwrap());
    let mut out = queue.empty([first.len() + second.len()]).unwrap();
    queue.merge(&queue.array(&first).unwrap(), &queue.array(&second).unwrap(), &mut out).unwrap();
    let found = queue.read(&out.cast_bits::<u32>()).wait().unwrap();
    assert!(found == bits(&host::merge(&first, &second)), "{} and {}", first.len(), second.len());
}

fn merges(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(72);
    for (at, len) in lengths().into_iter().enumerate() {
        let other = [len, 0, 1, 300][at % 4];
        let first = words(len, &mut rng);
        let second = words(other, &mut rng);
        merge::<u32>(&queue, &second, &first);
        match at % 2 {
            0 => merge::<i32>(&queue, bytemuck::cast_slice(&first), bytemuck::cast_slice(&second)),
            _ => merge::<f32>(&queue, bytemuck::cast_slice(&first), bytemuck::cast_slice(&second)),
        }
        // All elements of one array come before those of the other one.
        merge::<u32>(&queue, &vec![9; len], &vec![3; other]);
    }
}

fn largest(s: &Subject) {
    fn of<T: Reducible>(queue: &CommandQueue, list: &[T], k: usize) {
        let x = queue.array(list).unwrap();
        let mut values = queue.empty([k]).unwrap();
        let mut places = queue.empty([k]).unwrap();
        queue.top_k(&x, &mut values, &mut places).unwrap();
        let expected = host::top_k(list, k).unwrap();
        let found = queue.read(&values.cast_bits::<u32>()).wait().unwrap();
        assert!(found == bits(&expected.0), "the {k} largest of {}", list.len());
        assert!(queue.read(&places).wait().unwrap() == expected.1, "the {k} largest of {}", list.len());
        let mut out = queue.empty([1]).unwrap();
        if k / 2 < list.len() {
            let k = k / 2;
            queue.kth(&x, k, &mut out).unwrap();
            let found = queue.read(&out.cast_bits::<u32>()).wait().unwrap();
            assert_eq!(found, bits(&[host::kth(list, k).unwrap()]), "place {k} of {}", list.len());
        }
    }
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(73);
    for (len, k) in [(0, 0), (1, 1), (300, 0), (300, 7), (1000, 1000), (4200, 301)] {
        let list = words(len, &mut rng);
        match k % 3 {
            0 => of::<f32>(&queue, bytemuck::cast_slice(&list), k),
            1 => of::<i32>(&queue, bytemuck::cast_slice(&list), k),
            _ => of::<u32>(&queue, &list, k),
        }
    }
}

fn largest_along(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(74);
    for shape in [[1, 1, 1], [3, 40, 1], [2, 7, 50], [4, 70, 6], [1, 2100, 2]] {
        let list = words(shape.iter().product(), &mut rng);
        let x = queue.array(&list).unwrap().cast_bits::<f32>().reshape(shape).unwrap();
        for axis in 0..3 {
            let n = shape[axis];
            let inner: usize = shape[axis + 1..].iter().product();
            for k in [0, 1, 5, n] {
                let k = k.min(n);
                let mut of_results = shape;
                of_results[axis] = k;
                let mut values = queue.empty(of_results).unwrap();
                let mut places = queue.empty(of_results).unwrap();
                queue.top_k(x.axis(axis), &mut values, &mut places).unwrap();
                let values = queue.read(&values.cast_bits::<u32>()).wait().unwrap();
                let places = queue.read(&places).wait().unwrap();
                for column in 0..list.len() / n {
                    let at = |count: usize, i: usize| (column / inner * count + i) * inner + column % inner;
                    let elements: Vec<f32> = (0..n).map(|i| f32::from_bits(list[at(n, i)])).collect();
                    let (largest, of_largest) = host::top_k(&elements, k).unwrap();
                    let found: Vec<u32> = (0..k).map(|i| values[at(k, i)]).collect();
                    assert_eq!(found, bits(&largest), "{k} along {axis} of {shape:?}");
                    let found: Vec<u32> = (0..k).map(|i| places[at(k, i)]).collect();
                    assert_eq!(found, of_largest, "{k} along {axis} of {shape:?}");
                }
            }
        }
    }
    let x = queue.full([4, 5], 3_u32).unwrap();
    let mut out = queue.full([4, 2], 7_u32).unwrap();
    let shape = |shape: [usize; 2]| queue.zeros::<u32, 2>(shape).unwrap();
    for wrong in [[4, 6], [5, 2], [4, 3]] {
        assert_refused!(queue.top_k(x.axis(1), &mut shape(wrong), &mut out.clone()), Shape);
        assert_refused!(queue.top_k(x.axis(1), &mut out, &mut shape(wrong)), Shape);
    }
    assert_refused!(queue.top_k(x.axis(1), &mut shape([4, 6]), &mut shape([4, 6])), Shape);
    assert_refused!(queue.top_k(x.axis(2), &mut out.clone(), &mut out), Axis);
    assert_refused!(queue.top_k(x.axis(1), &mut out.clone(), &mut out), Aliased);
    assert_eq!(queue.read(&out).wait().unwrap(), [7; 8]);
}

fn largest_of_segments(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(75);
    for len in [1, 300, 4200] {
        let list = words(len, &mut rng);
        let x = queue.array(&list).unwrap();
        let end = len as u32;
        let mut many: Vec<u32> = (0..30).map(|_| rng.u32(0..=end)).collect();
        many.sort_unstable();
        for offsets in [vec![0, end], many, vec![end / 3, end / 2, end + 5, end + 9]] {
            let on_device = queue.array(&offsets).unwrap();
            let count = offsets.len() - 1;
            for k in [1, 4, 50] {
                let outputs = Outputs::<u32, 1, 1>::new(&queue, [count * k], [count * k]);
                let [values] = outputs.elements.each_ref().map(|out| out.reshape([count, k]).unwrap());
                let [places] = outputs.words.each_ref().map(|out| out.reshape([count, k]).unwrap());
                queue.top_k(x.segments(&on_device), &mut values.clone(), &mut places.clone()).unwrap();
                let [mut all, mut of_all] = [vec![], vec![]];
                for ends in offsets.windows(2) {
                    let segment = &list[len.min(ends[0] as usize)..len.min(ends[1] as usize)];
                    let (largest, of_largest) = host::top_k(segment, k.min(segment.len())).unwrap();
                    all.extend(padded(&largest, k));
                    of_all.extend(padded(&of_largest, k));
                }
                assert!(outputs.read(&queue) == [all, of_all], "{k} in {offsets:?} of {len}");
            }
        }
    }
    let x = queue.zeros::<u32, 1>([9]).unwrap();
    let offsets = queue.zeros::<u32, 1>([3]).unwrap();
    let [mut values, mut places] = [(); 2].map(|()| queue.zeros([3, 2]).unwrap());
    assert_refused!(queue.top_k(x.segments(&offsets), &mut values, &mut places), Shape);
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let other = s.ctx().queue("other");
    for len in [100, 4200] {
        let x = queue.array(&(0..len).collect::<Vec<u32>>()).unwrap();
        let len = len as usize;
        let mut out = queue.full([3], 7_u32).unwrap();
        let mut places = queue.full([3], 7_u32).unwrap();
        let mut longer = queue.zeros::<u32, 1>([2 * len + 1]).unwrap();
        assert_refused!(queue.searchsorted(&x, &longer.clone(), Side::Left, &mut places), Shape);
        assert_refused!(queue.merge(&x, &x, &mut longer), Shape);
        assert_refused!(queue.top_k(&x, &mut longer.clone(), &mut places), Shape);
        assert_refused!(queue.top_k(&x, &mut longer.clone(), &mut longer), Shape);
        assert_refused!(queue.kth(&x, 0, &mut out), Shape);
        for place in [len, usize::MAX] {
            assert_refused!(queue.kth(&x, place, &mut queue.zeros([1]).unwrap()), Value);
        }
        let part = |from: usize| x.slice(from..from + 3).unwrap();
        assert_refused!(queue.searchsorted(&x, &out.clone(), Side::Left, &mut part(0)), Aliased);
        assert_refused!(queue.merge(&x, &queue.empty([0]).unwrap(), &mut x.clone()), Aliased);
        assert_refused!(queue.top_k(&x, &mut out, &mut part(0)), Aliased);
        assert_refused!(queue.top_k(&x, &mut out.clone(), &mut out), Aliased);
        assert_refused!(queue.kth(&x, 0, &mut x.slice(0..1).unwrap()), Aliased);
        let foreign = || other.zeros::<u32, 1>([3]).unwrap();
        assert_refused!(queue.searchsorted(&x, &foreign(), Side::Left, &mut places), ForeignContext);
        assert_refused!(queue.top_k(&x, &mut out, &mut foreign()), ForeignContext);
        assert_refused!(queue.kth(&x, 0, &mut foreign().slice(0..1).unwrap()), ForeignContext);
        assert_refused!(queue.merge(&foreign(), &queue.empty([0]).unwrap(), &mut out), ForeignContext);
        for array in [&out, &places] {
            assert_eq!(queue.read(array).wait().unwrap(), [7; 3]);
        }
        assert!(queue.read(&x).wait().unwrap().into_iter().eq(0..len as u32));
    }
}

fn hazard(s: &Subject) {
    let verbs: [Verb; 3] = [
        |queue, x, out| queue.searchsorted(x, x, Side::Left, out),
        |queue, x, out| queue.top_k(x, &mut out.slice(0..64)?, &mut out.slice(64..128)?),
        |queue, x, out| queue.kth(x, 3, &mut out.slice(0..1)?),
    ];
    enqueue_nothing_with_a_hazard(s, 200, &verbs);
}

/// Enqueues a search, a merge and searches for the largest elements and the median of `x`.
fn enqueue(queue: &CommandQueue, x: &DeviceArray<i32>, out: &DeviceArray<i32>) -> Result<()> {
    let part = |from: usize, len: usize| out.slice(from..from + len);
    let sorted = part(0, 128)?;
    let places = |from, len| Ok::<_, Error>(part(from, len)?.cast_bits());
    queue.merge(&x.slice(0..64)?, &x.slice(64..128)?, &mut sorted.clone())?;
    queue.searchsorted(&sorted, x, Side::Right, &mut places(128, x.len())?)?;
    let after = 128 + x.len().next_multiple_of(64);
    queue.top_k(x, &mut part(after, 5)?, &mut places(after + 64, 5)?)?;
    queue.kth(x, x.len() / 2, &mut part(after + 128, 1)?)
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in if large() { [300, 4200] } else { [300, 1000] } {
        let lists = (0..2).map(|round| {
            let mut list = scrambled(len, round);
            list[..64].sort_unstable();
            list[64..128].sort_unstable();
            list
        });
        check_replays(&queue, queue.zeros([len]).unwrap(), len + 500, enqueue, lists, |list, found| {
            let sorted = host::merge(&list[..64], &list[64..128]);
            assert_eq!(found[..128], sorted);
            assert!(bits(&found[128..128 + len]) == host::searchsorted(&sorted, list, Side::Right));
            let after = 128 + len.next_multiple_of(64);
            assert_eq!(found[after..after + 5], host::top_k(list, 5).unwrap().0);
            assert_eq!(Some(found[after + 128]), host::kth(list, len / 2));
        });
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in if large() { [300, 4200] } else { [300, 1000] } {
        let list: Vec<i32> = (0..len).map(|i| i / 3).collect();
        let len = list.len();
        let all = queue.array(&[vec![-9; 64], list.clone(), vec![9999; 64]].concat()).unwrap();
        let x = inside(&all);
        let out = queue.full([len + 500], 1_000_000_i32).unwrap();
        enqueue(&queue, &x, &out).unwrap();
        let found = queue.read(&out).wait().unwrap();
        let after = 128 + len.next_multiple_of(64);
        let written =
            [0..128, 128..128 + len, after..after + 5, after + 64..after + 69, after + 128..after + 129];
        for (i, word) in found.into_iter().enumerate() {
            let is_result = written.iter().any(|range| range.contains(&i));
            assert_eq!(word == 1_000_000, !is_result, "word {i} of the results of {len} elements");
        }
        assert_eq!(queue.read(&x).wait().unwrap(), list, "the input stays");
    }
}

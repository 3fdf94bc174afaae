//! A01, A13: sorts of segments.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_sort_of_segments_enqueues_nothing", refused),
        case("a01_a_sort_of_segments_with_a_hazard_enqueues_nothing", hazard),
        case("a01_a_sort_of_segments_in_a_graph_equals_that_of_the_host", in_a_graph),
        case("a13_each_segment_has_its_elements_in_order", segments),
        case("a13_a_sort_of_segments_is_stable_and_keeps_the_bits", stable),
        case("a13_a_sort_of_segments_writes_its_results_alone", guards),
        case("a13_the_places_in_segments_are_those_of_the_sorted_elements", places),
        case("a13_the_places_along_each_axis_are_those_of_the_sorted_elements", places_along),
    ]
}

/// Returns offsets for `len` elements: none, one, many, all at the same place, and some past the last element.
fn cuts(rng: &mut fastrand::Rng, len: usize) -> Vec<Vec<u32>> {
    let len = len as u32;
    let mut many: Vec<u32> = (0..300).map(|_| rng.u32(0..=len)).collect();
    many.sort_unstable();
    let mut cuts = vec![vec![], vec![len / 3], many, vec![0, len / 2, len, len + 7]];
    if len < 5000 || large() {
        cuts.push((0..=len).collect());
    }
    cuts
}

fn sorted<T: Reducible>(queue: &CommandQueue, list: &[T], offsets: &[u32], sort: Sort) -> Vec<T> {
    let x = queue.array(list).unwrap();
    let offsets = queue.array(offsets).unwrap();
    let mut out = queue.empty([list.len()]).unwrap();
    queue.sort(x.segments(&offsets), &mut out, sort).unwrap();
    queue.read(&out).wait().unwrap()
}

fn bits<T: Reducible + Debug>(list: &[T]) -> &[u32] {
    bytemuck::cast_slice(list)
}

fn segments(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(131);
    for len in if large() { vec![0, 1, 300, 4096, 4097, 20_000] } else { vec![0, 1, 300, 4200] } {
        let words: Vec<u32> = (0..len).map(|_| rng.u32(..)).collect();
        for (at, offsets) in cuts(&mut rng, len).into_iter().enumerate() {
            let sort = [Sort::ascending(), Sort::descending()][at % 2];
            let found = sorted(&queue, &words, &offsets, sort);
            assert!(Some(found) == host::sort_segments(&words, &offsets, sort), "{len}: {offsets:?}");
            let numbers: &[f32] = bytemuck::cast_slice(&words);
            let found = sorted(&queue, numbers, &offsets, sort.bits(16..32));
            let expected = host::sort_segments(numbers, &offsets, sort.bits(16..32)).unwrap();
            assert!(bits(&found) == bits(&expected), "{len}: {offsets:?}");
        }
    }
}

fn stable(s: &Subject) {
    let queue = s.ctx().queue("q");
    // The compared bits have few distinct values, and the other bits show the order of equal keys.
    let list: Vec<u32> = (0..4200).map(|i| (i << 4) | (i * i % 3)).collect();
    let offsets = [100, 101, 4000];
    let found = sorted(&queue, &list, &offsets, Sort::descending().bits(0..4));
    for segment in [0..100, 100..101, 101..4000, 4000..4200] {
        let mut expected = list[segment.clone()].to_vec();
        expected.sort_by_key(|element| std::cmp::Reverse(element & 15));
        assert_eq!(found[segment], expected);
    }
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let other = s.ctx().queue("other");
    for len in [100, 5000] {
        let x = queue.full([len], 1_u32).unwrap();
        let offsets = queue.array(&[5_u32; 100]).unwrap();
        let mut out = queue.full([len], 7_u32).unwrap();
        let sort = Sort::ascending();
        assert_refused!(queue.sort(x.segments(&offsets), &mut queue.zeros([len + 1]).unwrap(), sort), Shape);
        assert_refused!(queue.sort(x.segments(&offsets), &mut x.clone(), sort), Aliased);
        let own = out.slice(0..64).unwrap();
        let call = queue.sort(x.segments(&own), &mut out, sort);
        assert_refused!(call, Aliased { first, second, .. } if first == "offsets" && second == "out");
        assert_refused!(queue.sort(x.segments(&offsets), &mut out, sort.bits(3..3)), Value);
        assert_eq!(host::sort_segments(&[1_u32], &[], sort.bits(3..3)), None);
        let foreign = other.zeros::<u32, 1>([3]).unwrap();
        assert_refused!(queue.sort(x.segments(&foreign), &mut out, sort), ForeignContext);
        assert_eq!(queue.read(&out).wait().unwrap(), vec![7; len]);
        assert_eq!(queue.read(&x).wait().unwrap(), vec![1; len]);
    }
}

fn hazard(s: &Subject) {
    let verbs: [Verb; 1] = [|q, x, out| q.sort(x.segments(&x.slice(0..3)?), out, Sort::ascending())];
    enqueue_nothing_with_a_hazard(s, 300, &verbs);
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    let len = 4200;
    let mut x = queue.zeros::<i32, 1>([len]).unwrap();
    let mut offsets = queue.zeros::<u32, 1>([50]).unwrap();
    let mut out = queue.zeros([len]).unwrap();
    let sort = Sort::ascending().bits(20..32);
    let (graph, ()) = queue.capture(|c| c.sort(x.segments(&offsets), &mut out, sort)).unwrap();
    for round in 0..2 {
        let list = scrambled(len, round);
        let cuts: Vec<u32> = (0..50).map(|i| i * (80 + round as u32)).collect();
        queue.upload(&list, &mut x).unwrap();
        queue.upload(&cuts, &mut offsets).unwrap();
        queue.replay(&graph).unwrap();
        let found = queue.read(&out).wait().unwrap();
        assert!(Some(found) == host::sort_segments(&list, &cuts, sort), "round {round}");
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [300, 4200] {
        let list: Vec<u32> = (0..len as u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
        let all = queue.array(&around(&list, 1)).unwrap();
        let offsets = queue.array(&[7_u32, 99]).unwrap();
        let sort = Sort::ascending();
        let found = guarded(&queue, len, |out| queue.sort(inside(&all).segments(&offsets), out, sort));
        assert!(Some(found) == host::sort_segments(&list, &[7, 99], sort), "{len}");
        assert!(queue.read(&all).wait().unwrap() == around(&list, 1), "the input stays");
        assert_eq!(queue.read(&offsets).wait().unwrap(), [7, 99]);
    }
}

fn places(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(132);
    for len in [0, 1, 300, 4200] {
        // Many elements are equal, so that the order of equal ones shows.
        let list: Vec<f32> = (0..len).map(|_| rng.i32(-40..40) as f32).collect();
        let x = queue.array(&list).unwrap();
        for (at, offsets) in cuts(&mut rng, len).into_iter().enumerate() {
            let sort = [Sort::ascending(), Sort::descending()][at % 2];
            let on_device = queue.array(&offsets).unwrap();
            let found = guarded(&queue, len, |out| queue.argsort(x.segments(&on_device), out, sort));
            let ends: Vec<usize> = offsets.iter().map(|&offset| len.min(offset as usize)).collect();
            let ends = [&[0][..], &ends, &[len]].concat();
            let of_segment = |ends: &[usize]| host::argsort(&list[ends[0]..ends[1]], sort).unwrap();
            let expected = ends.windows(2).map(of_segment).collect::<Vec<_>>().concat();
            assert!(found == expected, "{len}: {offsets:?}");
        }
    }
}

fn places_along(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(133);
    for shape in [[1, 1, 1], [3, 40, 1], [2, 7, 50], [4, 70, 6], [1, 2100, 2]] {
        let [first, second, third] = shape;
        let list: Vec<i32> = (0..first * second * third).map(|_| rng.i32(-40..40)).collect();
        let x = queue.array(&list).unwrap().reshape(shape).unwrap();
        let sort = Sort::descending();
        let mut out = queue.empty(shape).unwrap();
        for axis in 0..3 {
            queue.argsort(x.axis(axis), &mut out, sort).unwrap();
            let found = queue.read(&out).wait().unwrap();
            let n = shape[axis];
            let inner: usize = shape[axis + 1..].iter().product();
            for column in 0..list.len() / n {
                let at = |i: usize| (column / inner * n + i) * inner + column % inner;
                let elements: Vec<i32> = (0..n).map(|i| list[at(i)]).collect();
                let places: Vec<u32> = (0..n).map(|i| found[at(i)]).collect();
                assert_eq!(places, host::argsort(&elements, sort).unwrap(), "along {axis} of {shape:?}");
            }
        }
    }
    let x = queue.zeros::<u32, 2>([4, 5]).unwrap();
    let mut out = queue.full([4, 5], 7).unwrap();
    let sort = Sort::ascending();
    assert_refused!(queue.argsort(x.axis(2), &mut out, sort), Axis { axis: 2, rank: 2, .. });
    assert_refused!(queue.argsort(x.axis(1), &mut queue.zeros([4, 1]).unwrap(), sort), Shape);
    assert_refused!(queue.argsort(x.axis(0), &mut x.clone(), sort), Aliased);
    assert_refused!(queue.argsort(x.axis(0), &mut out, sort.bits(3..3)), Value);
    assert_eq!(queue.read(&out).wait().unwrap(), [7; 20]);
}

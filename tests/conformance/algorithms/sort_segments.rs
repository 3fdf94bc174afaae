//! A01, A13: sorts of segments.

use crate::common::full::large;
use crate::common::{Case, Subject, case};
use fencepost::ErrorDetail;
use fencepost::algorithms::Reducible;
use fencepost::prelude::*;
use fencepost_oracles as host;
use std::fmt::Debug;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_sort_of_segments_enqueues_nothing", refused),
        case("a01_a_sort_of_segments_with_a_hazard_enqueues_nothing", hazard),
        case("a01_a_sort_of_segments_in_a_graph_equals_that_of_the_host", in_a_graph),
        case("a13_each_segment_has_its_elements_in_order", segments),
        case("a13_a_sort_of_segments_is_stable_and_keeps_the_bits", stable),
        case("a13_a_sort_of_segments_writes_its_results_alone", guards),
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
        let error = queue.sort(x.segments(&offsets), &mut queue.zeros([len + 1]).unwrap(), sort).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "{error}");
        let error = queue.sort(x.segments(&offsets), &mut x.clone(), sort).unwrap_err();
        assert!(
            matches!(error.detail(), ErrorDetail::Aliased { subject, .. } if subject == "verb `sort`"),
            "{error}"
        );
        let error = queue.sort(x.segments(&out.slice(0..64).unwrap()), &mut out, sort).unwrap_err();
        assert!(
            matches!(error.detail(), ErrorDetail::Aliased { first, second, .. } if first == "offsets" && second == "out"),
            "{error}"
        );
        let error = queue.sort(x.segments(&offsets), &mut out, sort.bits(3..3)).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Value { .. }), "{error}");
        assert_eq!(host::sort_segments(&[1_u32], &[], sort.bits(3..3)), None);
        let foreign = other.zeros::<u32, 1>([3]).unwrap();
        let error = queue.sort(x.segments(&foreign), &mut out, sort).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{error}");
        assert_eq!(queue.read(&out).wait().unwrap(), vec![7; len]);
        assert_eq!(queue.read(&x).wait().unwrap(), vec![1; len]);
    }
}

fn hazard(s: &Subject) {
    super::enqueue_nothing_with_a_hazard(
        s,
        300,
        &[|queue, x, out| queue.sort(x.segments(&x.slice(0..3)?), out, Sort::ascending())],
    );
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
        let list: Vec<i32> = (0..len as i32).map(|i| (i ^ round).wrapping_mul(-1_640_531_527)).collect();
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
        let all = queue.array(&[vec![1; 64], list.clone(), vec![1; 64]].concat()).unwrap();
        let x = all.slice(64..64 + len).unwrap();
        let offsets = queue.array(&[7_u32, 99]).unwrap();
        let out = queue.full([len + 128], 5_u32).unwrap();
        let mut inner = out.slice(64..64 + len).unwrap();
        queue.sort(x.segments(&offsets), &mut inner, Sort::ascending()).unwrap();
        let sorted = host::sort_segments(&list, &[7, 99], Sort::ascending()).unwrap();
        let expected = [vec![5; 64], sorted, vec![5; 64]].concat();
        assert!(queue.read(&out).wait().unwrap() == expected, "{len}");
        assert!(queue.read(&x).wait().unwrap() == list, "the input stays");
        assert_eq!(queue.read(&offsets).wait().unwrap(), [7, 99]);
    }
}

//! A01, A03: argument searches, and comparisons of all elements with zero.

use crate::common::full::large;
use crate::common::{Case, Subject, case};
use fencepost::Shape;
use fencepost::algorithms::Reducible;
use fencepost::prelude::*;
use fencepost_oracles as host;
use std::fmt::Debug;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_refused_searches_and_counts_enqueue_nothing", refused),
        case("a01_searches_and_counts_in_a_graph_equal_those_of_a_queue", in_a_graph),
        case("a03_the_place_is_the_first_of_equal_elements", places),
        case("a03_the_place_of_numbers_is_that_of_the_first_nan", nans),
        case("a03_counts_of_elements_that_are_not_zero_are_exact", counts),
        case("a03_a_search_and_a_count_write_one_element", guards),
    ]
}

/// Lists numbers of elements around multiples of workgroup sizes and shares. The full suite has more of them.
fn lengths() -> Vec<usize> {
    if large() { super::lengths() } else { vec![1, 3, 255, 256, 257, 1025, 4097, 16_384, 16_385] }
}

/// Compares the indices of the smallest and the largest element with the host's.
fn find<T: Reducible + Debug>(queue: &CommandQueue, list: &[T]) {
    let x = queue.array(list).unwrap();
    let found = [queue.value_of(|out| queue.argmin(&x, out)), queue.value_of(|out| queue.argmax(&x, out))]
        .map(|place| place.wait().unwrap() as usize);
    let expected = [host::argmin(list), host::argmax(list)].map(Option::unwrap);
    assert_eq!(found, expected, "{} elements", list.len());
}

fn places(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(11);
    for len in lengths() {
        // Few distinct values, so that several elements are equal; then an extreme value at a random place.
        let few: Vec<u32> = (0..len).map(|_| [1, 2, 0x7FFF_FFFF, 0x8000_0000][rng.usize(..4)]).collect();
        find::<u32>(&queue, &few);
        find::<i32>(&queue, bytemuck::cast_slice(&few));
        if large() || len < 1000 {
            find::<u32>(&queue, &vec![u32::MAX; len]);
            find::<i32>(&queue, &vec![i32::MAX; len]);
        }
        let mut bits: Vec<u32> = (0..len).map(|_| [0, 0x8000_0000, 1, 0x8000_0001][rng.usize(..4)]).collect();
        if large() || len < 1000 {
            find::<f32>(&queue, bytemuck::cast_slice(&bits));
        }
        bits[rng.usize(..len)] = 0x7F80_0000;
        bits[rng.usize(..len)] = 0xFF80_0000;
        find::<f32>(&queue, bytemuck::cast_slice(&bits));
    }
}

fn nans(s: &Subject) {
    let queue = s.ctx().queue("q");
    for (len, nans) in [(1, 3), (2, 3), (257, 3), (16_400, 1)] {
        for nan in [0x7FC0_0000, 0xFFFF_FFFF, 0x7F80_0001_u32].into_iter().take(nans) {
            for at in [0, len / 2, len - 1] {
                let mut words: Vec<u32> = (0..len).map(|i| (i as f32 - 5.0).to_bits()).collect();
                words[at] = nan;
                words[len - 1] = nan;
                let x = queue.array(&words).unwrap().cast_bits::<f32>();
                let places = [
                    queue.value_of(|out| queue.argmin(&x, out)),
                    queue.value_of(|out| queue.argmax(&x, out)),
                ]
                .map(|place| place.wait().unwrap());
                assert_eq!(places, [at as u32; 2], "{nan:#x} of {len} at {at}");
            }
        }
    }
}

fn counts(s: &Subject) {
    fn of<T: Reducible>(queue: &CommandQueue, list: &[T]) {
        let x = queue.array(list).unwrap();
        let found = [
            queue.value_of(|out| queue.count_nonzero(&x, out)),
            queue.value_of(|out| queue.any(&x, out)),
            queue.value_of(|out| queue.all(&x, out)),
        ];
        let expected =
            [host::count_nonzero(list) as u32, u32::from(host::any(list)), u32::from(host::all(list))];
        assert_eq!(found.map(|number| number.wait().unwrap()), expected, "{} elements", list.len());
    }
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(12);
    for len in lengths() {
        let at = [rng.usize(..len), if rng.bool() { 0 } else { len - 1 }];
        let filled = |most: u32, one: u32| {
            let mut list = vec![most; len];
            at.iter().for_each(|&at| list[at] = one);
            list
        };
        of::<u32>(&queue, &filled(0, 1));
        of::<i32>(&queue, bytemuck::cast_slice(&filled(0x8000_0000, 0)));
        of::<f32>(&queue, bytemuck::cast_slice(&filled(0x8000_0000, 0x7FC0_0000)));
        if large() || len < 1000 {
            of::<i32>(&queue, bytemuck::cast_slice(&filled(1, 0)));
            of::<f32>(&queue, bytemuck::cast_slice(&filled(0x8000_0000, 0)));
            of::<f32>(&queue, bytemuck::cast_slice(&filled(0x8000_0000, 1)));
        }
        of::<u32>(&queue, &(0..len).map(|_| rng.u32(..2) << rng.u32(..32)).collect::<Vec<_>>());
    }
    let none = queue.empty::<f32, 2>([0, 3]).unwrap();
    let found = [
        queue.value_of(|out| queue.count_nonzero(&none, out)),
        queue.value_of(|out| queue.any(&none, out)),
        queue.value_of(|out| queue.all(&none, out)),
    ];
    assert_eq!(found.map(|number| number.wait().unwrap()), [0, 0, 1]);
    let cube = queue.array(&[1.0_f32; 60]).unwrap().reshape([3, 4, 5]).unwrap();
    assert_eq!(queue.value_of(|out| queue.count_nonzero(&cube, out)).wait().unwrap(), 60);
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.array(&[1.0_f32; 100]).unwrap();
    let mut out = queue.full([1], 5_u32).unwrap();
    let shape =
        |error: fencepost::Error| assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "{error}");
    shape(queue.argmin(&x, &mut queue.zeros([2]).unwrap()).unwrap_err());
    shape(queue.count_nonzero(&x, &mut queue.zeros([0]).unwrap()).unwrap_err());
    let none = queue.empty::<f32, 1>([0]).unwrap();
    shape(queue.argmin(&none, &mut out).unwrap_err());
    shape(queue.argmax(&none, &mut out).unwrap_err());
    let padded = queue.zeros::<f32, 1>(Shape::padded([5], [8])).unwrap();
    for error in [queue.argmax(&padded, &mut out), queue.any(&padded, &mut out)].map(Result::unwrap_err) {
        assert!(matches!(error.detail(), ErrorDetail::Padding { .. }), "{error}");
    }
    let other = s.ctx().queue("other");
    for len in [100, 20_000] {
        // Only the second of two launches would be refused.
        let x = queue.zeros::<u32, 1>([len]).unwrap();
        let own = || x.slice(0..1).unwrap();
        for error in [queue.argmin(&x, &mut own()), queue.all(&x, &mut own())].map(Result::unwrap_err) {
            assert!(matches!(error.detail(), ErrorDetail::Aliased { .. }), "{error}");
        }
        let mut foreign = other.zeros([1]).unwrap();
        for error in [queue.argmax(&x, &mut foreign), queue.any(&x, &mut foreign)].map(Result::unwrap_err) {
            assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{error}");
        }
        assert_eq!(queue.read(&x).wait().unwrap(), vec![0; len]);
    }
    assert_eq!(queue.read(&out).wait().unwrap(), [5]);
}

fn enqueue(queue: &CommandQueue, x: &DeviceArray<i32>, out: &DeviceArray<u32>) -> fencepost::Result<()> {
    let part = |at: usize| out.slice(64 * at..64 * at + 1);
    queue.argmin(x, &mut part(0)?)?;
    queue.argmax(x, &mut part(1)?)?;
    queue.count_nonzero(x, &mut part(2)?)?;
    queue.any(x, &mut part(3)?)?;
    queue.all(x, &mut part(4)?)
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [100, 20_000] {
        let mut x = queue.zeros::<i32, 1>([len]).unwrap();
        let [out, eager] = [(); 2].map(|()| queue.zeros::<u32, 1>([320]).unwrap());
        let (graph, ()) = queue.capture(|c| enqueue(c, &x, &out)).unwrap();
        for round in 0..3_i32 {
            let list: Vec<i32> = (0..len as i32).map(|i| (i ^ round).wrapping_mul(round * 97 - 97)).collect();
            queue.upload(&list, &mut x).unwrap();
            queue.replay(&graph).unwrap();
            enqueue(&queue, &x, &eager).unwrap();
            let found = queue.read(&out).wait().unwrap();
            assert_eq!(found, queue.read(&eager).wait().unwrap(), "{len} elements, round {round}");
            assert_eq!(Some(found[0] as usize), host::argmin(&list));
            assert_eq!(found[128] as usize, host::count_nonzero(&list));
        }
    }
    let x = queue.zeros::<f32, 1>([4]).unwrap();
    let error =
        queue.capture(|c| c.value_of(|out| c.argmin(&x, out)).wait().map(drop)).map(drop).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Captured { .. }), "{error}");
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [1, 300, 4097, 16_385] {
        let list: Vec<i32> = (0..len).map(|i| (i - 7) % 50).collect();
        let all = queue.array(&[vec![-999; 64], list.clone(), vec![999; 64]].concat()).unwrap();
        let x = all.slice(64..64 + list.len()).unwrap();
        let out = queue.full([320], 5_u32).unwrap();
        enqueue(&queue, &x, &out).unwrap();
        let mut expected = [5; 320];
        let place = |place: Option<usize>| place.unwrap() as u32;
        (expected[0], expected[64]) = (place(host::argmin(&list)), place(host::argmax(&list)));
        expected[128] = host::count_nonzero(&list) as u32;
        (expected[192], expected[256]) = (u32::from(host::any(&list)), u32::from(host::all(&list)));
        assert_eq!(queue.read(&out).wait().unwrap(), expected);
        assert_eq!(queue.read(&x).wait().unwrap(), list, "the input stays");
    }
}

//! A01, A03, A05: the places of the smallest and the largest elements along one axis.

use super::axis::shapes;
use super::check_of_failed;
use crate::common::full::large;
use crate::common::{Case, Subject, case};
use fencepost::Shape;
use fencepost::algorithms::Reducible;
use fencepost::algorithms::prelude::*;
use fencepost::prelude::*;
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_search_along_an_axis_enqueues_nothing", refused),
        case("a01_searches_along_an_axis_in_a_graph_equal_those_of_a_queue", in_a_graph),
        case("a05_the_places_along_each_axis_are_those_of_the_first_of_equal_elements", places),
        case("a05_the_place_of_numbers_along_an_axis_is_that_of_the_first_nan", nans),
        case("a05_an_axis_without_elements_has_no_places", none),
        case("a05_a_search_along_an_axis_writes_its_results_alone", guards),
    ]
}

/// Returns the shape of the results along an axis.
fn reduced<const D: usize>(mut shape: [usize; D], axis: usize) -> [usize; D] {
    shape[axis] = 1;
    shape
}

/// Returns the places of the smallest and of the largest elements.
fn found<T: Reducible, const D: usize>(
    queue: &CommandQueue,
    x: &DeviceArray<T, D>,
    axis: usize,
) -> [Vec<u32>; 2] {
    let [mut least, mut most] = [(); 2].map(|()| queue.full(reduced(x.shape(), axis), 9_u32).unwrap());
    queue.argmin(x.axis(axis), &mut least).unwrap();
    queue.argmax(x.axis(axis), &mut most).unwrap();
    [least, most].map(|out| queue.read(&out).wait().unwrap())
}

fn of_host<T: Reducible, const D: usize>(list: &[T], shape: [usize; D], axis: usize) -> [Vec<u32>; 2] {
    [host::argmin_axis(list, shape, axis), host::argmax_axis(list, shape, axis)].map(Option::unwrap)
}

fn check<T: Reducible>(queue: &CommandQueue, list: &[T], shape: [usize; 3]) {
    let x = queue.array(list).unwrap().reshape(shape).unwrap();
    for axis in 0..3 {
        assert_eq!(found(queue, &x, axis), of_host(list, shape, axis), "along {axis} of {shape:?}");
    }
}

fn places(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(71);
    for (at, shape) in shapes().into_iter().enumerate() {
        let len = shape.iter().product();
        // Few distinct values, so that several elements are equal; then extreme values at random places.
        let mut few: Vec<u32> = (0..len).map(|_| [1, 2, 0x7FFF_FFFF, 0x8000_0000][rng.usize(..4)]).collect();
        match at % 2 {
            0 => check::<u32>(&queue, &few, shape),
            _ => check::<i32>(&queue, bytemuck::cast_slice(&few), shape),
        }
        few[rng.usize(..len)] = 0;
        few[rng.usize(..len)] = u32::MAX;
        if large() || len < 2000 {
            check::<u32>(&queue, &few, shape);
            check::<i32>(&queue, &vec![i32::MIN; len], shape);
            check::<u32>(&queue, &vec![u32::MAX; len], shape);
        }
        // Zeros of both signs are equal, so the first one in a row or column is the result.
        let mut bits: Vec<u32> = (0..len).map(|_| [0, 0x8000_0000, 1, 0x8000_0001][rng.usize(..4)]).collect();
        bits[rng.usize(..len)] = 0x7F80_0000;
        bits[rng.usize(..len)] = 0xFF80_0000;
        check::<f32>(&queue, bytemuck::cast_slice(&bits), shape);
    }
    let list: Vec<u32> = (0..120).map(|i| i * 37 % 41).collect();
    let x = queue.array(&list).unwrap().reshape([2, 3, 4, 5]).unwrap();
    assert_eq!(found(&queue, &x, 2), of_host(&list, [2, 3, 4, 5], 2));
}

fn nans(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(72);
    let nans = [0x7FC0_0000, 0xFFFF_FFFF, 0x7F80_0001_u32];
    for shape in [[3, 70, 1], [4, 3, 5], [1, 1030, 2], [1, 1, 16_390], [2, 1, 130]] {
        for one_in in [2, 40, 2000] {
            let mut word = || {
                if rng.u32(..one_in) == 0 { nans[rng.usize(..3)] } else { rng.u32(1 << 28..3 << 28) }
            };
            let words: Vec<u32> = (0..shape.iter().product()).map(|_| word()).collect();
            check::<f32>(&queue, bytemuck::cast_slice(&words), shape);
            // The bits of a NaN are an ordinary integer.
            check::<i32>(&queue, bytemuck::cast_slice(&words), shape);
        }
    }
}

fn none(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.empty::<f32, 2>([3, 0]).unwrap();
    assert_eq!(found(&queue, &x, 0), [(); 2].map(|()| Vec::<u32>::new()));
    let error = queue.argmax(x.axis(1), &mut queue.zeros([3, 1]).unwrap()).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "{error}");
    let said = "has shape [3, 0], [3, 1] is needed: pass at least one element, because no elements have";
    assert!(error.to_string().contains(said), "{error}");
    assert_eq!(host::argmin_axis::<f32, 2>(&[], [3, 0], 1), None);
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.full([4, 5], 1_u32).unwrap();
    let mut out = queue.full([4, 1], 7_u32).unwrap();
    let error = queue.argmin(x.axis(2), &mut out).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Axis { axis: 2, rank: 2, .. }), "{error}");
    let error = queue.argmin(x.axis(0), &mut out).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "{error}");
    let padded = queue.zeros::<u32, 2>(Shape::padded([4, 5], [4, 8])).unwrap();
    let error = queue.argmax(padded.axis(1), &mut out).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Padding { .. }), "{error}");
    let other = s.ctx().queue("other");
    for shape in [[4, 5], [2, 20_000], [3000, 2]] {
        // Only the second of two launches would be refused.
        let x = queue.full(shape, 1_u32).unwrap();
        for axis in 0..2 {
            let reduced = reduced(shape, axis);
            let first = x.reshape([x.len()]).unwrap().slice(0..reduced.iter().product()).unwrap();
            let mut part = first.reshape(reduced).unwrap();
            let error = queue.argmin(x.axis(axis), &mut part).unwrap_err();
            assert!(matches!(error.detail(), ErrorDetail::Aliased { .. }), "{error}");
            let error = queue.argmax(x.axis(axis), &mut other.zeros(reduced).unwrap()).unwrap_err();
            assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{error}");
        }
        assert_eq!(queue.read(&x).wait().unwrap(), vec![1; x.len()]);
    }
    let none = queue.zeros::<u32, 2>([0, 3]).unwrap();
    let mut foreign = other.zeros([0, 1]).unwrap();
    let error = queue.argmin(none.axis(1), &mut foreign).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{error}");
    check_of_failed(s, |ctx, queue| {
        let none = ctx.zeros::<f32, 2>([0, 3])?;
        let mut out = ctx.zeros([0, 1])?;
        queue.argmax(none.axis(1), &mut out)
    });
    assert_eq!(queue.read(&out).wait().unwrap(), [7; 4]);
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for shape in [[7, 100], [3, 16_400], [1100, 3]] {
        let len: usize = shape.iter().product();
        let mut x = queue.zeros::<i32, 1>([len]).unwrap();
        let view = x.reshape(shape).unwrap();
        let mut rows = queue.zeros([shape[0], 1]).unwrap();
        let mut columns = queue.zeros([1, shape[1]]).unwrap();
        let (graph, ()) = queue
            .capture(|c| {
                c.argmin(view.axis(1), &mut rows)?;
                c.argmax(view.axis(0), &mut columns)
            })
            .unwrap();
        for round in 0..2 {
            let list: Vec<i32> = (0..len as i32).map(|i| (i ^ round).wrapping_mul(-1_640_531_527)).collect();
            queue.upload(&list, &mut x).unwrap();
            queue.replay(&graph).unwrap();
            let found = (queue.read(&rows).wait().unwrap(), queue.read(&columns).wait().unwrap());
            assert_eq!(Some(found.0), host::argmin_axis(&list, shape, 1), "{shape:?}, round {round}");
            assert_eq!(Some(found.1), host::argmax_axis(&list, shape, 0), "{shape:?}, round {round}");
        }
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    for shape in [[3, 300], [300, 3], [2, 16_385]] {
        let len: usize = shape.iter().product();
        let list: Vec<i32> = (0..len as i32).map(|i| i * 7 % 1000 - 40).collect();
        let all = queue.array(&[vec![5000; 64], list.clone(), vec![5000; 64]].concat()).unwrap();
        let x = all.slice(64..64 + len).unwrap().reshape(shape).unwrap();
        for axis in 0..2 {
            let shape_of_results = reduced(shape, axis);
            let results: usize = shape_of_results.iter().product();
            let out = queue.full([128 + results], 5_u32).unwrap();
            let mut part = out.slice(64..64 + results).unwrap().reshape(shape_of_results).unwrap();
            queue.argmax(x.axis(axis), &mut part).unwrap();
            let expected = host::argmax_axis(&list, shape, axis).unwrap();
            let expected = [vec![5; 64], expected, vec![5; 64]].concat();
            assert_eq!(queue.read(&out).wait().unwrap(), expected, "{shape:?} along {axis}");
        }
        assert_eq!(queue.read(&x).wait().unwrap(), list, "the input stays");
    }
}

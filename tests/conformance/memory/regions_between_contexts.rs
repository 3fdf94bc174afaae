//! M09: copies of padded arrays and of regions from one context to another.

use super::numpy;
use crate::common::partners::{each_pair, each_pair_with};
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use fencepost::{Element, ErrorDetail, Shape, region};
use std::fmt::Debug;

pub fn cases() -> Vec<Case> {
    vec![
        case("m09_padded_arrays_are_copied_in_pieces_by_their_elements", padded),
        case("m09_regions_in_pieces_are_copied_and_nothing_else_is_touched", large_regions),
        case("m09_random_regions_of_words_halves_and_bytes_match_plain_loops", |s| {
            random(s, 0, |i| i);
            random(s, 100, |i| half::f16::from_bits(i as u16));
            random(s, 200, |i| i as u8);
        }),
        case("m09_temporary_memory_of_a_copy_is_used_again_only_after_the_copy", memory_between),
        case("m09_a_copy_of_a_region_is_checked_and_ordered_as_any_copy", ordered),
        case("m09_a_wrong_region_is_refused_before_anything_is_enqueued", refused),
    ]
}

/// Shape that needs several pieces; none of them is a whole number of rows of the padded memory.
const SHAPE: [usize; 2] = [331, 701];
const LEN: usize = SHAPE[0] * SHAPE[1];

fn counted(n: usize) -> Vec<u32> {
    (1..=n as u32).collect()
}

/// Returns memory of the shape `padded` with the elements in it, and `value` in the padding.
fn laid_out(elements: &[u32], padded: [usize; 2], value: u32) -> Vec<u32> {
    let mut memory = vec![value; padded[0] * padded[1]];
    for (row, elements) in elements.chunks(SHAPE[1]).enumerate() {
        memory[row * padded[1]..][..SHAPE[1]].copy_from_slice(elements);
    }
    memory
}

fn padded(s: &Subject) {
    each_pair(s, |names, source, target| {
        let theirs = source.queue("source");
        let ours = target.queue("target");
        for (from, to) in [(SHAPE, [340, 704]), ([331, 703], SHAPE), ([340, 704], [331, 709])] {
            for queue in [&theirs, &ours] {
                let what = format!("{names}, {from:?} to {to:?} by {queue:?}");
                let mut x = source.empty(Shape::padded(SHAPE, from)).unwrap();
                let mut y = target.empty(Shape::padded(SHAPE, to)).unwrap();
                theirs.fill(&mut x, 8).unwrap();
                theirs.upload(&counted(LEN), &mut x).unwrap();
                ours.fill(&mut y, 9).unwrap();
                ours.finish().wait().unwrap();
                let before = [source, target].map(|ctx| ctx.pool().stats().used);
                [source, target].into_iter().for_each(|ctx| ctx.pool().reset_high_water());
                queue.copy(&x, &mut y).unwrap();
                queue.finish().wait().unwrap();
                for (ctx, before) in [source, target].into_iter().zip(before) {
                    let more = ctx.pool().stats().high_water - before;
                    assert!(
                        more < 4 * LEN as u64 * 3 / 4,
                        "{what}: the copy takes {more} bytes, more than two pieces"
                    );
                }
                assert!(*y.map_read().wait().unwrap() == laid_out(&counted(LEN), to, 9), "{what}");
            }
        }
    });
}

fn large_regions(s: &Subject) {
    each_pair(s, |names, source, target| {
        let queue = target.queue("target");
        let x = source.array(&counted(LEN)).unwrap().reshape(SHAPE).unwrap();
        let mut y = target.full([SHAPE[1] * 400], 7_u32).unwrap().reshape([SHAPE[1], 400]).unwrap();
        // Copies every other column to adjacent columns.
        queue.copy_region(&x, region![.., 1..; 2], &mut y, region![200..531, 0..350]).unwrap();
        // Copies a row to a column.
        queue.copy_region(&x, region![3], &mut y, region![.., 399]).unwrap();
        let found = queue.read(&y).wait().unwrap();
        let x = counted(LEN);
        let expected = |row: usize, column: usize| match (row, column) {
            (_, 399) => x[3 * SHAPE[1] + row],
            (200..531, ..350) => x[(row - 200) * SHAPE[1] + 2 * column + 1],
            _ => 7,
        };
        let wrong = (0..found.len()).find(|at| found[*at] != expected(at / 400, at % 400));
        assert_eq!(wrong.map(|at| (at / 400, at % 400)), None, "{names}");
    });
}

/// Copies random regions between arrays of three axes.
fn random<T: Element + PartialEq + Debug>(s: &Subject, seed: u64, element: fn(u32) -> T) {
    each_pair(s, |names, source, target| {
        let mut rng = fastrand::Rng::with_seed(seed);
        let queues = [source.queue("source"), target.queue("target")];
        for round in 0..12 {
            let from = numpy::any(&mut rng, 3);
            let Some(to) = numpy::of_shape(&mut rng, &from.picked_shape(), 3) else { continue };
            let what = format!("{names}, round {round}: {from:?} to {to:?}");
            let all: Vec<T> = (1..).map(element).take(from.shape.iter().product()).collect();
            let mut expected = vec![element(50_000); to.shape.iter().product()];
            let shape = |shape: &[usize]| <[usize; 3]>::try_from(shape).expect("three axes");
            let x = source.array(&all).unwrap().reshape(shape(&from.shape)).unwrap();
            let mut y = target.array(&expected).unwrap().reshape(shape(&to.shape)).unwrap();
            to.elements().into_iter().zip(from.elements()).for_each(|(to, from)| expected[to] = all[from]);
            let queue = &queues[round % 2];
            queue.copy_region(&x, from.region(), &mut y, to.region()).unwrap();
            queue.finish().wait().unwrap();
            assert_eq!(queues[1].read(&y).wait().unwrap(), expected, "{what}");
        }
    });
}

/// Makes arrays on queues that do not come after the held copies, so the pool must not give them the temporary memory
/// of the copies.
fn memory_between(s: &Subject) {
    each_pair(s, |names, source, target| {
        let gates = [source.user_event("source"), target.user_event("target")];
        let theirs = source.queue("source");
        let ours = target.queue("target");
        let others = [source.queue("other"), target.queue("other")];
        let x = source.array(&counted(1200)).unwrap().reshape([30, 40]).unwrap();
        let mut y = target.zeros([30, 40]).unwrap();
        for queue in [&theirs, &ours] {
            theirs.wait_for(&gates[0].event()).unwrap();
            ours.wait_for(&gates[1].event()).unwrap();
            queue.copy_region(&x, region![.., 1..39], &mut y, region![.., 2..]).unwrap();
        }
        // Each array is as large as the copied region.
        let arrays = others.each_ref().map(|queue| queue.full([30 * 38], 5_u32).unwrap());
        others.iter().for_each(|queue| queue.finish().wait().unwrap());
        gates.iter().for_each(fencepost::UserEvent::signal);
        let found = ours.read(&y).wait().unwrap();
        let expected = |at: usize| if at % 40 < 2 { 0 } else { at as u32 };
        assert!((0..1200).all(|at| found[at] == expected(at)), "{names}");
        for (queue, array) in others.iter().zip(&arrays) {
            assert!(queue.read(array).wait().unwrap() == [5; 30 * 38], "{names}");
        }
    });
}

fn ordered(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked] {
        each_pair_with(s, [policy; 2], |names, source, target| {
            let writer = source.queue("writer");
            let later = source.queue("later");
            let copy = target.queue("copy");
            let reader = target.queue("reader");
            let mut x = source.zeros(SHAPE).unwrap();
            let mut y = target.zeros(SHAPE).unwrap();
            writer.fill(&mut x, 4_u32).unwrap();
            copy.copy_region(&x, region![.., 1..], &mut y, region![.., ..-1]).unwrap();
            if policy == Policy::Checked {
                let error = reader.read_region(&y, region![0]).wait().unwrap_err();
                assert!(error.to_string().contains("add `reader.wait_for(&copy)?`"), "{names}: {error}");
                reader.wait_for(&copy).unwrap();
                later.wait_for(&writer).unwrap();
            }
            later.fill(&mut x, 5).unwrap();
            let found = reader.read_region(&y, region![.., ..-1]).wait().unwrap();
            assert!(found == [4; SHAPE[0] * (SHAPE[1] - 1)], "{names}, {policy:?}");
            assert!(later.read(&x).wait().unwrap() == [5; LEN], "{names}, {policy:?}");
        });
    }
}

fn refused(s: &Subject) {
    each_pair(s, |names, source, target| {
        let queue = target.queue("q");
        let x = source.full([4, 5], 1_u32).unwrap();
        let mut y = target.zeros([4, 5]).unwrap();
        queue.finish().wait().unwrap();
        let error = queue.copy_region(&x, region![0..2], &mut y, region![]).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "{names}: {error}");
        let error = queue.copy_region(&x, region![.., 5], &mut y, region![.., 0]).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::RegionIndex { .. }), "{names}: {error}");
        for ours in [false, true] {
            let guard = if ours { y.map_read() } else { x.map_read() }.wait().unwrap();
            let error = queue.copy_region(&x, region![.., 1], &mut y, region![.., 0]).unwrap_err();
            assert!(matches!(error.detail(), ErrorDetail::Mapped { .. }), "{names}: {error}");
            drop(guard);
        }
        assert!(queue.take_error().is_none(), "{names}");
        queue.copy_region(&x, region![.., 1], &mut y, region![.., 0]).unwrap();
        assert_eq!(queue.read_region(&y, region![1]).wait().unwrap(), [1, 0, 0, 0, 0], "{names}");
    });
}

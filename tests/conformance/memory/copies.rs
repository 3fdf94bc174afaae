//! M04: copies on the device, whole, in part, and within one array.

use crate::common::dump::account;
use crate::common::{Case, Subject, case};
use fencepost::{Error, ErrorDetail};
use std::ops::Range;

pub fn cases() -> Vec<Case> {
    vec![
        case("m04_a_copy_copies_every_element", whole),
        case("m04_parts_are_copied_between_arrays", parts),
        case("m04_a_copy_within_one_array_may_overlap", overlapping),
        case("m04_copies_are_in_the_order_of_their_queue", in_order),
        case("m04_a_wrong_copy_is_refused_before_anything_is_enqueued", refused),
    ]
}

fn counted(n: u32) -> Vec<u32> {
    (0..n).collect()
}

fn whole(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    for n in [1, 5, 1000, 70_000] {
        let x = ctx.array(&counted(n)).unwrap();
        let mut y = ctx.zeros([n as usize]).unwrap();
        queue.copy(&x, &mut y).unwrap();
        assert_eq!(queue.read(&y).wait().unwrap(), counted(n));
    }
    let square = ctx.array(&counted(100)).unwrap().reshape([10, 10]).unwrap();
    let mut other = ctx.zeros(&square).unwrap();
    queue.copy(&square, &mut other).unwrap();
    assert_eq!(queue.read(&other).wait().unwrap(), counted(100));
}

fn parts(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let x = ctx.array(&counted(100)).unwrap();
    for (from, to) in [(0..1, 99), (10..20, 0), (1..100, 1), (50..50, 7), (3..6, 50)] {
        let y = ctx.full([100], 1000).unwrap();
        let target = to..to + from.len();
        queue.copy(&x.slice(from.clone()).unwrap(), &mut y.slice(target.clone()).unwrap()).unwrap();
        let mut expected = vec![1000; 100];
        expected[target].copy_from_slice(&counted(100)[from]);
        assert_eq!(queue.read(&y).wait().unwrap(), expected);
    }
}

fn overlapping(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let ranges: [(Range<usize>, usize); 6] =
        [(0..50, 10), (10..60, 0), (0..50, 50), (0..100, 0), (30..31, 30), (0..99, 1)];
    for (from, to) in ranges {
        let x = ctx.array(&counted(100)).unwrap();
        let source = x.slice(from.clone()).unwrap();
        let mut target = x.slice(to..to + from.len()).unwrap();
        queue.copy(&source, &mut target).unwrap();
        let mut expected = counted(100);
        expected.copy_within(from.clone(), to);
        assert_eq!(queue.read(&x).wait().unwrap(), expected, "{from:?} to {to}");
    }
}

fn in_order(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let other = ctx.queue("other");
    let mut x = ctx.array(&counted(64)).unwrap();
    let mut y = ctx.zeros([64]).unwrap();
    for round in 0..10 {
        queue.copy(&x, &mut y).unwrap();
        other.fill(&mut x, round).unwrap();
        queue.copy(&y.slice(0..32).unwrap(), &mut x.slice(32..64).unwrap()).unwrap();
    }
    let expected: Vec<u32> = (0..64).map(|i| if i < 32 { 9 } else { 8 }).collect();
    assert_eq!(queue.read(&x).wait().unwrap(), expected);
}

/// Check for an expected kind of error.
type IsRight = fn(&ErrorDetail) -> bool;

fn refused(s: &Subject) {
    let ctx = s.ctx();
    let foreign = s.ctx();
    let queue = ctx.queue("q");
    let x = ctx.array(&counted(10)).unwrap();
    let mut y = ctx.zeros([10]).unwrap();
    let strange = foreign.zeros::<u32, 1>([10]).unwrap();
    queue.finish().wait().unwrap();
    let before = account(&ctx);
    let errors: [(Error, IsRight); 4] = [
        (queue.copy(&x.slice(0..9).unwrap(), &mut y).unwrap_err(), |k| {
            matches!(k, ErrorDetail::Shape { .. })
        }),
        (queue.fill(&mut strange.clone(), 1).unwrap_err(), |k| {
            matches!(k, ErrorDetail::ForeignContext { .. })
        }),
        (x.slice(5..11).unwrap_err(), |k| matches!(k, ErrorDetail::Range { len: 10, .. })),
        (queue.copy(&x.reshape([2, 5]).unwrap(), &mut y.reshape([5, 2]).unwrap()).unwrap_err(), |k| {
            matches!(k, ErrorDetail::Shape { .. })
        }),
    ];
    for (error, is) in errors {
        assert!(is(error.detail()), "{error}");
    }
    assert_eq!(before.len(), 2, "the dump lists the context's own queue and `q`");
    assert_eq!(account(&ctx), before, "nothing was enqueued");
    assert_eq!(queue.read(&y).wait().unwrap(), [0; 10]);
}

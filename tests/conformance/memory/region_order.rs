//! M04: the order of commands on regions, and the errors of wrong regions.

use crate::common::dump::account;
use crate::common::thread;
use crate::common::{Calls, Case, ONE_THREAD, Subject, assert_error, case};
use fencepost::{
    CommandQueue, DeviceArray, Download, Error, ErrorDetail, HostArray, Pending, Policy, Upload, region,
};
use std::sync::Barrier;

pub fn cases() -> Vec<Case> {
    vec![
        case("m04_a_wrong_region_is_refused_before_anything_is_enqueued", refused),
        case("m04_a_refused_region_leaves_its_pinned_array_free", nothing_after),
        case("m04_checked_reports_regions_whose_spans_overlap", checked),
        case("m04_ordered_orders_the_regions_of_two_queues", ordered),
        case("m04_no_command_comes_between_the_halves_of_a_copy_within_an_array", whole)
            .not_in_a_page(ONE_THREAD),
        case("m04_a_wait_for_the_reads_of_a_copy_within_an_array_covers_its_writes", one_command),
        case("m04_a_region_of_a_mapped_array_is_an_error", mapped),
    ]
}

/// Check for the expected kind of error.
type IsRight = fn(&ErrorDetail) -> bool;

const AXES: IsRight = |kind| matches!(kind, ErrorDetail::RegionAxes { named: 3, rank: 2, .. });
const INDEX: IsRight = |kind| matches!(kind, ErrorDetail::RegionIndex { axis: 1, len: 5, .. });
const ROW: IsRight = |kind| matches!(kind, ErrorDetail::RegionIndex { axis: 0, len: 4, .. });
const LEAVES: IsRight =
    |kind| matches!(kind, ErrorDetail::RegionRange { axis: 0, len: 4, problem: "leaves it", .. });
const PICKS_NOTHING: IsRight =
    |kind| matches!(kind, ErrorDetail::RegionRange { problem: "picks nothing of it", .. });
const STEP: IsRight = |kind| matches!(kind, ErrorDetail::RegionRange { problem: "has a step below 1", .. });
const SHAPE: IsRight = |kind| matches!(kind, ErrorDetail::Shape { .. });
const FOREIGN: IsRight = |kind| matches!(kind, ErrorDetail::ForeignContext { .. });

/// Checks that a copy within an array is one command to its callers, although it goes through temporary memory.
fn one_command(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let copying = ctx.queue("copying");
    let other = ctx.queue("other");
    let x = ctx.full([256], 1_u32).unwrap();
    copying.copy_region(&x, region![0..253; 4], &mut x.clone(), region![0..127; 2]).unwrap();
    drop(x.slice(246..253).unwrap().map_write().wait().unwrap());
    other.fill(&mut x.slice(0..6).unwrap(), 2).unwrap();
    let found = other.read(&x).wait().unwrap();
    assert!(found[..6] == [2; 6] && found[6..] == [1; 250]);
}

fn refused(s: &Subject) {
    let ctx = s.ctx();
    let foreign = s.ctx();
    let queue = ctx.queue("q");
    let x = ctx.full([4, 5], 1_u32).unwrap();
    let mut y = ctx.zeros::<u32, 2>([4, 5]).unwrap();
    let strange = foreign.zeros::<u32, 2>([4, 5]).unwrap();
    let (up, mut down): (HostArray<u32, Upload>, HostArray<u32, Download>) =
        (ctx.pinned([4]).unwrap(), ctx.pinned([4]).unwrap());
    queue.finish().wait().unwrap();
    let before = account(&ctx);
    #[allow(clippy::reversed_empty_ranges, reason = "the mistakes")]
    let wrong = [
        (region![0, 0, 0], AXES),
        (region![.., .., ..], AXES),
        (region![0, 5], INDEX),
        (region![0, -6], INDEX),
        (region![0, isize::MIN], INDEX),
        (region![4], ROW),
        (region![-5, 0], ROW),
        (region![0..5], LEAVES), // katsdpsigproc takes the range as 0..4
        (region![-5..], LEAVES),
        (region![4..6], LEAVES),
        (region![usize::MAX..], LEAVES),
        (region![2..2], PICKS_NOTHING), // Warp takes a count of 0 as all elements
        (region![3..1], PICKS_NOTHING),
        (region![.., -1..-2], PICKS_NOTHING),
        (region![..; 0], STEP),
        (region![3..0; -1], STEP),
        (region![1..3; -1], STEP),
    ];
    let mut errors: Vec<(Error, IsRight)> = Vec::new();
    for (region, is) in &wrong {
        errors.push((queue.copy_region(&x, region, &mut y, region![]).unwrap_err(), *is));
        errors.push((queue.copy_region(&x, region![], &mut y, region).unwrap_err(), *is));
        errors.push((queue.upload_region(&[1], &mut y, region).unwrap_err(), *is));
        errors.push((queue.read_region(&x, region).wait().unwrap_err(), *is));
        errors.push((queue.download_region(&x, region, &mut down).unwrap_err(), *is));
    }
    errors.extend([
        (queue.copy_region(&x, region![0..2], &mut y, region![]).unwrap_err(), SHAPE),
        (queue.copy_region(&x, region![0], &mut y, region![0..1]).unwrap_err(), SHAPE),
        (queue.copy_region(&x, region![0..1, 0..4], &mut y, region![.., 0..1]).unwrap_err(), SHAPE),
        (queue.upload_region(&[1; 4], &mut y, region![0]).unwrap_err(), SHAPE),
        (queue.upload_region(&up, &mut y, region![0]).unwrap_err(), SHAPE),
        (queue.download_region(&x, region![0], &mut down).unwrap_err(), SHAPE),
        (queue.upload_region(&[1], &mut strange.clone(), region![0, 0]).unwrap_err(), FOREIGN),
        (queue.read_region(&strange, region![0]).wait().unwrap_err(), FOREIGN),
        (queue.download_region(&strange, region![.., 0], &mut down).unwrap_err(), FOREIGN),
    ]);
    for (error, is) in errors {
        assert!(is(error.detail()), "{error}");
    }
    assert_eq!(account(&ctx), before, "nothing was enqueued");
    assert_eq!(queue.read(&y).wait().unwrap(), [0; 20]);
}

/// Checks that a refused transfer through temporary memory has not begun: the pinned array stays free.
fn nothing_after(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let one = ctx.queue("one");
    let two = ctx.queue("two");
    let mut x = ctx.zeros::<u32, 2>([20, 20]).unwrap();
    let n = [1_u32; 20];
    let mut up: HostArray<u32, Upload> = ctx.pinned([20]).unwrap();
    let gate = two.hold();
    one.fill(&mut x, 1).unwrap();
    let hazards = [
        two.copy_region(&x, region![.., 0..19], &mut x.clone(), region![.., 1..20]).unwrap_err(),
        two.upload_region(&n, &mut x, region![.., 1]).unwrap_err(),
        two.upload_region(&up, &mut x, region![.., 1]).unwrap_err(),
    ];
    for error in hazards {
        assert!(matches!(error.detail(), ErrorDetail::Hazard { .. }), "{error}");
    }
    up.try_host_mut().expect("no upload reads the pinned array").fill(2);
    gate.signal();
    two.wait_for(&one).unwrap();
    two.upload_region(&up, &mut x, region![.., 1]).unwrap();
    assert_eq!(two.read_region(&x, region![3, 0..3]).wait().unwrap(), [1, 2, 1]);
}

fn checked(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let one = ctx.queue("one");
    let two = ctx.queue("two");
    let source = ctx.full([20, 20], 7_u32).unwrap();
    let target = || ctx.zeros::<u32, 2>([20, 20]).unwrap();
    let to = |queue: &fencepost::CommandQueue, y: &DeviceArray<u32, 2>, region: fencepost::Region| {
        queue.copy_region(&source, &region, &mut y.clone(), &region)
    };
    // Disjoint contiguous regions and disjoint spans need no order.
    for (first, second) in [
        (region![0..10], region![10..20]),
        (region![0..10, 0..3], region![10..20, 5..7]),
        (region![3, 0..10], region![3, 10..20]),
        (region![0..5; 2, 19], region![5, 0..20; 3]),
    ] {
        let y = target();
        to(&one, &y, first).unwrap();
        to(&two, &y, second).unwrap();
    }
    // The spans overlap although no element is shared, because the bytes between elements count.
    let y = target();
    to(&one, &y, region![0..10, 0..3]).unwrap();
    let error = to(&two, &y, region![5..15, 5..7]).unwrap_err();
    let range = 4 * (5 * 20 + 5)..4 * (9 * 20 + 3);
    assert!(matches!(error.detail(), ErrorDetail::Hazard { range: found, .. } if *found == range), "{error}");
    assert_error!(two.read_region(&y, region![1, 5..7]).wait(), ErrorDetail::Hazard { .. });
    two.wait_for(&one).unwrap();
    to(&two, &y, region![5..15, 5..7]).unwrap();
    assert_eq!(two.read_region(&y, region![4..6, 2..6]).wait().unwrap(), [7, 0, 0, 0, 7, 0, 0, 7]);
}

fn ordered(s: &Subject) {
    let ctx = s.ctx();
    let one = ctx.queue("one");
    let two = ctx.queue("two");
    let mut x = ctx.zeros::<u32, 2>([16, 16]).unwrap();
    let mut y = ctx.zeros::<u32, 2>([16, 16]).unwrap();
    for round in 1..20 {
        one.upload_region(&[round; 16], &mut x, region![.., 3]).unwrap();
        two.copy_region(&x, region![8.., 2..4], &mut y, region![8.., 10..14; 3]).unwrap();
        one.copy_region(&y, region![9..15, 13], &mut x, region![7, 5..11]).unwrap();
        two.fill(&mut x, 100 + round).unwrap();
        let late = one.read_region(&x, region![6..8, 3..5]);
        two.fill(&mut x, 0).unwrap();
        assert_eq!(late.wait().unwrap(), [100 + round; 4]);
        assert_eq!(one.read_region(&y, region![12, 9..14]).wait().unwrap(), [0, 0, 0, 0, round]);
    }
}

/// Copies within an array through temporary memory, on a queue on which another thread fills the array at the same
/// time. No command comes between the two halves of a copy, so all elements are equal before the copy and after it.
fn whole(s: &Subject) {
    const SIDE: usize = 8;
    let (ctx, queue) = s.with_queue("shared");
    let x = ctx.zeros::<u32, 2>([SIDE, SIDE]).unwrap();
    let together = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| fill_often(&together, &queue, &x));
        let mut mixed = None;
        for _ in 0..ROUNDS {
            together.wait();
            let reads: Vec<_> = (0..COPIES).map(|_| spread(&queue, &x)).collect();
            let mut found = reads.into_iter().map(|read| read.wait().unwrap());
            mixed = found.find(|found| found.iter().any(|element| *element != found[0])).or(mixed);
        }
        assert_eq!(mixed, None, "a fill came between the halves of a copy");
    });
}

/// Number of rounds. Both threads start each round together.
const ROUNDS: u32 = 12;
/// Number of copies of a round, which are enqueued without a wait.
const COPIES: u32 = 25;
/// Number of fills of a round, which are enqueued without a wait.
const FILLS: u32 = 100;

/// Copies every other column over the first half of the columns, and reads the array.
fn spread(queue: &CommandQueue, x: &DeviceArray<u32, 2>) -> Pending<Vec<u32>> {
    queue.copy_region(x, region![.., ..; 2], &mut x.clone(), region![.., ..4]).unwrap();
    queue.read(x)
}

/// Fills the array with one number after another.
fn fill_often(together: &Barrier, queue: &CommandQueue, x: &DeviceArray<u32, 2>) {
    for round in 0..ROUNDS {
        together.wait();
        for fill in 0..FILLS {
            queue.fill(&mut x.clone(), round * FILLS + fill).unwrap();
        }
    }
}

fn mapped(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let x = ctx.zeros::<u32, 2>([4, 4]).unwrap();
    let y = ctx.zeros::<u32, 2>([4, 4]).unwrap();
    let map = x.map_read().wait().unwrap();
    for error in [
        queue.copy_region(&x, region![.., 1], &mut y.clone(), region![.., 1]).unwrap_err(),
        queue.copy_region(&y, region![.., 1], &mut x.clone(), region![.., 1]).unwrap_err(),
        queue.upload_region(&[1; 4], &mut x.clone(), region![.., 1]).unwrap_err(),
        queue.read_region(&x, region![.., 1]).wait().unwrap_err(),
    ] {
        assert!(matches!(error.detail(), ErrorDetail::Mapped { .. }), "{error}");
    }
    drop(map);
    assert_eq!(queue.read_region(&x, region![.., 1]).wait().unwrap(), [0; 4]);
}

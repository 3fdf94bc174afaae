//! E03, E04, E08: queues that wait for events, and waits that flush.

use crate::common::counted::Counted;
use crate::common::kernels::Mix;
use crate::common::{BY_TURNS, Case, ONE_THREAD, Subject, assert_error, case, dump, hold, queues};
use fencepost::prelude::*;
use fencepost::profile::Activity;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub fn cases() -> Vec<Case> {
    vec![
        case("e03_a_queue_waits_for_all_of_several_events_while_the_host_goes_on", for_several),
        case("e03_an_empty_list_of_events_is_no_wait", for_none),
        case("e03_a_wait_submits_nothing", submits_nothing),
        case("e04_waiting_for_a_queue_is_waiting_for_its_marker", for_a_queue),
        case("e04_a_queue_that_waits_for_a_failed_queue_works_on_without_an_error", for_a_failed_queue),
        case("e07_an_event_is_recorded_on_its_own_context_only", own_context),
        case("e08_a_wait_flushes_all_queues_that_its_event_depends_on", flushes_a_chain),
        case("e08_a_wait_for_a_marker_returns_while_later_work_is_held", needs_no_more),
        case("e08_a_wait_submits_the_needed_work_in_a_batch_of_its_own", batches_no_more),
        case("e08_without_threads_a_wait_starts_only_the_work_that_it_needs", starts_no_more)
            .not_in_a_page(BY_TURNS),
        case("e08_waits_in_both_directions_end", no_cycle),
        case("e08_the_waits_of_many_threads_end", many_threads).not_in_a_page(ONE_THREAD),
    ]
}

const N: usize = 64;

/// A call that waits for all of several queues.
type WaitForAll = fn(&CommandQueue, &[CommandQueue]) -> fencepost::Result<()>;

fn for_several(subject: &Subject) {
    let ways: [WaitForAll; 3] = [
        |last, queues| last.wait_for(&queues.iter().map(CommandQueue::marker).collect::<Vec<_>>()),
        |last, queues| last.wait_for(queues),
        |last, queues| last.wait_for(&queues.iter().collect::<Vec<_>>()),
    ];
    ways.into_iter().for_each(|wait| all_of_several(subject, wait));
}

fn all_of_several(subject: &Subject, wait: WaitForAll) {
    let (ctx, [last]) = subject.with_queues_under(Policy::Unchecked, ["last"]);
    let gates = [0, 1, 2].map(|i| ctx.user_event(&format!("gate {i}")));
    let mut x = ctx.zeros([3 * N]).unwrap();
    let mut queues = Vec::new();
    for (i, gate) in gates.iter().enumerate() {
        let queue = ctx.queue(&format!("queue {i}"));
        queue.wait_for(gate).unwrap();
        queue.fill(&mut x.slice(i * N..(i + 1) * N).unwrap(), i as u32 + 1).unwrap();
        queues.push(queue);
    }
    wait(&last, &queues).unwrap();
    let mut y = ctx.zeros([3 * N]).unwrap();
    last.copy(&x, &mut y).unwrap();
    for gate in &gates {
        assert!(!last.marker().is_complete().unwrap());
        gate.signal();
    }
    let expected = [[1; N], [2; N], [3; N]].concat();
    assert_eq!(last.read(&y).wait().unwrap(), expected);
    last.fill(&mut x, 9).unwrap();
    assert_eq!(last.read(&x).wait().unwrap(), [9; 3 * N]);
}

fn for_none(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    queue.wait_for(&Vec::<Event>::new()).unwrap();
    queue.wait_for(&[] as &[Event]).unwrap();
    queue.wait_for(&[] as &[CommandQueue; 0]).unwrap();
    assert!(queue.marker().is_complete().unwrap());
    let x = queue.full([N], 1_u32).unwrap();
    queue.wait_for(&[ctx.event(), queue.marker()]).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [1; N]);
}

fn submits_nothing(subject: &Subject) {
    let counted = Counted::new(subject);
    let ctx = &counted.ctx;
    let ran = Arc::new(AtomicU32::new(0));
    let [first, second] = queues(ctx, ["first", "second"]);
    let mut x = ctx.zeros([N]).unwrap();
    ctx.synchronize().wait().unwrap();
    let before = counted.submissions();
    let counter = ran.clone();
    first.fill(&mut x, 1_u32).unwrap();
    second.wait_for(&first.marker()).unwrap();
    first.callback(move || _ = counter.fetch_add(1, Ordering::SeqCst)).unwrap();
    second.wait_for(&[first.marker(), ctx.event()]).unwrap();
    second.wait_for(&first).unwrap();
    second.wait_for(&first).unwrap();
    assert_eq!(counted.submissions(), before);
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    second.finish().wait().unwrap();
    assert!(counted.submissions() > before);
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

fn for_a_queue(subject: &Subject) {
    let (ctx, [first, second]) = subject.with_queues_under(Policy::Unchecked, ["first", "second"]);
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&first);
    first.fill(&mut x, 1_u32).unwrap();
    second.wait_for(&first).unwrap();
    let later = ctx.user_event("later");
    first.wait_for(&later.event()).unwrap();
    second.fill(&mut x, 2).unwrap();
    assert!(!second.marker().is_complete().unwrap());
    assert!(dump::holds(&ctx, &second));
    gate.signal();
    assert_eq!(second.read(&x).wait().unwrap(), [2; N]);
    assert!(!first.marker().is_complete().unwrap());
    later.signal();
}

/// Checks that the wait orders the work and does not require success: the read returns the bytes from before the failed
/// fill.
fn for_a_failed_queue(subject: &Subject) {
    let (ctx, [first, second]) = subject.with_queues_under(Policy::Unchecked, ["first", "second"]);
    let mut x = ctx.full([N], 5_u32).unwrap();
    first.fill(&mut x.slice(0..1).unwrap(), 6).unwrap();
    let gate = hold(&first);
    first.fill(&mut x, 7).unwrap();
    second.wait_for(&first).unwrap();
    let read = second.read(&x);
    assert!(!second.marker().is_complete().unwrap());
    assert!(dump::holds(&ctx, &second));
    drop(gate);
    assert_eq!(read.wait().unwrap(), [[6; 1].as_slice(), &[5; N - 1]].concat());
    second.finish().wait().unwrap();
    assert_error!(first.finish().wait(), ErrorDetail::Abandoned { event } if event == "gate");
    // The same holds for a queue that failed before the wait.
    second.wait_for(&first).unwrap();
    second.fill(&mut x, 8).unwrap();
    assert_eq!(second.read(&x).wait().unwrap(), [8; N]);
}

fn own_context(subject: &Subject) {
    let [ctx, other] = [0; 2].map(|_| subject.ctx());
    let queue = ctx.queue("main");
    let event = other.event();
    assert_error!(event.record(&queue), ErrorDetail::ForeignContext { .. });
    assert!(event.is_complete().unwrap(), "the event stays unrecorded");
    event.record(&other.queue("own")).unwrap();
    event.wait().unwrap();
}

fn flushes_a_chain(subject: &Subject) {
    for policy in [Policy::Ordered, Policy::Unchecked] {
        let ctx = subject.ctx_with(policy);
        let queues: Vec<CommandQueue> = (0..5).map(|i| ctx.queue(&format!("queue {i}"))).collect();
        let mut x = ctx.zeros([N]).unwrap();
        queues[0].fill(&mut x, 0_u32).unwrap();
        for (i, pair) in queues.windows(2).enumerate() {
            pair[1].wait_for(&pair[0].marker()).unwrap();
            pair[1].fill(&mut x.slice(i..N).unwrap(), i as u32 + 1).unwrap();
        }
        queues[4].marker().wait().unwrap();
        assert_eq!(queues[4].read(&x).wait().unwrap()[..5], [1, 2, 3, 4, 4]);
    }
}

fn needs_no_more(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let held = ctx.queue("held");
    let [mut x, mut y] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
    queue.fill(&mut x, 1_u32).unwrap();
    let early = queue.marker();
    let gate = hold(&held);
    held.fill(&mut y, 2_u32).unwrap();
    queue.wait_for(&held).unwrap();
    queue.fill(&mut x, 3).unwrap();
    early.wait().unwrap();
    assert!(!held.marker().is_complete().unwrap() && !queue.marker().is_complete().unwrap());
    gate.signal();
    assert_eq!(queue.read(&x).wait().unwrap(), [3; N]);
}

/// Checks the batches in a context without threads, where the wait itself plans them.
fn batches_no_more(subject: &Subject) {
    let ctx = subject.without_threads();
    let [first, second, other] = ["first", "second", "other"].map(|label| ctx.queue(label));
    let [mut x, mut y, mut z] = [0; 3].map(|_| ctx.zeros([N]).unwrap());
    ctx.synchronize().wait().unwrap();
    let profiler = ctx.profile();
    other.fill(&mut z, 1_u32).unwrap();
    first.fill(&mut x, 2_u32).unwrap();
    second.wait_for(&first).unwrap();
    second.fill(&mut y, 3_u32).unwrap();
    let needed = second.marker();
    first.fill(&mut x, 4).unwrap();
    second.fill(&mut y, 5).unwrap();
    needed.wait().unwrap();
    let profile = profiler.finish().wait().unwrap();
    let batches = |label: &str| -> Vec<usize> {
        let rows = profile.rows.iter().filter(|row| &*row.queue == label && row.activity == Activity::Fill);
        rows.map(|row| row.batch.expect("the fill was submitted")).collect()
    };
    let first = batches("first");
    let second = batches("second");
    let other = batches("other");
    assert_eq!((first[0], second[0]), (0, 0), "the needed fills are in the first batch");
    assert!([first[1], second[1], other[0]].iter().all(|batch| *batch > 0), "{first:?} {second:?} {other:?}");
}

fn no_cycle(subject: &Subject) {
    let ctx = subject.ctx();
    let queues: Vec<CommandQueue> = (0..4).map(|i| ctx.queue(&format!("queue {i}"))).collect();
    let mut x: Vec<DeviceArray<u32>> = (0..4).map(|_| ctx.zeros([N]).unwrap()).collect();
    let a = queues[0].marker();
    let b = queues[1].marker();
    queues[0].wait_for(&b).unwrap();
    queues[1].wait_for(&a).unwrap();
    let mut rng = fastrand::Rng::with_seed(8);
    for turn in 0..300 {
        let i = rng.usize(..4);
        let j = rng.usize(..4);
        queues[i].wait_for(&queues[j].marker()).unwrap();
        queues[j].wait_for(&queues[i]).unwrap();
        queues[i].fill(&mut x[i], turn).unwrap();
    }
    for queue in &queues {
        queue.finish().wait().unwrap();
    }
}

/// Checks that a wait starts no work after its marker and no other queue. A callback shows if its queue has started.
fn starts_no_more(subject: &Subject) {
    let ctx = subject.without_threads();
    let [queue, other] = queues(&ctx, ["main", "other"]);
    let ran = Arc::new(AtomicU32::new(0));
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let count = |queue: &CommandQueue| {
        let ran = ran.clone();
        queue.callback(move || _ = ran.fetch_add(1, Ordering::Relaxed)).unwrap();
    };
    count(&other);
    queue.fill(&mut x, 7).unwrap();
    let marker = queue.marker();
    count(&queue);
    marker.wait().unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 0, "the wait started work after its marker, or another queue");
    for (number, queue) in [(1, &queue), (2, &other)] {
        queue.finish().wait().unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), number);
    }
}

/// Many threads wait at once, each for its own queue. If each completion woke all of them, and each moved its batch
/// before the others, waits of many threads would take minutes.
fn many_threads(subject: &Subject) {
    let ctx = subject.ctx();
    let mix = ctx.kernel::<Mix>().unwrap();
    let zeros = ctx.zeros([N]).unwrap();
    // With other load, a submission of a software driver takes milliseconds.
    let (threads, waits) = if subject.place().is_native() { (32, 20) } else { (8, 3) };
    crate::common::thread::scope(|scope| {
        for id in 0..threads {
            let ctx = &ctx;
            let mix = &mix;
            let zeros = &zeros;
            scope.spawn(move || {
                let queue = ctx.queue(&format!("of thread {id}"));
                let mut y = ctx.full([N], id).unwrap();
                let mut copy = ctx.zeros([N]).unwrap();
                for wait in 1..=waits {
                    for _ in 0..30 {
                        queue
                            .launch(mix, Grid::threads([N]), Mix { a: 1, b: 1, x: zeros, y: &mut y })
                            .unwrap();
                    }
                    let side = queue.fork("side");
                    side.copy(&y, &mut copy).unwrap();
                    queue.wait_for(&side).unwrap();
                    assert_eq!(queue.read(&copy).wait().unwrap(), [id + 30 * wait; N]);
                }
            });
        }
    });
}

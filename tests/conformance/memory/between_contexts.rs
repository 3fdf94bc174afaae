//! M09: copies from one context to another.

use crate::common::kernels::{Iota, Mix};
use crate::common::partners::{counted, each_pair, each_pair_with, every_pair, faulty_pair, partners};
use crate::common::{Calls, Case, ONE_THREAD, Subject, assert_error, case};
use fencepost::prelude::*;
use fencepost::testing::CpuFaults;
use fencepost::{ErrorDetail, QueueOptions, Shape, SimulatorOptions};
use std::cell::Cell;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("m09_a_copy_between_any_two_contexts_is_exact_on_a_queue_of_either", exact),
        case("m09_slices_and_elements_of_several_sizes_are_copied", parts),
        case("m09_a_copy_comes_after_earlier_work_and_before_later_work_of_both", ordered),
        case("m09_a_copy_runs_in_the_order_of_its_queue", in_its_queue),
        case("m09_a_copy_whose_arrays_are_in_use_does_not_block_the_caller", does_not_block),
        case("m09_under_unchecked_the_source_is_read_at_the_place_of_the_copy", unchecked),
        case("m09_under_checked_a_copy_adds_the_waits_in_the_other_context", checked),
        case("m09_copies_in_both_directions_at_once_end", both_ways),
        case("m09_copies_from_several_threads_end", several_threads).not_in_a_page(ONE_THREAD),
        case("m09_a_large_copy_takes_no_pool_memory_and_staging_for_four_pieces", flat),
        case("m09_a_copy_reads_two_pieces_before_it_writes_the_first", two_ahead),
        case("m09_a_copy_completes_without_a_call_that_waits", by_itself),
        case("m09_a_wrong_copy_is_refused_before_anything_is_enqueued", refused),
        case("m09_a_copy_that_its_queue_refuses_changes_neither_context", refused_by_its_queue),
        case("m09_a_failure_of_one_context_reaches_the_other_which_works_on", failures),
        case("m09_everything_may_be_dropped_while_a_copy_is_in_flight", dropped),
        case("m09_a_copy_on_a_timed_queue_is_exact_and_has_a_time", timed),
        case("m09_random_delays_refusals_and_losses_cause_no_hang_and_no_wrong_bytes", seeds)
            .cpu_only("an adapter has no seed"),
    ]
}

/// Number of elements of an array that is copied in several pieces, the last of them smaller.
const LARGE: usize = 200_003;

/// Copies on a queue of the target, and back on the same queue, which belongs to the source of the second copy.
fn exact(s: &Subject) {
    every_pair(s, |names, source, target| {
        for n in [1, 1000, LARGE] {
            let theirs = source.queue("source");
            let ours = target.queue("target");
            let mut x = source.empty::<u32, 1>([n]).unwrap();
            theirs.upload(&counted(n, 5)[..], &mut x).unwrap();
            let mut y = target.zeros([n]).unwrap();
            ours.copy(&x, &mut y).unwrap();
            assert!(ours.read(&y).wait().unwrap() == counted(n, 5), "{names}, {n} by the target's queue");
            ours.upload(&counted(n, 9)[..], &mut y).unwrap();
            ours.copy(&y, &mut x).unwrap();
            ours.finish().wait().unwrap();
            assert!(theirs.read(&x).wait().unwrap() == counted(n, 9), "{names}, {n} by the source's queue");
        }
    });
}

fn parts(s: &Subject) {
    each_pair(s, |names, source, target| {
        let queue = target.queue("q");
        let x = source.array(&counted(1000, 0)).unwrap();
        for (from, to) in [(0..1, 999), (10..200, 0), (1..1000, 1), (50..50, 7), (300..333, 60)] {
            let y = target.full([1000], 7_u32).unwrap();
            let range = to..to + from.len();
            queue.copy(&x.slice(from.clone()).unwrap(), &mut y.slice(range.clone()).unwrap()).unwrap();
            let mut expected = vec![7; 1000];
            expected[range].copy_from_slice(&counted(1000, 0)[from]);
            assert!(queue.read(&y).wait().unwrap() == expected, "{names}");
        }
        let square = source.array(&counted(100, 1)).unwrap().reshape([10, 10]).unwrap();
        let mut other = target.zeros([10, 10]).unwrap();
        queue.copy(&square, &mut other).unwrap();
        assert!(queue.read(&other).wait().unwrap() == counted(100, 1), "{names}");
        let floats = source.array(&[[1.0_f32, 2.0, 3.0, 4.0]; 33]).unwrap();
        let mut copied = target.zeros([33]).unwrap();
        queue.copy(&floats, &mut copied).unwrap();
        assert!(queue.read(&copied).wait().unwrap() == [[1.0, 2.0, 3.0, 4.0]; 33], "{names}");
    });
}

/// Uses the arrays on other queues of both contexts, without a wait by the caller.
fn ordered(s: &Subject) {
    each_pair(s, |names, source, target| {
        let before = source.queue("before");
        let after = source.queue("after");
        let copy = target.queue("copy");
        let user = target.queue("user");
        let iota = source.kernel::<Iota>().unwrap();
        let mix = target.kernel::<Mix>().unwrap();
        let mut x = source.zeros([LARGE]).unwrap();
        let mut y = target.zeros([LARGE]).unwrap();
        let mut sum = target.full([LARGE], 3_u32).unwrap();
        for round in 0..3_u32 {
            let args = Iota { start: round, step: 2, out: &mut x };
            before.launch(&iota, Grid::threads([LARGE]), args).unwrap();
            copy.copy(&x, &mut y).unwrap();
            after.fill(&mut x, 77).unwrap();
            user.launch(&mix, Grid::threads([LARGE]), Mix { a: 5, b: 1, x: &y, y: &mut sum }).unwrap();
        }
        let step = |sum, (round, i): (u32, u32)| Mix::of(5, 1, round + 2 * i, sum);
        let expected = |i: u32| (0..3).fold(3, |sum, round| step(sum, (round, i)));
        let found = user.read(&sum).wait().unwrap();
        let wrong = (0..LARGE).find(|&i| found[i] != expected(i as u32));
        assert_eq!(wrong, None, "{names}");
        assert!(after.read(&x).wait().unwrap().iter().all(|&value| value == 77), "{names}");
    });
}

fn in_its_queue(s: &Subject) {
    each_pair(s, |names, source, target| {
        for by_source in [false, true] {
            let (queue, gate) = if by_source {
                (source.queue("q"), source.user_event("gate"))
            } else {
                (target.queue("q"), target.user_event("gate"))
            };
            let x = source.full([LARGE], 1_u32).unwrap();
            let mut y = target.zeros([LARGE]).unwrap();
            queue.wait_for(&gate.event()).unwrap();
            queue.copy(&x, &mut y).unwrap();
            let copied = queue.marker();
            assert!(!copied.is_complete().unwrap(), "{names}");
            gate.signal();
            copied.wait().unwrap();
            // A map waits only for the uses of its bytes, and the marker has shown that these are done.
            let map = y.map_read().wait().unwrap();
            assert!(map.iter().all(|&value| value == 1), "{names}, by the source's queue: {by_source}");
        }
    });
}

fn does_not_block(s: &Subject) {
    each_pair(s, |names, source, target| {
        let theirs = source.queue("source");
        let ours = target.queue("target");
        let gates = [source.user_event("source"), target.user_event("target")];
        let mut x = source.zeros([LARGE]).unwrap();
        let mut y = target.zeros([LARGE]).unwrap();
        theirs.wait_for(&gates[0].event()).unwrap();
        theirs.fill(&mut x, 5_u32).unwrap();
        ours.wait_for(&gates[1].event()).unwrap();
        ours.copy(&x, &mut y).unwrap();
        theirs.fill(&mut x, 6).unwrap();
        ours.flush().unwrap();
        theirs.flush().unwrap();
        let read = ours.read(&y);
        gates[1].signal();
        assert!(!ours.marker().is_complete().unwrap(), "{names}");
        gates[0].signal();
        assert!(read.wait().unwrap() == [5; LARGE], "{names}");
    });
}

fn unchecked(s: &Subject) {
    each_pair_with(s, [Policy::Unchecked; 2], |names, source, target| {
        let theirs = source.queue("source");
        let ours = target.queue("target");
        let gate = source.user_event("gate");
        let mut x = source.zeros([LARGE]).unwrap();
        let mut y = target.zeros([LARGE]).unwrap();
        for round in 1..=3_u32 {
            if round == 1 {
                theirs.wait_for(&gate.event()).unwrap();
            }
            theirs.fill(&mut x, round).unwrap();
            ours.wait_for(&theirs).unwrap();
            ours.copy(&x, &mut y).unwrap();
            theirs.wait_for(&ours).unwrap();
            let read = ours.read(&y);
            gate.signal();
            assert!(read.wait().unwrap() == vec![round; LARGE], "{names}, round {round}");
        }
    });
}

fn checked(s: &Subject) {
    each_pair_with(s, [Policy::Checked; 2], |names, source, target| {
        let writer = source.queue("writer");
        let later = source.queue("later");
        let copy = target.queue("copy");
        let reader = target.queue("reader");
        let mut x = source.zeros([LARGE]).unwrap();
        let mut y = target.zeros([LARGE]).unwrap();
        writer.fill(&mut x, 4_u32).unwrap();
        copy.copy(&x, &mut y).unwrap();
        writer.fill(&mut x, 5).unwrap();
        // Within one context, `Checked` reports hazards as without the copy.
        assert_error!(later.fill(&mut x, 6), ErrorDetail::Hazard { .. }, "{names}");
        let error = reader.read(&y).wait().unwrap_err();
        assert!(error.to_string().contains("add `reader.wait_for(&copy)?`"), "{names}: {error}");
        reader.wait_for(&copy).unwrap();
        assert!(reader.read(&y).wait().unwrap() == [4; LARGE], "{names}");
        assert!(writer.read(&x).wait().unwrap() == [5; LARGE], "{names}");
    });
}

fn both_ways(s: &Subject) {
    each_pair(s, |names, one, two| {
        let a = one.queue("a");
        let b = two.queue("b");
        let x = one.full([LARGE], 1_u32).unwrap();
        let mut x2 = one.zeros([LARGE]).unwrap();
        let y = two.full([LARGE], 2_u32).unwrap();
        let mut y2 = two.zeros([LARGE]).unwrap();
        for _ in 0..2 {
            a.copy(&x, &mut y2).unwrap();
            b.copy(&y, &mut x2).unwrap();
            a.copy(&x2, &mut y2).unwrap();
            b.copy(&y2, &mut x2).unwrap();
        }
        assert!(a.read(&x2).wait().unwrap() == [2; LARGE], "{names}");
        assert!(b.read(&y2).wait().unwrap() == [2; LARGE], "{names}");
    });
}

fn several_threads(s: &Subject) {
    for (name, other) in partners(s, Policy::Ordered) {
        let ctx = s.ctx();
        crate::common::thread::scope(|scope| {
            for at in 0..4_u32 {
                let ctx = &ctx;
                let other = &other;
                let name = &name;
                scope.spawn(move || {
                    let (from, to) = if at % 2 == 0 { (ctx, other) } else { (other, ctx) };
                    let queue = if at < 2 { from.queue("from") } else { to.queue("to") };
                    let x = from.full([100_003], at).unwrap();
                    let mut y = to.zeros([100_003]).unwrap();
                    queue.copy(&x, &mut y).unwrap();
                    queue.finish().wait().unwrap();
                    let read = to.queue("read").read(&y).wait().unwrap();
                    assert!(read == vec![at; 100_003], "{name}, thread {at}");
                });
            }
        });
    }
}

/// Uses contexts without threads, because a thread of a context could return staging memory late.
fn flat(s: &Subject) {
    const N: usize = 4 << 20;
    const PIECE: u64 = 4 * N as u64 / 8;
    let ctx = s.without_threads();
    let other = s.without_threads();
    let queue = ctx.queue("q");
    let x = other.full([N], 0x0102_0304_u32).unwrap();
    let mut y = ctx.zeros([N]).unwrap();
    let stats = [ctx.pool().stats(), other.pool().stats()];
    queue.copy(&x, &mut y).unwrap();
    queue.finish().wait().unwrap();
    for (before, (name, ctx)) in stats.into_iter().zip([("target", &ctx), ("source", &other)]) {
        let now = ctx.pool().stats();
        assert_eq!(
            (now.used, now.high_water, now.blocks),
            (before.used, before.high_water, before.blocks),
            "{name}"
        );
        let staging = now.staging + now.staging_free - before.staging - before.staging_free;
        // Two pieces are in flight at once. A piece returns its staging memory when the context notices the end of its
        // batch, which may be after the next piece has begun.
        assert!(
            staging <= 4 * PIECE,
            "{name}: {staging} bytes of staging for pieces of {PIECE}, two at a time"
        );
    }
    let ends = [0..1000, N / 2..N / 2 + 1000, N - 1000..N];
    for range in ends {
        assert_eq!(queue.read(&y.slice(range).unwrap()).wait().unwrap(), [0x0102_0304; 1000]);
    }
}

/// Checks the number of pieces that are read but not yet written, because they take memory. A new queue comes after all
/// reads of the copy, so its finish completes after the last read.
fn two_ahead(s: &Subject) {
    each_pair(s, |names, source, target| {
        let ours = target.queue("target");
        let x = source.full([LARGE], 5_u32).unwrap();
        let mut y = target.zeros([LARGE]).unwrap();
        let gate = ours.hold();
        ours.copy(&x, &mut y).unwrap();
        let mut all_read = source.queue("after all reads").finish();
        let left = loop {
            assert!(all_read.wait_timeout(Duration::from_millis(1)).unwrap().is_none(), "{names}");
            if let Some(left) = held_reads(source) {
                break left;
            }
        };
        assert_eq!(left, 4, "{names}: two pieces are read; two are left, each with a wait before it");
        gate.signal();
        all_read.wait().unwrap();
        assert!(ours.read(&y).wait().unwrap() == [5; LARGE], "{names}");
    });
}

/// Returns the number of remaining commands of the reading queue of a copy, or `None` while this queue can still make
/// progress without a write. The number comes from the state dump, because there are no events between two pieces.
fn held_reads(source: &Context) -> Option<usize> {
    let dump = source.diagnostics().state_dump();
    let line = dump.lines().find(|line| line.contains("`target, copy across`"))?;
    let number = |after: &str| {
        let rest = line.split(after).nth(1)?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<usize>().ok()
    };
    let done = number("completed ")?;
    let all = number(" of ")?;
    let left = number(&format!("{done} of {all}, "))?;
    let held = line.contains("held: a user event is not signalled");
    (held && done + left == all).then_some(left)
}

/// Copies between contexts with threads, where a copy completes without waiting calls.
fn by_itself(s: &Subject) {
    for (_, other) in partners(s, Policy::Ordered).into_iter().filter(|(name, _)| name != "no threads") {
        let (ctx, queue) = s.with_queue("q");
        let (sender, receiver) = std::sync::mpsc::channel();
        let x = other.full([LARGE], 8_u32).unwrap();
        let mut y = ctx.zeros([LARGE]).unwrap();
        queue.copy(&x, &mut y).unwrap();
        queue.callback(move || sender.send(()).unwrap()).unwrap();
        crate::common::received(&receiver);
        assert!(queue.read(&y).wait().unwrap() == [8; LARGE]);
    }
}

fn refused(s: &Subject) {
    each_pair(s, |names, source, target| {
        let queue = target.queue("q");
        let x = source.full([8], 1_u32).unwrap();
        let mut y = target.zeros([8]).unwrap();
        queue.finish().wait().unwrap();
        assert_error!(queue.copy(&x.slice(0..7).unwrap(), &mut y), ErrorDetail::Shape { .. }, "{names}");
        for ours in [false, true] {
            let guard = if ours { y.map_read() } else { x.map_read() }.wait().unwrap();
            assert_error!(queue.copy(&x, &mut y), ErrorDetail::Mapped { .. }, "{names}");
            drop(guard);
        }
        assert!(queue.take_error().is_none(), "{names}");
        queue.copy(&x, &mut y).unwrap();
        assert_eq!(queue.read(&y).wait().unwrap(), [1; 8], "{names}");
    });
}

/// The queue of the copy belongs to the source or to the target, and has failed, or the copy is refused as a hazard.
fn refused_by_its_queue(s: &Subject) {
    // In a context of policy `Unchecked`, the other side waits for the queue that refuses the copy.
    for of_source in [true, false] {
        for (policy, of_other) in [
            (Policy::Ordered, Policy::Ordered),
            (Policy::Checked, Policy::Ordered),
            (Policy::Ordered, Policy::Unchecked),
            (Policy::Checked, Policy::Unchecked),
        ] {
            let own = s.ctx_with(policy);
            let other = s.ctx_with(of_other);
            let queue = own.queue("q");
            let mut ours = own.full([8], 1_u32).unwrap();
            let mut theirs = other.full([8], 2_u32).unwrap();
            if policy == Policy::Checked {
                own.queue("unordered").fill(&mut ours, 1).unwrap();
            } else {
                let gone = own.user_event("gone");
                queue.wait_for(&gone.event()).unwrap();
                drop(gone);
                queue.finish().wait().unwrap_err();
            }
            let copied = match of_source {
                true => queue.copy(&ours, &mut theirs),
                false => queue.copy(&theirs, &mut ours),
            };
            let error = copied.unwrap_err();
            let expected = match policy {
                Policy::Checked => matches!(error.detail(), ErrorDetail::Hazard { .. }),
                _ => matches!(error.detail(), ErrorDetail::Abandoned { .. }),
            };
            assert!(expected, "{error}");
            let what = format!("{policy:?}, {of_other:?}, a queue of the source: {of_source}");
            assert_eq!(other.to_vec(&theirs).unwrap(), [2; 8], "{what}");
            assert_eq!(own.to_vec(&ours).unwrap(), [1; 8], "{what}");
            other.synchronize().wait().unwrap();
            let error = other.take_error();
            assert!(error.is_none(), "{what}: {error:?}");
        }
    }
}

fn failures(s: &Subject) {
    for threads in [true, false] {
        // The device is lost at a step of the fill or of one of the pieces.
        for lost_after in [0, 1, 3, 5] {
            let options = SimulatorOptions::default().threads(threads);
            let faults = CpuFaults { lost_after: Some(lost_after), ..CpuFaults::default() };
            for from_lost in [true, false] {
                let lost = s.faulty(options, faults);
                let ctx = s.ctx();
                let queue = ctx.queue("q");
                let mut theirs = lost.zeros([LARGE]).unwrap();
                let mut ours = ctx.zeros([LARGE]).unwrap();
                let done = if from_lost {
                    lost.queue("fill").fill(&mut theirs, 1_u32).unwrap();
                    queue.copy(&theirs, &mut ours).and_then(|()| queue.finish().wait())
                } else {
                    queue.copy(&ours, &mut theirs).and_then(|()| queue.finish().wait())
                };
                if let Err(error) = done {
                    let ErrorDetail::OtherContext { error, .. } = error.detail() else { panic!("{error}") };
                    assert!(matches!(error.detail(), ErrorDetail::DeviceLost { .. }), "{error}");
                    // A copy that was refused at once has left no error to take.
                    queue.take_error();
                } else {
                    assert!(lost_after > 0, "the device was lost before anything was done");
                }
                queue.fill(&mut ours, 3_u32).unwrap();
                assert!(queue.read(&ours).wait().unwrap() == [3; LARGE]);
            }
        }
    }
}

fn dropped(s: &Subject) {
    let pairs = Cell::new(0);
    each_pair(s, |names, source, target| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let source = source.clone();
        let target = target.clone();
        let x = source.full([LARGE], 6_u32).unwrap();
        let mut y = target.zeros([LARGE]).unwrap();
        let queue = target.queue("q");
        let last = target.queue("last");
        queue.copy(&x, &mut y).unwrap();
        queue.callback(move || sender.send(()).unwrap()).unwrap();
        match pairs.replace(pairs.get() + 1) % 4 {
            0 => drop((x, queue)),
            1 => drop((y.clone(), x, source, queue)),
            2 => drop((queue, last.clone(), source)),
            _ => drop((x, queue, source)),
        }
        assert!(last.read(&y).wait().unwrap() == [6; LARGE], "{names}");
        last.wait_for(&target.queue("after all of it")).unwrap();
        last.finish().wait().unwrap();
        crate::common::received(&receiver);
    });
    // Every handle is dropped at the end of an iteration, and nothing hangs.
    for (_, source) in partners(s, Policy::Ordered) {
        let target = s.ctx();
        let x = source.full([LARGE], 6_u32).unwrap();
        let mut y = target.zeros([LARGE]).unwrap();
        target.queue("q").copy(&x, &mut y).unwrap();
        source.queue("q").copy(&x, &mut y).unwrap();
    }
}

fn timed(s: &Subject) {
    each_pair(s, |names, source, target| {
        let queue = target.queue_with(QueueOptions::default().timing(true));
        let x = source.full([LARGE], 2_u32).unwrap();
        let mut y = target.zeros([LARGE]).unwrap();
        queue.fill(&mut y, 1).unwrap();
        let start = queue.marker();
        queue.copy(&x, &mut y).unwrap();
        let end = queue.marker();
        assert!(queue.read(&y).wait().unwrap() == [2; LARGE], "{names}");
        match end.seconds_since(&start).wait() {
            Ok(seconds) => assert!(queue.options().timing && seconds > 0.0, "{names}: {seconds} s"),
            Err(error) => {
                assert!(!queue.options().timing, "{names}: {error}");
                assert!(matches!(error.detail(), ErrorDetail::NotMeasured { .. }), "{names}: {error}");
            }
        }
    });
}

fn seeds(s: &Subject) {
    for seed in 0..24_u64 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let contexts = faulty_pair(s, seed, &mut rng);
        let queues = [contexts[0].queue("a"), contexts[1].queue("b")];
        program(seed, &contexts, &queues, &mut rng);
    }
}

/// Moves a value between two contexts in random steps. The value is right unless something has failed.
fn program(seed: u64, contexts: &[Context; 2], queues: &[CommandQueue; 2], rng: &mut fastrand::Rng) {
    const SHAPE: [usize; 2] = [5, 60_001];
    const N: usize = SHAPE[0] * SHAPE[1];
    let padded = [rng.usize(..3), rng.usize(..3)].map(|more| [SHAPE[0] + more / 2, SHAPE[1] + more]);
    let made: Vec<_> = contexts
        .iter()
        .zip(padded)
        .map(|(ctx, padded)| ctx.zeros::<u32, 2>(Shape::padded(SHAPE, padded)))
        .collect();
    let Ok(arrays) = made.into_iter().collect::<fencepost::Result<Vec<_>>>() else { return };
    let mut last = [0_u32; 2];
    for round in 1..=4_u32 {
        let from = rng.usize(..2);
        let by = rng.usize(..2);
        let filled = queues[from].fill(&mut arrays[from].clone(), round);
        let copied = queues[by].copy(&arrays[from], &mut arrays[1 - from].clone());
        if filled.is_err() || copied.is_err() {
            return;
        }
        last = [round; 2];
    }
    for at in 0..2 {
        match queues[at].read(&arrays[at]).wait() {
            Ok(found) if queues.iter().all(|queue| queue.finish().wait().is_ok()) => {
                assert!(found == vec![last[at]; N], "seed {seed}");
            }
            Ok(_) => {}
            Err(error) => assert!(!error.to_string().contains("bug"), "seed {seed}: {error}"),
        }
    }
}

//! E07 for contexts on one wgpu device. They submit to one hardware queue, so the device keeps the order, not the host.

use super::between_contexts::from_to;
use crate::common::full::full;
use crate::common::program::Program;
use crate::common::{BY_TURNS, Case, Subject, assert_error, case, dump, hold, queues, raw, wgpu_only};
use fencepost::prelude::*;
use fencepost::{AdoptOptions, ErrorDetail, Policy, RecorderChoice, SimulatorOptions};
use std::sync::mpsc::channel;

pub fn cases() -> Vec<Case> {
    wgpu_only(vec![
        case("e07_on_one_device_a_wait_for_submitted_work_does_not_poll_the_source", without_polls)
            .not_in_a_page(BY_TURNS),
        case("e07_on_one_device_a_wait_ends_when_the_awaited_work_is_submitted", submitted_later)
            .not_in_a_page(BY_TURNS),
        case("e07_on_one_device_later_commands_complete_after_the_awaited_work", not_early),
        case("e07_on_one_device_reads_and_uploads_in_place_come_after_the_wait", in_place),
        case("e07_on_one_device_copies_between_contexts_are_in_order", copies),
        case("e07_devices_of_two_wgpu_instances_are_not_taken_for_one_device", two_instances),
        case("m09_a_copy_between_arrays_of_two_contexts_on_one_buffer_is_exact", one_buffer),
        case("d08_arrays_of_two_members_on_one_buffer_must_not_overlap", members_on_one_buffer),
        case("e07_on_one_device_contexts_take_turns_on_a_buffer", turns),
        case("e07_on_one_device_a_failure_gives_the_error_other_context", failure),
    ])
}

const N: usize = 500;
const RECORDERS: [RecorderChoice; 2] = [RecorderChoice::Wgpu, RecorderChoice::Hal];

/// Returns the recorders of two contexts: every pair in the full suite, otherwise the pairs of different recorders.
fn recorders() -> Vec<(RecorderChoice, RecorderChoice)> {
    let all = RECORDERS.into_iter().flat_map(|one| RECORDERS.map(|other| (one, other)));
    all.filter(|(one, other)| full() || one != other).collect()
}

/// Calls `each` with two contexts on one device of the caller, for several pairs of recorders. `threads` says which of
/// the two contexts have threads.
fn each_two(subject: &Subject, threads: [bool; 2], each: impl Fn(&Context, &Context)) {
    for (one, other) in recorders() {
        let (device, queue) = raw::open(subject);
        let adopt = |recorder, threads| {
            let options = AdoptOptions::default().recorder(recorder).threads(threads);
            subject.adopt((device.clone(), queue.clone()), options)
        };
        each(&adopt(one, threads[0]), &adopt(other, threads[1]));
    }
}

/// Returns the number of submissions whose end a context has noticed, and the number of its submissions.
fn noticed(ctx: &Context) -> (u64, u64) {
    (dump::completed(ctx), dump::submitted(ctx))
}

/// Returns an array of `waiter`, a queue of `source`, and a marker. The queue fills the array's buffer with sevens
/// after a long kernel; the marker comes after the fill.
fn filled_late(
    subject: &Subject,
    source: &Context,
    waiter: &Context,
) -> (DeviceArray<u32>, CommandQueue, Event) {
    let buffer = Program::of(source).buffer(N);
    let from = source.queue("from");
    subject.spin(source, &from, 30);
    from.fill(&mut source.array_on::<u32, 1>(&buffer, [N]).unwrap(), 7).unwrap();
    let filled = from.marker();
    (waiter.array_on(&buffer, [N]).unwrap(), from, filled)
}

/// Checks that the wait needs no poll of the source: without threads a context notices the end of its work only when
/// polled.
fn without_polls(subject: &Subject) {
    each_two(subject, [false, true], |source, waiter| {
        let to = waiter.queue("to");
        let (ours, from, filled) = filled_late(subject, source, waiter);
        from.flush().unwrap();
        let before = noticed(source);
        to.wait_for(&filled).unwrap();
        assert_eq!(to.read(&ours).wait().unwrap(), [7; N]);
        assert_eq!(noticed(source), before);
        assert!(filled.is_complete().unwrap(), "the first poll finds the fill complete");
    });
}

/// Checks the same as [`without_polls`], but the awaited work is submitted only after the waiting queue is held back.
fn submitted_later(subject: &Subject) {
    each_two(subject, [false; 2], |source, waiter| {
        let to = waiter.queue("to");
        let (ours, _from, filled) = filled_late(subject, source, waiter);
        to.wait_for(&filled).unwrap();
        let read = to.read(&ours);
        to.flush().unwrap(); // the queue is held, and the flush submits the awaited work
        let before = noticed(source);
        assert_eq!(read.wait().unwrap(), [7; N]);
        assert_eq!(noticed(source), before);
        assert!(filled.is_complete().unwrap(), "the first poll finds the fill complete");
    });
}

/// Checks that a command after the wait completes after the awaited work, even a command without work for the device.
fn not_early(subject: &Subject) {
    let third = Context::simulated(SimulatorOptions::default());
    subject.watch(&third);
    each_two(subject, [true; 2], |source, waiter| {
        let [from, to] = from_to(source, waiter);
        let elsewhere = third.queue("elsewhere");
        let after = || {
            subject.spin(source, &from, 20);
            let done = from.marker();
            from.flush().unwrap();
            to.wait_for(&done).unwrap();
            done
        };
        let done = after();
        to.finish().wait().unwrap();
        assert!(done.is_complete().unwrap(), "finish");
        let done = after();
        let passed = to.marker();
        dump::until(|| passed.is_complete().unwrap());
        assert!(done.is_complete().unwrap(), "marker");
        let (done, (sender, receiver)) = (after(), channel());
        to.callback(move || sender.send(done.is_complete()).unwrap()).unwrap();
        to.flush().unwrap();
        assert!(crate::common::received(&receiver).unwrap(), "callback");
        let done = after();
        elsewhere.wait_for(&to).unwrap();
        elsewhere.finish().wait().unwrap();
        assert!(done.is_complete().unwrap(), "a third context");
        let done = after();
        waiter.synchronize().wait().unwrap();
        assert!(done.is_complete().unwrap(), "synchronize");
    });
}

/// Returns, for each recorder, a context on its own device and an adopted context on the same device.
fn own_and_adopted(subject: &Subject) -> Vec<[Context; 2]> {
    let beside = |recorder| {
        let own = subject.ctx_with(Policy::Unchecked);
        let (device, queue) = own.wgpu().unwrap();
        let options = AdoptOptions::default().recorder(recorder);
        let other = subject.adopt((device.clone(), queue.clone()), options);
        [own, other]
    };
    RECORDERS.map(beside).into()
}

/// Has queue `last` wait for queue `from` through a queue of the other context. Reads and uploads in place come after
/// the work of `from`.
fn in_place(subject: &Subject) {
    for [own, other] in own_and_adopted(subject) {
        let [from, last] = queues(&own, ["from", "last"]);
        let between = other.queue("between");
        let mut x = own.zeros::<u32, 1>([N]).unwrap();
        from.fill(&mut x, 1).unwrap();
        assert_eq!(from.read(&x).wait().unwrap(), [1; N]); // from now on, writes make the array visible to the host
        subject.spin(&own, &from, 20);
        from.fill(&mut x, 7).unwrap();
        let filled = from.marker();
        from.flush().unwrap();
        between.wait_for(&filled).unwrap();
        last.wait_for(&between.marker()).unwrap();
        assert_eq!(last.read(&x).wait().unwrap(), [7; N]);
        subject.spin(&own, &from, 20);
        between.wait_for(&from.marker()).unwrap();
        last.wait_for(&between.marker()).unwrap();
        last.upload(&[9; N], &mut x).unwrap();
        last.finish().wait().unwrap();
        assert!(from.marker().is_complete().unwrap(), "upload");
        assert_eq!(last.read(&x).wait().unwrap(), [9; N]);
    }
}

fn copies(subject: &Subject) {
    for [own, other] in own_and_adopted(subject) {
        let [busy, last] = queues(&own, ["busy", "last"]);
        let from = other.queue("from");
        let x = from.full::<u32, 1>([N], 5).unwrap();
        let mut y = own.full([N], 1).unwrap();
        assert_eq!(last.read(&y).wait().unwrap(), [1; N]);
        subject.spin(&own, &busy, 20);
        busy.flush().unwrap();
        from.copy(&x, &mut y).unwrap();
        from.finish().wait().unwrap();
        assert_eq!(last.read(&y).wait().unwrap(), [5; N]);
        subject.spin(&own, &busy, 20);
        busy.flush().unwrap();
        from.copy(&y, &mut x.clone()).unwrap();
        last.wait_for(&from.marker()).unwrap();
        last.fill(&mut y, 6).unwrap();
        assert_eq!(from.read(&x).wait().unwrap(), [5; N]);
        // The copy is on the queue of the target, which waits for the queue of the source.
        subject.spin(&own, &last, 20);
        last.fill(&mut y, 7).unwrap();
        from.wait_for(&last.marker()).unwrap();
        from.copy(&y, &mut x.clone()).unwrap();
        assert_eq!(from.read(&x).wait().unwrap(), [7; N]);
    }
}

/// Opens devices of two wgpu instances. Each instance numbers its devices from the start, so the numbers may be equal.
fn two_instances(subject: &Subject) {
    let contexts = [(); 2].map(|()| subject.adopt(raw::open(subject), AdoptOptions::default()));
    let from = contexts[0].queue("from");
    let to = contexts[1].queue("to");
    let mut x = to.zeros::<u32, 1>([N]).unwrap();
    subject.spin(&contexts[0], &from, 30);
    let done = from.marker();
    from.flush().unwrap();
    to.wait_for(&done).unwrap();
    to.fill(&mut x, 1).unwrap();
    to.finish().wait().unwrap();
    assert!(done.is_complete().unwrap(), "each device has its own hardware queue");
}

/// Copies between overlapping ranges of one buffer, with more bytes than one piece of a copy.
fn one_buffer(subject: &Subject) {
    const LEN: usize = 1 << 20;
    const SHIFT: usize = 100;
    let words = |at: usize| at as u32;
    each_two(subject, [true; 2], |source, target| {
        let program = Program::of(source);
        let queue = target.queue("copy");
        let buffer = program.buffer(LEN);
        let from = source.array_on::<u32, 1>(&buffer, [LEN]).unwrap();
        let to = target.array_on::<u32, 1>(&buffer, [LEN]).unwrap();
        for (src, dst) in [(0, SHIFT), (SHIFT, 0)] {
            let before: Vec<u32> = (0..LEN).map(words).collect();
            program.submit(&before, &buffer);
            let ends = [src, dst].map(|start| start..start + LEN - SHIFT);
            let [src, dst] = ends.clone();
            queue.copy(&from.slice(src).unwrap(), &mut to.slice(dst).unwrap()).unwrap();
            queue.finish().wait().unwrap();
            let mut expected = before;
            expected.copy_within(ends[0].clone(), ends[1].start);
            assert!(program.read(&buffer, LEN) == expected, "{ends:?}");
        }
    });
}

/// Calls a group whose members have arrays on one buffer: `x` and `y` have all its words, `first` and `last` a half each.
/// Arrays that a call writes must share no word with others of the call.
fn members_on_one_buffer(subject: &Subject) {
    each_two(subject, [true; 2], |one, other| {
        let program = Program::of(one);
        let buffer = program.buffer(2 * N);
        let words: Vec<u32> = (0..2 * N as u32).collect();
        program.submit(&words, &buffer);
        let members = [one, other].map(|ctx| ctx.queue("member"));
        let group = QueueGroup::new(&members).unwrap();
        let finish = || members.iter().for_each(|queue| queue.finish().wait().unwrap());
        let [x, y] = [one, other].map(|ctx| ctx.array_on::<u32, 1>(&buffer, [2 * N]).unwrap());
        let first = x.slice(0..N).unwrap();
        let last = y.slice(N..2 * N).unwrap();
        let last_but_one = y.slice(N - 1..2 * N - 1).unwrap();
        let mut outs = members.each_ref().map(|queue| queue.zeros::<u32, 1>([2 * N]).unwrap());
        let enqueued = || [one, other].map(dump::account);
        let before = enqueued();
        for mut arrays in [[x.clone(), y.clone()], [first.clone(), last_but_one.clone()]] {
            assert_error!(group.all_reduce(&mut arrays, Operation::Sum), ErrorDetail::Aliased { .. });
        }
        let mut with_parts = [outs[0].clone(), y.clone()];
        assert_error!(group.all_gather([&first, &last], &mut with_parts), ErrorDetail::Aliased { .. });
        let overlapping = [(&first, &mut last_but_one.clone())];
        assert_error!(group.exchange(overlapping), ErrorDetail::Aliased { .. });
        let twice = [(&outs[0].clone(), &mut x.clone()), (&outs[1].clone(), &mut y.clone())];
        assert_error!(group.exchange(twice), ErrorDetail::Aliased { .. });
        assert_eq!(enqueued(), before);
        assert_eq!(program.read(&buffer, 2 * N), words);

        // Parts are only read, so they may overlap.
        let parts = [&first, &y.slice(0..N).unwrap()];
        group.all_gather(parts, &mut outs).unwrap();
        for (queue, out) in members.iter().zip(&outs) {
            assert_eq!(queue.read(out).wait().unwrap(), [&words[..N], &words[..N]].concat());
        }
        group.all_reduce([&mut first.clone(), &mut last.clone()], Operation::Sum).unwrap();
        finish();
        let sums: Vec<u32> = (0..N as u32).map(|i| 2 * i + N as u32).collect();
        assert_eq!(program.read(&buffer, 2 * N), [&*sums, &*sums].concat());
        members[0].fill(&mut first.clone(), 7).unwrap();
        group.exchange([(&first, &mut last.clone())]).unwrap();
        finish();
        assert_eq!(program.read(&buffer, 2 * N), [7; 2 * N]);
    });
}

fn turns(subject: &Subject) {
    each_two(subject, [true; 2], |one, other| {
        let buffer = Program::of(one).buffer(N);
        let mut sides = [one, other].map(|ctx| {
            let x = ctx.array_on::<u32, 1>(&buffer, [N]).unwrap();
            (ctx.queue("side"), x, ctx.zeros::<u32, 1>([N]).unwrap())
        });
        for turn in 1..=40_usize {
            let [(from, x, _), (to, y, seen)] = &mut sides;
            from.fill(x, turn as u32).unwrap();
            to.wait_for(&from.marker()).unwrap();
            to.copy(&*y, seen).unwrap();
            from.wait_for(&to.marker()).unwrap();
            if turn % 3 == 0 {
                from.flush().unwrap();
            }
            if turn % 5 == 0 {
                assert_eq!(to.read(&*seen).wait().unwrap(), [turn as u32; N]);
            }
            sides.reverse();
        }
    });
}

fn failure(subject: &Subject) {
    each_two(subject, [true; 2], |source, waiter| {
        let [from, to] = from_to(source, waiter);
        let gate = hold(&from);
        to.wait_for(&from.marker()).unwrap();
        drop(gate);
        assert_error!(to.finish().wait(), ErrorDetail::OtherContext { .. });
        assert!(to.take_error().is_some());
        let x = to.full([N], 3_u32).unwrap();
        assert_eq!(to.read(&x).wait().unwrap(), [3; N]);
    });
}

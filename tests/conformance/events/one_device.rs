//! E07 for contexts on one wgpu device, which submit to one queue: the device keeps the order, not the host.

use crate::common::program::Program;
use crate::common::{Case, Subject, case, raw};
use fencepost::prelude::*;
use fencepost::{AdoptOptions, Kind, RecorderChoice};

const NO_DEVICE: &str = "there is no wgpu device";

pub fn cases() -> Vec<Case> {
    vec![
        case("e07_on_one_device_a_wait_for_submitted_work_asks_the_host_nothing", unasked)
            .gpu_only(NO_DEVICE),
        case("e07_on_one_device_a_wait_is_over_when_the_work_is_submitted", submitted_later)
            .gpu_only(NO_DEVICE),
        case("e07_on_one_device_contexts_take_turns_on_a_buffer", turns).gpu_only(NO_DEVICE),
        case("e07_on_one_device_a_failure_is_told_as_between_any_two", failure).gpu_only(NO_DEVICE),
    ]
}

const N: usize = 500;
const RECORDERS: [RecorderChoice; 2] = [RecorderChoice::Wgpu, RecorderChoice::Hal];

/// Calls `each` with two contexts on a device of the program's, the first without threads if that is wanted, for every
/// recorder of the first and of the second.
fn each_two(subject: &Subject, threads: bool, each: impl Fn(&Context, &Context)) {
    for (one, other) in RECORDERS.into_iter().flat_map(|one| RECORDERS.map(|other| (one, other))) {
        let (device, queue) = raw::open(subject);
        let adopt = |recorder, threads| {
            let options = AdoptOptions { recorder, threads, ..AdoptOptions::default() };
            let ctx = Context::adopt(device.clone(), queue.clone(), options).unwrap();
            subject.watch(&ctx);
            ctx
        };
        each(&adopt(one, threads), &adopt(other, true));
    }
}

/// How many submissions a context has noticed the end of, and how many it has made.
fn noticed(ctx: &Context) -> (u64, u64) {
    let dump = ctx.state_dump();
    let number = |name| {
        let rest = dump.split_once(name).expect("a lane").1.trim_start();
        rest.split(|c: char| !c.is_ascii_digit())
            .next()
            .and_then(|number| number.parse().ok())
            .expect("a number")
    };
    (number("completed"), number("submitted"))
}

/// Without threads a context notices the end of its work only when somebody asks.
fn unasked(subject: &Subject) {
    each_two(subject, false, |source, waiter| {
        let (from, to) = (source.queue("from"), waiter.queue("to"));
        let buffer = Program::of(source).buffer(N);
        let mut theirs = source.array_on::<u32, 1>(&buffer, [N]).unwrap();
        let ours = waiter.array_on::<u32, 1>(&buffer, [N]).unwrap();
        subject.spin(source, &from, 100);
        from.fill(&mut theirs, 7).unwrap();
        let filled = from.marker();
        from.flush().unwrap();
        let before = noticed(source);
        to.wait_for(&filled).unwrap();
        assert_eq!(to.read(&ours).wait().unwrap(), [7; N]);
        assert_eq!(noticed(source), before);
        assert!(filled.is_complete().unwrap(), "at the first look");
    });
}

/// The host only flushes here, and a gate keeps the work over there from the device until the wait is enqueued.
fn submitted_later(subject: &Subject) {
    each_two(subject, true, |source, waiter| {
        let (from, to, gate) = (source.queue("from"), waiter.queue("to"), source.user_event("gate"));
        let buffer = Program::of(source).buffer(N);
        let mut theirs = source.array_on::<u32, 1>(&buffer, [N]).unwrap();
        let ours = waiter.array_on::<u32, 1>(&buffer, [N]).unwrap();
        from.wait_for(&gate.event()).unwrap();
        from.fill(&mut theirs, 7).unwrap();
        to.wait_for(&from.marker()).unwrap();
        let read = to.read(&ours);
        to.flush().unwrap();
        assert!(!to.is_complete().unwrap());
        gate.signal();
        assert_eq!(read.wait().unwrap(), [7; N]);
    });
}

fn turns(subject: &Subject) {
    each_two(subject, true, |one, other| {
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
    each_two(subject, true, |source, waiter| {
        let (from, to, gate) = (source.queue("from"), waiter.queue("to"), source.user_event("gate"));
        from.wait_for(&gate.event()).unwrap();
        to.wait_for(&from.marker()).unwrap();
        drop(gate);
        let error = to.finish().wait().unwrap_err();
        assert!(matches!(error.kind(), Kind::OtherContext { .. }), "{error}");
        assert!(to.take_error().is_some());
        let x = to.full([N], 3_u32).unwrap();
        assert_eq!(to.read(&x).wait().unwrap(), [3; N]);
    });
}

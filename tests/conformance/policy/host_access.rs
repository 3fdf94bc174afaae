//! P05: a host read waits for the last write of its bytes, a host write for their last uses, and both for nothing else.

use crate::common::clock::Clock;
use crate::common::early_results::{self, Look, RUNS, Short, VALUE};
use crate::common::{Case, ONE_THREAD, Subject, case, hold};
use fencepost::{Context, DeviceArray, Policy, UserEvent};
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("p05_a_read_waits_for_no_other_queue", other_queue),
        case("p05_a_read_waits_for_no_later_command_of_its_own_queue", after),
        case("p05_a_read_map_waits_for_the_writer_of_its_bytes_only", other_bytes),
        case("p05_a_write_map_waits_for_the_users_of_its_bytes_only", other_users),
        case("p05_a_read_waits_for_the_writer_on_another_queue", writer),
        case("p05_a_map_waits_for_the_writer_under_every_policy", writer_of_a_map),
        case("p05_unchecked_a_read_without_a_queue_waits_for_every_queue", no_queue)
            .not_in_a_page(ONE_THREAD),
        case("p05_unchecked_a_refused_read_enqueues_no_wait", refused_reads),
        case("p05_unchecked_a_read_on_the_current_queue_waits_for_that_queue", current_queue),
        case("p05_no_kind_of_read_waits_for_a_later_kernel", kernel_after).on_devices(RUNS).host_side(),
    ]
}

/// Longest wait that must succeed.
const LONG: Duration = Duration::from_secs(20);
/// Time limit of a poll of a result that cannot be ready.
const NOW: Duration = Duration::ZERO;
const ALL: [Policy; 3] = [Policy::Ordered, Policy::Checked, Policy::Unchecked];
const N: usize = 128;

/// Enqueues and flushes a fill of the array after a user event, on its own queue; returns the event.
fn held(ctx: &Context, x: &mut DeviceArray<u32>) -> UserEvent {
    let queue = ctx.queue("held");
    let gate = hold(&queue);
    queue.fill(x, 99).unwrap();
    queue.flush().unwrap();
    gate
}

fn other_queue(s: &Subject) {
    for policy in ALL {
        let (ctx, [queue]) = s.with_queues_under(policy, ["q"]);
        let mut x = ctx.full([N], 1_u32).unwrap();
        queue.fill(&mut x, 2).unwrap();
        let gate = held(&ctx, &mut ctx.zeros([N]).unwrap());
        let found = queue.read(&x).wait_timeout(LONG).unwrap();
        assert_eq!(found.expect("the read does not wait for the held queue"), [2; N], "{policy:?}");
        let mut out = [0; N];
        queue.read_into(&x, &mut out).unwrap();
        assert_eq!(out, [2; N]);
        gate.signal();
    }
}

fn after(s: &Subject) {
    for policy in ALL {
        let (ctx, [queue]) = s.with_queues_under(policy, ["q"]);
        let mut clock = Clock::new(&ctx);
        let mut x = ctx.full([N], 1_u32).unwrap();
        let mut read = queue.read(&x);
        let gate = hold(&queue);
        queue.fill(&mut x, 2).unwrap();
        queue.flush().unwrap();
        assert_eq!(
            read.wait_timeout(LONG).unwrap().expect("the held fill comes after the read"),
            [1; N],
            "{policy:?}"
        );
        let mut last = queue.read(&x);
        for _ in 0..2 {
            assert!(last.wait_timeout(NOW).unwrap().is_none(), "the held fill comes before the read");
            clock.tick();
        }
        gate.signal();
        assert_eq!(last.wait().unwrap(), [2; N]);
    }
}

fn other_bytes(s: &Subject) {
    for policy in ALL {
        let (ctx, [queue]) = s.with_queues_under(policy, ["q"]);
        let mut clock = Clock::new(&ctx);
        let x = ctx.full([N], 1_u32).unwrap();
        let mut low = x.slice(0..N / 2).unwrap();
        let mut high = x.slice(N / 2..N).unwrap();
        queue.fill(&mut low, 2).unwrap();
        let gate = held(&ctx, &mut high);
        let map = low.map_read().wait_timeout(LONG).unwrap().expect("the held writer writes elsewhere");
        assert_eq!(*map, [2; N / 2], "{policy:?}");
        drop(map);
        let mut late = high.map_read();
        for _ in 0..2 {
            assert!(late.wait_timeout(NOW).unwrap().is_none(), "the writer of the bytes is held");
            clock.tick();
        }
        gate.signal();
        assert_eq!(*late.wait().unwrap(), [99; N / 2]);
    }
}

fn other_users(s: &Subject) {
    for policy in ALL {
        let ctx = s.ctx_with(policy);
        let mut clock = Clock::new(&ctx);
        let x = ctx.full([N], 1_u32).unwrap();
        let low = x.slice(0..N / 2).unwrap();
        let mut high = x.slice(N / 2..N).unwrap();
        let gate = held(&ctx, &mut high);
        low.map_write().wait_timeout(LONG).unwrap().expect("the held fill uses other bytes").fill(5);
        let mut late = high.map_write();
        for _ in 0..2 {
            assert!(late.wait_timeout(NOW).unwrap().is_none(), "the fill of the bytes is held");
            clock.tick();
        }
        drop(late);
        gate.signal();
        let queue = ctx.queue("made later");
        let found = queue.read(&x).wait().unwrap();
        assert_eq!((&found[..N / 2], &found[N / 2..]), (&[5; N / 2][..], &[99; N / 2][..]), "{policy:?}");
    }
}

/// Uses memory that the host reaches, because a read of other memory is a copy on the device.
fn kernel_after(s: &Subject) {
    for policy in ALL {
        early_results::on_its_queue_of(
            s,
            &s.options_and_switches(|options, switches| {
                options.policy = policy;
                switches.shared_memory = true;
            }),
            &[
                ("a read", read),
                ("a read of a slice", |at| {
                    let read = at.queue.read(&at.x.slice(8..16).unwrap());
                    Box::new(move || assert_eq!(read.wait().unwrap(), [VALUE; 8]))
                }),
            ],
        );
    }
}

fn read<'a>(at: &Short<'a>) -> Look<'a> {
    let read = at.queue.read(&at.x);
    Box::new(move || assert_eq!(read.wait().unwrap(), [VALUE; early_results::N]))
}

fn writer(s: &Subject) {
    let (ctx, [one, two]) = s.with_queues(["one", "two"]);
    let mut x = ctx.zeros([N]).unwrap();
    for value in 1..10_u32 {
        s.spin(&ctx, &one, 2);
        one.fill(&mut x, value).unwrap();
        assert_eq!(two.read(&x).wait().unwrap(), [value; N]);
    }
}

fn writer_of_a_map(s: &Subject) {
    for policy in ALL {
        let ctx = s.ctx_with(policy);
        let queues = [ctx.queue("one"), ctx.queue("two")];
        let mut x = ctx.zeros([N]).unwrap();
        for value in 1..6_u32 {
            let queue = &queues[value as usize % 2];
            s.spin(&ctx, queue, 2);
            queue.fill(&mut x, value).unwrap();
            assert_eq!(*x.map_read().wait().unwrap(), [value; N], "{policy:?}");
        }
    }
}

/// Read of the last element of `x` without a queue.
type Read = fn(&Context, &DeviceArray<u32>) -> u32;

fn no_queue(s: &Subject) {
    let reads: [Read; 2] = [
        |ctx, x| ctx.to_vec(x).unwrap()[N - 1],
        |ctx, x| match ctx.display(x).unwrap().to_string().contains("99") {
            true => 99,
            false => 0,
        },
    ];
    for read in reads {
        let Held { ctx, mut clock, x, gate } = after_a_held_writer(s);
        crate::common::thread::scope(|scope| {
            let read = scope.spawn(|| read(&ctx, &x));
            // The ticks run work on the device, so a read that does not wait is done after them.
            (0..3).for_each(|_| clock.tick());
            gate.signal();
            assert_eq!(read.join().unwrap(), 99);
        });
    }
}

/// Under `Unchecked`: an array whose write is held back until the gate opens, and a clock on an unblocked queue.
struct Held {
    ctx: Context,
    clock: Clock,
    x: DeviceArray<u32>,
    gate: UserEvent,
}

/// Returns a context, and an array with a held-back write. The default queue of the context exists already, because a
/// new one would come after the held work.
fn after_a_held_writer(s: &Subject) -> Held {
    let ctx = s.ctx_with(Policy::Unchecked);
    let clock = Clock::new(&ctx);
    ctx.default_queue().fill(&mut ctx.zeros([N]).unwrap(), 1).unwrap();
    let mut x = ctx.full([N], 1_u32).unwrap();
    let gate = held(&ctx, &mut x);
    Held { ctx, clock, x, gate }
}

/// Checks that a refused read enqueues no command that the default queue would wait for.
fn refused_reads(s: &Subject) {
    let Held { ctx, gate, .. } = after_a_held_writer(s);
    let foreign = s.ctx().zeros::<u32, 1>([N]).unwrap();
    ctx.to_vec(&foreign).unwrap_err();
    let mut y = ctx.zeros([N]).unwrap();
    let queue = ctx.default_queue();
    queue.fill(&mut y, 5).unwrap();
    let found = queue.read(&y).wait_timeout(LONG).unwrap();
    assert_eq!(found.expect("nothing was enqueued that waits for the held queue"), [5; N]);
    gate.signal();
}

fn current_queue(s: &Subject) {
    let (ctx, [queue]) = s.with_queues_under(Policy::Unchecked, ["q"]);
    let mut x = ctx.full([N], 1_u32).unwrap();
    queue.fill(&mut x, 2).unwrap();
    let gate = held(&ctx, &mut ctx.zeros([N]).unwrap());
    let found = queue.scope(|| ctx.current_queue().read(&x).wait_timeout(LONG)).unwrap();
    assert_eq!(found.expect("the read does not wait for the held queue"), [2; N]);
    gate.signal();
}

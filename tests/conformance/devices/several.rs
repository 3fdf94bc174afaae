//! D02: several contexts at once, on one adapter and on several.

use crate::common::early_results::{self, RUNS};
use crate::common::kernels::{Iota, Mix, Spin, mix};
use crate::common::partners::{each_pair, every_pair, partners, without_threads};
use crate::common::thread;
use crate::common::{Case, NO_BLOCKING, ONE_THREAD, Subject, case, dump, hold};
use fencepost::prelude::*;
use fencepost::{HostBuffer, SimulatorOptions, args};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use web_time::Instant;

pub fn cases() -> Vec<Case> {
    vec![
        case("d02_contexts_side_by_side_give_the_results_of_each_alone", side_by_side),
        case("d02_work_of_one_context_runs_while_work_of_another_is_held", while_held),
        case("d02_work_of_one_context_completes_while_a_kernel_of_another_runs", while_busy)
            .not_simulated_in_a_page(NO_BLOCKING)
            .asynchronous(
                "the driver runs a kernel on all cores, inside the submission or before the next one",
            ),
        case("d02_a_wait_for_another_context_ends_before_a_later_kernel_of_that_context", later_kernel)
            .on_devices(RUNS)
            .host_side(),
        case("d02_ping_pong_by_events_only_is_exact", ping_pong),
        case("d02_ping_pong_with_waits_of_the_host_is_exact", ping_pong_by_the_host),
        case("d02_a_pipeline_over_three_contexts_is_exact", pipeline),
        case("d02_contexts_are_opened_and_dropped_by_several_threads_at_once", opened_and_dropped)
            .not_in_a_page(ONE_THREAD),
        case("d02_dropping_a_context_leaves_the_results_of_others_right", ends),
        case("d02_arrays_stay_on_the_context_that_made_them", stay),
        case("d02_two_contexts_take_turns_with_synchronize", turns_with_synchronize),
    ]
}

const N: usize = 4096;

fn side_by_side(s: &Subject) {
    every_pair(s, |names, one, two| {
        let contexts = [one, two];
        let queues = contexts.map(|ctx| ctx.queue("q"));
        let arrays = contexts.map(|ctx| ctx.zeros::<u32, 1>([N]).unwrap());
        let kernels = contexts.map(|ctx| ctx.kernel::<Iota>().unwrap());
        for round in 0..20_u32 {
            for at in 0..2 {
                let args = Iota { start: round, step: at as u32 + 1, out: &mut arrays[at].clone() };
                queues[at].launch(&kernels[at], Grid::threads([N]), args).unwrap();
            }
        }
        let reads = [0, 1].map(|at| queues[at].read(&arrays[at]));
        for (at, read) in reads.into_iter().enumerate() {
            let expected: Vec<u32> = (0..N as u32).map(|i| 19 + i * (at as u32 + 1)).collect();
            assert!(read.wait().unwrap() == expected, "{names}, context {at}");
        }
    });
}

fn ten_rounds(ctx: &Context) {
    let queue = ctx.queue("q");
    for round in 0..10_u32 {
        let x = queue.full([N], round).unwrap();
        assert_eq!(queue.read(&x).wait().unwrap(), [round; N]);
    }
}

/// Copies an array and reads the copy, without a kernel.
fn copy_around(ctx: &Context) {
    let queue = ctx.queue("q");
    let x = queue.array(&[7_u32; N]).unwrap();
    let mut y = queue.zeros([N]).unwrap();
    queue.copy(&x, &mut y).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), [7; N]);
}

fn while_held(s: &Subject) {
    let [held, ctx] = [0; 2].map(|_| s.ctx());
    let queue = held.queue("held");
    let gate = hold(&queue);
    let x = queue.full([N], 3_u32).unwrap();
    let read = queue.read(&x);
    queue.flush().unwrap();
    ten_rounds(&ctx);
    assert!(!queue.marker().is_complete().unwrap());
    gate.signal();
    assert_eq!(read.wait().unwrap(), [3; N]);
}

fn later_kernel(s: &Subject) {
    early_results::on_its_queue(
        s,
        &[
            ("a wait of a context on the same adapter", |at| elsewhere(&at.subject.ctx(), at)),
            ("a wait of a context on the CPU recorder", |at| {
                elsewhere(&Context::simulated(SimulatorOptions::default()), at)
            }),
        ],
    );
}

fn elsewhere<'a>(other: &Context, at: &early_results::Short<'a>) -> early_results::Look<'a> {
    let queue = other.queue("elsewhere");
    queue.wait_for(&at.queue.marker()).unwrap();
    Box::new(move || queue.finish().wait().unwrap())
}

fn while_busy(s: &Subject) {
    if s.is_cpu() { beside_a_kernel_that_waits(s) } else { beside_a_long_kernel(s) }
}

/// Lengthens the kernel until the copies of the other context end before it, because a busy machine delays the copies.
/// If one context waited for the kernel of the other, the copies would end after a kernel of any length, and the test
/// would fail.
///
/// The kernel has one workgroup, and the other context only copies. SwiftShader runs the workgroups of all devices on
/// the same threads, so another kernel might run after this one; but it runs copies on a separate thread for each
/// device.
fn beside_a_long_kernel(s: &Subject) {
    let [busy, ctx] = [0; 2].map(|_| s.ctx());
    let long = busy.queue("long");
    let spin = busy.kernel::<Spin>().unwrap();
    let mut out = long.zeros::<u32, 1>([1]).unwrap();
    let mut launch = |rounds| long.launch(&spin, Grid::threads([1]), Spin { rounds, out: &mut out }).unwrap();
    launch(1);
    long.finish().wait().unwrap();
    copy_around(&ctx);
    let mut rounds = 1 << 20;
    let took = loop {
        let begun = Instant::now();
        launch(rounds);
        long.finish().wait().unwrap();
        if begun.elapsed() > Duration::from_millis(50) {
            break begun.elapsed();
        }
        rounds *= 2;
    };
    let half_a_second = f64::from(rounds) * 0.5 / took.as_secs_f64();
    let still_ran = [1.0, 2.0, 4.0, 8.0].into_iter().any(|times| {
        let before = dump::submitted(&busy);
        launch((times * half_a_second) as u32);
        long.flush().unwrap();
        dump::until(|| dump::submitted(&busy) != before);
        // The device has no other work of this context, so it runs the kernel.
        copy_around(&ctx);
        let runs = !long.marker().is_complete().unwrap();
        long.finish().wait().unwrap();
        runs
    });
    assert!(still_ran, "every kernel was over before the copies of the other context");
}

/// Launches a kernel that runs until the test ends it.
fn beside_a_kernel_that_waits(s: &Subject) {
    let [busy, ctx] = [0; 2].map(|_| s.ctx());
    let (begins, begun) = channel();
    let (end, ends) = channel::<()>(); // a failure drops the sender, which ends the kernel too
    let ends = Mutex::new(ends);
    let waits = move |_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [HostBuffer<'_>]| {
        begins.send(()).unwrap();
        let _ = ends.lock().unwrap().recv();
    };
    busy.host_kernel("waits", Arc::new(waits)).unwrap();
    let text = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn waits() { out[0] = 1u; }";
    let long = busy.queue("long");
    let kernel = busy.kernel_from(text, "waits").unwrap();
    let mut out = long.zeros::<u32, 1>([1]).unwrap();
    long.launch_dyn(&kernel, Grid::groups([1]), args![&mut out]).unwrap();
    long.flush().unwrap();
    begun.recv().unwrap();
    ten_rounds(&ctx);
    end.send(()).unwrap();
    long.finish().wait().unwrap();
}

/// Adds 1 to every element of `x` and writes the sums to `y`: `0 * y + x + 1`.
fn increment(
    queue: &CommandQueue,
    mix: &fencepost::Kernel<Mix<'static>>,
    x: &DeviceArray<u32>,
    y: &DeviceArray<u32>,
) {
    queue.launch(mix, Grid::threads([N]), Mix { a: 0, b: 1, x, y: &mut y.clone() }).unwrap();
}

fn ping_pong(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Unchecked] {
        for (name, other) in partners(s, policy) {
            let contexts = [s.ctx_with(policy), other];
            let [a, b] = contexts.each_ref().map(|ctx| ctx.queue("q"));
            let [mix_a, mix_b] = contexts.each_ref().map(|ctx| ctx.kernel::<Mix>().unwrap());
            let arrays = contexts.each_ref().map(|ctx| [0, 1].map(|_| ctx.zeros::<u32, 1>([N]).unwrap()));
            for _ in 0..10 {
                increment(&a, &mix_a, &arrays[0][0], &arrays[0][1]);
                b.wait_for(&a.marker()).unwrap();
                b.copy(&arrays[0][1], &mut arrays[1][0].clone()).unwrap();
                increment(&b, &mix_b, &arrays[1][0], &arrays[1][1]);
                a.wait_for(&b.marker()).unwrap();
                a.copy(&arrays[1][1], &mut arrays[0][0].clone()).unwrap();
            }
            assert_eq!(a.read(&arrays[0][0]).wait().unwrap(), [20; N], "{name}, {policy:?}");
        }
    }
}

fn ping_pong_by_the_host(s: &Subject) {
    each_pair(s, |names, one, two| {
        let a = one.queue("a");
        let b = two.queue("b");
        let mut x = one.zeros([N]).unwrap();
        let mut y = two.zeros([N]).unwrap();
        for round in 0..10_u32 {
            a.fill(&mut x, 2 * round + 1).unwrap();
            a.marker().wait().unwrap();
            b.upload(&a.read(&x).wait().unwrap(), &mut y).unwrap();
            b.finish().wait().unwrap();
            assert_eq!(b.read(&y).wait().unwrap(), [2 * round + 1; N], "{names}");
        }
    });
}

/// Sends blocks through three contexts, with two blocks in flight in each context.
fn pipeline(s: &Subject) {
    let mut contexts: Vec<Context> = partners(s, Policy::Ordered).into_iter().map(|(_, ctx)| ctx).collect();
    contexts.rotate_left(1);
    let queues: Vec<_> = contexts.iter().map(|ctx| ctx.queue("stage")).collect();
    let kernels: Vec<_> = contexts.iter().map(|ctx| ctx.kernel::<Mix>().unwrap()).collect();
    let buffer = |ctx: &Context| [0, 1].map(|_| [0, 1].map(|_| ctx.zeros::<u32, 1>([N]).unwrap()));
    let buffers: Vec<_> = contexts.iter().map(buffer).collect();
    let mut reads = Vec::new();
    for block in 0..12_u32 {
        let half = block as usize % 2;
        queues[0].fill(&mut buffers[0][half][0].clone(), block).unwrap();
        for stage in 0..3 {
            let [input, output] = &buffers[stage][half];
            if stage > 0 {
                queues[stage].copy(&buffers[stage - 1][half][1], &mut input.clone()).unwrap();
            }
            let args = Mix { a: 0, b: stage as u32 + 1, x: input, y: &mut output.clone() };
            queues[stage].launch(&kernels[stage], Grid::threads([N]), args).unwrap();
        }
        reads.push(queues[2].read(&buffers[2][half][1]));
    }
    for (block, read) in reads.into_iter().enumerate() {
        let expected = (0..3).fold(block as u32, |value, stage| Mix::of(0, stage + 1, value, 0));
        assert_eq!(read.wait().unwrap(), [expected; N], "block {block}");
    }
}

fn opened_and_dropped(s: &Subject) {
    thread::scope(|scope| {
        for at in 0..3_u32 {
            scope.spawn(move || {
                for round in 0..2 {
                    let ctx = s.ctx();
                    let other = without_threads(s, u64::from(at), Policy::Ordered);
                    let queue = ctx.queue("q");
                    let x = other.full([N], at + round).unwrap();
                    let mut y = ctx.zeros([N]).unwrap();
                    queue.copy(&x, &mut y).unwrap();
                    let read = queue.read(&y);
                    drop((ctx, other, x, queue));
                    assert_eq!(read.wait().unwrap(), [at + round; N]);
                }
            });
        }
    });
}

fn ends(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut x = ctx.zeros([N]).unwrap();
    for round in 0..3_u32 {
        for (_, other) in partners(s, Policy::Ordered) {
            let there = other.queue("there");
            let y = there.full([N], round).unwrap();
            there.flush().unwrap();
            queue.fill(&mut x, round).unwrap();
            drop((other, there, y));
        }
        assert_eq!(queue.read(&x).wait().unwrap(), [round; N]);
    }
}

/// Follows Warp's multi-device test `set_device`.
fn stay(s: &Subject) {
    every_pair(s, |names, one, two| {
        let used = |ctx: &Context| ctx.pool().stats().used;
        let x = one.zeros::<u32, 1>([1 << 18]).unwrap();
        assert_eq!((used(one), used(two)), (1 << 20, 0), "{names}");
        let like = one.zeros(&x).unwrap();
        let mut there = two.empty::<u32, 1>([1 << 18]).unwrap();
        two.queue("q").copy(&like, &mut there).unwrap();
        assert_eq!((used(one), used(two)), (2 << 20, 1 << 20), "{names}");
    });
}

/// Follows Warp's multi-device test `pingpong`. No call names a queue.
fn turns_with_synchronize(subject: &Subject) {
    let contexts = [subject.ctx(), subject.ctx()];
    let mut arrays = contexts.each_ref().map(|ctx| ctx.zeros::<u32, 1>([N]).unwrap());
    let mut host = vec![0; N];
    for _ in 0..10 {
        for (ctx, x) in contexts.iter().zip(&mut arrays) {
            ctx.scope(|| {
                let ctx = Context::current().unwrap();
                ctx.current_queue().upload(&host, x).unwrap();
                let zero = ctx.zeros([N]).unwrap();
                mix(&ctx.current_queue(), 1, 1, &zero, x);
                ctx.synchronize().wait().unwrap();
                ctx.current_queue().read_into(x, &mut host).unwrap();
            });
        }
    }
    assert_eq!(host, [20; N]);
}

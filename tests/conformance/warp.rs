//! Covers the requirements of Warp's tests that no test of a rule covers: docs/testing.md has the table.

use crate::common::kernels::Mix;
use crate::common::later::{RUNS, each_length};
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("warp_one_wait_for_the_queue_that_made_the_arrays_is_enough", explicit_wait),
        case("warp_a_scope_needs_no_wait_for_the_queue_that_made_the_arrays", scope_waits),
        case("warp_a_diamond_in_scopes_with_host_waits_is_exact", |s| diamond(s, by_host)),
        case("warp_a_diamond_in_scopes_with_events_is_exact", |s| diamond(s, by_event)),
        case("warp_a_diamond_in_scopes_with_waits_for_queues_is_exact", |s| diamond(s, by_queue)),
        case("warp_an_event_and_its_queue_are_incomplete_until_the_work_of_each_turn_is_over", complete),
        case("warp_an_event_and_its_queue_are_complete_only_after_a_running_kernel", running)
            .vulkan_only(RUNS)
            .host_side(),
        case("warp_synchronizing_an_idle_context_is_no_error", idle),
        case("warp_two_contexts_take_turns_with_synchronize", ping_pong),
    ]
}

const N: usize = 100_000;

/// Adds 1 to every element of `y` on the current queue.
fn increment(ctx: &Context, y: &mut DeviceArray<u32>) {
    let (mix, zero) = (ctx.kernel::<Mix>().unwrap(), ctx.zeros([N]).unwrap());
    ctx.current_queue().launch(&mix, Grid::threads([N]), Mix { a: 1, b: 1, x: &zero, y }).unwrap();
}

/// Makes three arrays in the order of the current queue.
fn arrays(ctx: &Context) -> [DeviceArray<u32>; 3] {
    [0; 3].map(|_| ctx.current_queue().zeros([N]).unwrap())
}

fn count_and_copy(ctx: &Context, [a, b, c]: &mut [DeviceArray<u32>; 3]) {
    increment(ctx, a);
    ctx.current_queue().copy(a, b).unwrap();
    increment(ctx, a);
    ctx.current_queue().copy(a, c).unwrap();
    increment(ctx, a);
}

fn check(ctx: &Context, arrays: &[DeviceArray<u32>; 3]) {
    for (array, value) in arrays.iter().zip([3, 1, 2]) {
        assert_eq!(ctx.current_queue().read(array).wait().unwrap(), [value; N]);
    }
}

fn explicit_wait(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Checked);
    let (made, used) = (ctx.queue("made"), ctx.queue("used"));
    made.make_current();
    let mut all = arrays(&ctx);
    used.wait_for_queue(&made).unwrap();
    used.make_current();
    count_and_copy(&ctx, &mut all);
    check(&ctx, &all);
}

fn scope_waits(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Checked);
    let (made, used) = (ctx.queue("made"), ctx.queue("used"));
    made.make_current();
    let mut all = arrays(&ctx);
    used.scope(|| {
        count_and_copy(&ctx, &mut all);
        check(&ctx, &all);
    });
    assert_eq!(ctx.current_queue().label(), "made");
}

/// Makes the current queue wait for everything enqueued on another queue.
type After = fn(&Context, &CommandQueue);

fn by_host(_: &Context, earlier: &CommandQueue) {
    earlier.finish().wait().unwrap();
}

fn by_event(ctx: &Context, earlier: &CommandQueue) {
    ctx.current_queue().wait_for(&earlier.marker()).unwrap();
}

fn by_queue(ctx: &Context, earlier: &CommandQueue) {
    ctx.current_queue().wait_for_queue(earlier).unwrap();
}

/// Computes `a`, then `b` and `c` from it on two queues, then `d` from both.
fn diamond(subject: &Subject, after: After) {
    let ctx = subject.ctx_with(Policy::Unchecked);
    let [top, left, right] = ["top", "left", "right"].map(|label| ctx.queue(label));
    let mix = ctx.kernel::<Mix>().unwrap();
    let add = |x: &DeviceArray<u32>, y: &mut DeviceArray<u32>| {
        ctx.current_queue().launch(&mix, Grid::threads([N]), Mix { a: 1, b: 0, x, y }).unwrap();
    };
    let one = ctx.full([N], 1_u32).unwrap();
    let [mut a, mut b, mut c, mut d] = [0; 4].map(|_| ctx.zeros([N]).unwrap());
    top.scope(|| add(&one, &mut a));
    for (side, out) in [(&left, &mut b), (&right, &mut c)] {
        side.scope(|| {
            after(&ctx, &top);
            add(&a, out);
            add(&one, out);
        });
    }
    top.scope(|| {
        after(&ctx, &left);
        after(&ctx, &right);
        add(&b, &mut d);
        add(&c, &mut d);
    });
    for (array, value) in [&a, &b, &c, &d].into_iter().zip([1, 2, 2, 4]) {
        assert_eq!(top.read(array).wait().unwrap(), [value; N]);
    }
}

fn complete(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, event) = (ctx.queue("main"), ctx.event());
    assert!(queue.is_complete().unwrap() && event.is_complete().unwrap());
    let mut x = ctx.zeros([N]).unwrap();
    for _ in 0..5 {
        let gate = ctx.user_event("gate");
        queue.wait_for(&gate.event()).unwrap();
        queue.scope(|| increment(&ctx, &mut x));
        queue.record(&event).unwrap();
        assert!(!queue.is_complete().unwrap() && !event.is_complete().unwrap());
        gate.signal();
        ctx.synchronize().wait().unwrap();
        assert!(queue.is_complete().unwrap() && event.is_complete().unwrap());
    }
    assert_eq!(queue.read(&x).wait().unwrap(), [5; N]);
}

fn running(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, event) = (ctx.queue("main"), ctx.event());
    for _ in 0..3 {
        each_length("the answer that an event and its queue are incomplete", |milliseconds| {
            subject.spin(&ctx, &queue, milliseconds);
            queue.record(&event).unwrap();
            let incomplete = !queue.is_complete().unwrap() && !event.is_complete().unwrap();
            event.wait().unwrap();
            assert!(queue.is_complete().unwrap() && event.is_complete().unwrap());
            incomplete
        });
    }
}

fn idle(subject: &Subject) {
    let ctx = subject.ctx();
    ctx.synchronize().wait().unwrap();
    ctx.default_queue().finish().wait().unwrap();
    ctx.event().wait().unwrap();
    ctx.current_queue().marker().wait().unwrap();
    ctx.synchronize().wait().unwrap();
}

fn ping_pong(subject: &Subject) {
    let contexts = [subject.ctx(), subject.ctx()];
    let mut arrays = contexts.each_ref().map(|ctx| ctx.zeros::<u32, 1>([N]).unwrap());
    let mut host = vec![0; N];
    for _ in 0..10 {
        for (ctx, x) in contexts.iter().zip(&mut arrays) {
            ctx.scope(|| {
                let ctx = Context::current().unwrap();
                ctx.current_queue().upload(&host, x).unwrap();
                increment(&ctx, x);
                ctx.synchronize().wait().unwrap();
                ctx.current_queue().read_into(x, &mut host).unwrap();
            });
        }
    }
    assert_eq!(host, [20; N]);
}

//! Q08: the results of work that is enqueued in scopes and on the current queues of threads.

use crate::common::kernels::mix;
use crate::common::thread;
use crate::common::{Case, ONE_THREAD, Subject, case};
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("q08_one_wait_for_the_queue_that_made_the_arrays_is_enough", explicit_wait),
        case("q08_a_scope_needs_no_wait_for_the_queue_that_made_the_arrays", scope_waits),
        case("q08_a_diamond_in_scopes_with_host_waits_is_exact", |s| diamond(s, by_host)),
        case("q08_a_diamond_in_scopes_with_events_is_exact", |s| diamond(s, by_event)),
        case("q08_a_diamond_in_scopes_with_waits_for_queues_is_exact", |s| diamond(s, by_queue)),
        case("q08_a_scope_works_after_its_caller_drops_its_handle_of_the_queue", dropped_handle),
        case("q08_two_threads_may_use_and_drop_one_current_queue", two_threads).not_in_a_page(ONE_THREAD),
        case("q08_threads_that_work_on_queues_of_their_own_are_exact", threads).not_in_a_page(ONE_THREAD),
    ]
}

const N: usize = 100_000;

/// Adds 1 to every element of `y` on the current queue.
fn increment(ctx: &Context, y: &mut DeviceArray<u32>) {
    let zero = ctx.zeros([N]).unwrap();
    mix(&ctx.current_queue(), 1, 1, &zero, y);
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

/// Follows Warp's `test_stream_arg_explicit_sync`.
fn explicit_wait(subject: &Subject) {
    let (ctx, [made, used]) = subject.with_queues_under(Policy::Checked, ["made", "used"]);
    made.make_current();
    let mut all = arrays(&ctx);
    used.wait_for(&made).unwrap();
    used.make_current();
    count_and_copy(&ctx, &mut all);
    check(&ctx, &all);
}

/// Follows Warp's `test_stream_scope_implicit_sync`.
fn scope_waits(subject: &Subject) {
    let (ctx, [made, used]) = subject.with_queues_under(Policy::Checked, ["made", "used"]);
    made.make_current();
    let mut all = arrays(&ctx);
    used.scope(|| {
        count_and_copy(&ctx, &mut all);
        check(&ctx, &all);
    });
    assert_eq!(ctx.current_queue().options().label, "made");
}

/// Order of the current queue after everything enqueued on another queue.
type After = fn(&Context, &CommandQueue);

fn by_host(_: &Context, earlier: &CommandQueue) {
    earlier.finish().wait().unwrap();
}

fn by_event(ctx: &Context, earlier: &CommandQueue) {
    ctx.current_queue().wait_for(&earlier.marker()).unwrap();
}

fn by_queue(ctx: &Context, earlier: &CommandQueue) {
    ctx.current_queue().wait_for(earlier).unwrap();
}

/// Computes `a`, then `b` and `c` from it on two queues, then `d` from both.
///
/// Follows Warp's `test_stream_scope_synchronize`, `test_stream_scope_wait_event` and `test_stream_scope_wait_stream`.
fn diamond(subject: &Subject, after: After) {
    let (ctx, [top, left, right]) = subject.with_queues_under(Policy::Unchecked, ["top", "left", "right"]);
    let add = |x: &DeviceArray<u32>, y: &mut DeviceArray<u32>| {
        mix(&ctx.current_queue(), 1, 0, x, y);
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

/// Number of elements in cases with many launches.
const SMALL: usize = 1000;

/// Follows CuPy's `test_del`.
fn dropped_handle(subject: &Subject) {
    let ctx = subject.ctx();
    let mut x = ctx.zeros([SMALL]).unwrap();
    let queue = ctx.queue("main");
    let other = queue.clone();
    queue.scope(|| {
        drop(other);
        ctx.current_queue().fill(&mut x, 3_u32).unwrap();
        assert_eq!(ctx.current_queue().options().label, "main");
    });
    drop(queue);
    ctx.synchronize().wait().unwrap();
    assert_eq!(ctx.current_queue().read(&x).wait().unwrap(), [3; SMALL]);
}

/// Follows CuPy's `test_stream_thread`.
fn two_threads(subject: &Subject) {
    let ctx = subject.ctx();
    for _ in 0..10 {
        let queue = ctx.queue("shared");
        let handles = [queue.clone(), queue].map(|queue| {
            let ctx = ctx.clone();
            thread::spawn(move || {
                queue.make_current();
                let mut x = ctx.zeros([SMALL]).unwrap();
                ctx.current_queue().fill(&mut x, 6_u32).unwrap();
                let read = ctx.current_queue().read(&x);
                drop(queue);
                read.wait().unwrap()
            })
        });
        for handle in handles {
            assert_eq!(handle.join().unwrap(), [6; SMALL]);
        }
    }
}

/// Makes a queue current on each thread; no call names the queue.
///
/// Follows Taichi, which has one compute stream per thread.
fn threads(subject: &Subject) {
    let ctx = subject.ctx();
    let ones = &ctx.full([SMALL], 1_u32).unwrap();
    thread::scope(|scope| {
        for id in 0..4_u32 {
            let ctx = &ctx;
            scope.spawn(move || {
                let queue = ctx.queue(&format!("of thread {id}"));
                queue.make_current();
                let mut y = ctx.full([SMALL], id).unwrap();
                for _ in 0..50 {
                    mix(&ctx.current_queue(), 1, id, ones, &mut y);
                }
                assert_eq!(ctx.current_queue().read(&y).wait().unwrap(), [id + 50 * (id + 1); SMALL]);
            });
        }
    });
}

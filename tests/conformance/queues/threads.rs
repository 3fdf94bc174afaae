//! Q14: handles that cross threads, and threads that share queues.

use crate::common::kernels::{Mix, mix};
use crate::common::thread;
use crate::common::{Case, Subject, case, hold};
use fencepost::prelude::*;
use fencepost::{AnyArray, ContextWatch, DynKernel, Error, Kernel, UserEvent};

pub fn cases() -> Vec<Case> {
    vec![
        case("q14_handles_are_send_and_sync", send_and_sync),
        case("q14_threads_that_share_a_queue_enqueue_whole_commands_in_their_own_order", one_queue),
        case("q14_threads_may_wait_for_one_queue_at_once", many_waiters),
        case("q14_threads_may_make_and_drop_queues_and_arrays_at_once", many_makers),
    ]
}

const N: usize = 64;

/// Compiles only if the handles are `Send` and `Sync`, in a program with rustc's default recursion limit.
fn send_and_sync(_: &Subject) {
    fn both<T: Send + Sync>() {}
    fn send<T: Send>() {}
    both::<Context>();
    both::<ContextWatch>();
    both::<CommandQueue>();
    both::<Event>();
    both::<UserEvent>();
    both::<DeviceArray<f32>>();
    both::<AnyArray>();
    both::<HostArray<u32, Upload>>();
    both::<HostArray<u32, Download, 2>>();
    both::<Kernel<Mix<'static>>>();
    both::<DynKernel>();
    both::<Error>();
    send::<Pending<Vec<f32>>>();
    send::<Pending<()>>();
}

fn one_queue(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("shared");
    let one = ctx.full([N], 1_u32).unwrap();
    let sum = ctx.zeros::<u32, 1>([N]).unwrap();
    let work = |thread: u32| {
        let mut own = ctx.zeros([N]).unwrap();
        let mut expected = 0;
        for turn in 0..100 {
            mix(&queue, 7, turn, &one, &mut own);
            expected = Mix::of(7, turn, 1, expected);
            // Addition commutes, so the sum is the same for every order of the threads.
            mix(&queue, 1, thread, &one, &mut sum.clone());
            if turn % 25 == 0 {
                queue.marker().wait().unwrap();
            }
        }
        assert_eq!(queue.read(&own).wait().unwrap(), [expected; N]);
    };
    thread::scope(|scope| (0..4).for_each(|i| _ = scope.spawn(move || work(i))));
    assert_eq!(queue.read(&sum).wait().unwrap(), [100 * (4 + 6); N]);
}

fn many_waiters(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("shared");
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&queue);
    queue.fill(&mut x, 3_u32).unwrap();
    let x = &x;
    let event = queue.marker();
    thread::scope(|scope| {
        for i in 0..6 {
            let queue = &queue;
            let event = event.clone();
            scope.spawn(move || {
                match i % 3 {
                    0 => event.wait().unwrap(),
                    1 => queue.finish().wait().unwrap(),
                    _ => crate::common::block_on(event.into_future()).unwrap(),
                }
                assert_eq!(queue.read(x).wait().unwrap(), [3; N]);
            });
        }
        gate.signal();
    });
}

fn many_makers(subject: &Subject) {
    let ctx = subject.ctx();
    let work = |thread: u32| {
        for turn in 0..20_u32 {
            let queue = ctx.queue(&format!("{thread}/{turn}"));
            let value = 100 * thread + turn;
            let x = queue.full([N], value).unwrap();
            let mut y = ctx.zeros([N]).unwrap();
            queue.copy(&x, &mut y).unwrap();
            let read = queue.read(&y);
            drop((x, y, queue));
            assert_eq!(read.wait().unwrap(), [value; N]);
        }
    };
    thread::scope(|scope| (0..4).for_each(|i| _ = scope.spawn(move || work(i))));
}

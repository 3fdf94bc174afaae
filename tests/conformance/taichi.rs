//! Covers the requirements of Taichi's tests that no test of a rule covers: docs/testing.md has the table.

use crate::common::kernels::{Iota, Mix};
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use std::thread;

pub fn cases() -> Vec<Case> {
    vec![
        case("taichi_the_host_sees_the_writes_of_a_kernel_without_any_wait", host_reads),
        case("taichi_threads_that_work_on_queues_of_their_own_are_exact", threads),
    ]
}

const N: usize = 1000;

fn host_reads(subject: &Subject) {
    let ctx = subject.ctx();
    let (iota, mut x) = (ctx.kernel::<Iota>().unwrap(), ctx.zeros([N]).unwrap());
    for start in 0..5 {
        ctx.current_queue().launch(&iota, Grid::threads([N]), Iota { start, step: 2, out: &mut x }).unwrap();
        let expected: Vec<u32> = (0..N as u32).map(|i| start + 2 * i).collect();
        assert_eq!(*x.map_read().wait().unwrap(), expected);
        x.map_write().wait().unwrap()[0] = 77;
        assert_eq!(ctx.current_queue().read(&x.slice(0..2).unwrap()).wait().unwrap(), [77, expected[1]]);
    }
}

/// Makes a queue current on each thread; no call names the queue.
fn threads(subject: &Subject) {
    let ctx = subject.ctx();
    let (mix, ones) = (&ctx.kernel::<Mix>().unwrap(), &ctx.full([N], 1_u32).unwrap());
    thread::scope(|scope| {
        for id in 0..4_u32 {
            let ctx = &ctx;
            scope.spawn(move || {
                let queue = ctx.queue(&format!("of thread {id}"));
                queue.make_current();
                let mut y = ctx.full([N], id).unwrap();
                for _ in 0..50 {
                    ctx.current_queue()
                        .launch(mix, Grid::threads([N]), Mix { a: 1, b: id, x: ones, y: &mut y })
                        .unwrap();
                }
                assert_eq!(ctx.current_queue().read(&y).wait().unwrap(), [id + 50 * (id + 1); N]);
            });
        }
    });
}

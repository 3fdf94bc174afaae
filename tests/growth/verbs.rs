//! Repeats each kind of verb with a wait for it.

use crate::common::Subject;
use crate::common::kernels::Mix;
use crate::retained::retains_nothing;
use crate::{Case, rounds};
use fencepost::prelude::*;
use fencepost::region;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) const CASES: &[Case] = &[
    ("verbs_retain_no_memory", verbs),
    ("host_access_to_arrays_retains_no_memory", host),
    ("dropped_arrays_and_kernels_retain_no_memory", made),
    ("copies_between_contexts_retain_no_memory", across),
];

fn verbs(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("queue");
    let count = rounds(subject, 1000, 160);
    let kernel = ctx.kernel::<Mix>().unwrap();
    let mut x = queue.array(&[1_u32; 64]).unwrap();
    let mut y = queue.array(&[2_u32; 64]).unwrap();
    let all = Grid::threads([64]);
    let called = Arc::new(AtomicUsize::new(0));
    // Each round waits for the verb.
    let each = |what: &str, verb: &mut dyn FnMut(usize)| {
        retains_nothing(what, &ctx, count, |at| {
            verb(at);
            queue.finish().wait().unwrap();
        });
    };
    each("launch", &mut |_| queue.launch(&kernel, all, Mix { a: 3, b: 1, x: &x, y: &mut y }).unwrap());
    each("fill", &mut |_| queue.fill(&mut x, 7).unwrap());
    each("copy", &mut |_| queue.copy(&x, &mut y).unwrap());
    each("copy_region", &mut |_| {
        queue.copy_region(&x, region![0..32], &mut y, region![16..48]).unwrap();
    });
    each("upload", &mut |at| queue.upload(&[at as u32; 64], &mut x).unwrap());
    retains_nothing("read", &ctx, count, |_| drop(queue.read(&x).wait().unwrap()));
    each("a read that is dropped", &mut |_| {
        drop(queue.read(&x));
        queue.fill(&mut x, 7).unwrap();
    });
    retains_nothing("callback", &ctx, count, |at| {
        let count = called.clone();
        queue.callback(move || _ = count.fetch_add(1, Ordering::Relaxed)).unwrap();
        queue.finish().wait().unwrap();
        assert_eq!(called.load(Ordering::Relaxed), at + 1);
    });
    retains_nothing("flush", &ctx, count, |_| {
        queue.fill(&mut y, 8).unwrap();
        queue.flush().unwrap();
        ctx.flush().unwrap();
        ctx.synchronize().wait().unwrap();
    });
}

fn host(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("queue");
    let count = rounds(subject, 1000, 160);
    let mut x = queue.array(&[1_u32; 64]).unwrap();
    let mut pinned = ctx.pinned::<u32, Download, 1>([64]).unwrap();
    retains_nothing("map to read", &ctx, count, |_| {
        queue.fill(&mut x, 7).unwrap();
        assert_eq!(x.map_read().wait().unwrap()[0], 7);
    });
    retains_nothing("map to write", &ctx, count, |at| {
        queue.fill(&mut x, 7).unwrap();
        x.map_write().wait().unwrap()[0] = at as u32;
    });
    retains_nothing("download", &ctx, count, |_| {
        queue.download(&x, &mut pinned).unwrap();
        queue.finish().wait().unwrap();
    });
}

fn made(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("queue");
    retains_nothing("array of a queue", &ctx, rounds(subject, 1000, 160), |_| {
        drop(queue.full([64], 1_u32).unwrap());
        queue.finish().wait().unwrap();
    });
    retains_nothing("array of the context", &ctx, rounds(subject, 1000, 160), |_| {
        drop(ctx.zeros::<u32, 1>([64]).unwrap());
        ctx.synchronize().wait().unwrap();
    });
    retains_nothing("kernel", &ctx, rounds(subject, 80, 16), |_| drop(ctx.kernel::<Mix>().unwrap()));
}

fn across(subject: &Subject) {
    let contexts = [subject.ctx(), subject.ctx()];
    let [near, far] = contexts.each_ref().map(|ctx| ctx.queue("queue"));
    let x = near.array(&[1_u32; 64]).unwrap();
    let mut y = far.array(&[2_u32; 64]).unwrap();
    retains_nothing("copy between contexts", &contexts[0], rounds(subject, 400, 80), |_| {
        far.copy(&x, &mut y).unwrap();
        far.finish().wait().unwrap();
    });
    retains_nothing("wait for another context", &contexts[1], rounds(subject, 400, 80), |_| {
        far.fill(&mut y, 7).unwrap();
        near.wait_for(&far).unwrap();
        near.finish().wait().unwrap();
    });
}

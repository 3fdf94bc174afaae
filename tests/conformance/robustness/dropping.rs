//! Things dropped in every order.

use crate::common::{Case, Subject, case};
use crate::kernels::shaders::saxpy;
use fencepost::{Context, Download, Grid, HostArray, Upload, args};
use std::any::Any;

pub fn cases() -> Vec<Case> {
    vec![
        case("r01_a_queue_works_without_its_contexts_handle", without_context),
        case("r01_things_may_be_dropped_in_any_order", any_order),
        case("r01_things_may_be_dropped_while_work_is_held", while_held),
        case("r01_the_last_handle_may_be_dropped_by_a_callback", by_a_callback),
    ]
}

fn without_context(s: &Subject) {
    let ctx = s.ctx();
    let (queue, mut x) = (ctx.queue("q"), ctx.zeros([64]).unwrap());
    drop(ctx);
    queue.fill(&mut x, 3_u32).unwrap();
    let read = queue.read(&x);
    drop(queue);
    assert_eq!(read.wait().unwrap(), [3; 64]);
    assert_eq!(*x.map_read().wait().unwrap(), [3; 64]);
}

/// One of everything, in use.
fn things(s: &Subject, ctx: &Context) -> Vec<Box<dyn Any>> {
    let (queue, other) = (ctx.queue("q"), ctx.queue("other"));
    let kernel = saxpy(s, ctx);
    let (x, mut y) = (ctx.full([64], 1.0_f32).unwrap(), ctx.zeros([64]).unwrap());
    let source: HostArray<f32, Upload> = ctx.pinned([64]).unwrap();
    let mut target: HostArray<f32, Download> = ctx.pinned([64]).unwrap();
    let (event, user) = (ctx.event(), ctx.user_event("user"));
    queue.upload(&source, &mut y).unwrap();
    queue.launch_dyn(&kernel, Grid::threads([64]), args![2.0_f32, &x, &mut y]).unwrap();
    queue.record(&event).unwrap();
    other.wait_for(&event).unwrap();
    other.download(&y, &mut target).unwrap();
    let (read, finish) = (queue.read(&y), other.finish());
    let map = ctx.full([64], 2.0_f32).unwrap().map_write().wait().unwrap();
    user.signal();
    vec![
        Box::new(ctx.clone()),
        Box::new(queue),
        Box::new(other),
        Box::new(kernel),
        Box::new(x),
        Box::new(y),
        Box::new(source),
        Box::new(target),
        Box::new(event),
        Box::new(user),
        Box::new(read),
        Box::new(finish),
        Box::new(map),
    ]
}

fn any_order(s: &Subject) {
    for seed in 0..6 {
        let ctx = s.ctx();
        let mut things = things(s, &ctx);
        drop(ctx);
        let mut rng = fastrand::Rng::with_seed(seed);
        rng.shuffle(&mut things);
        things.into_iter().for_each(drop);
    }
}

fn while_held(s: &Subject) {
    for keep_queue in [true, false] {
        let ctx = s.ctx();
        let queue = ctx.queue("q");
        let gate = ctx.user_event("gate");
        queue.wait_for(&gate.event()).unwrap();
        let x = queue.full([64], 1_u32).unwrap();
        let read = queue.read(&x);
        drop((x, ctx));
        if !keep_queue {
            drop(queue);
        }
        gate.signal();
        drop(gate);
        assert_eq!(read.wait().unwrap(), [1; 64]);
    }
    // Nobody signals this one: the context ends all the same.
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let gate = ctx.user_event("gate");
    queue.wait_for(&gate.event()).unwrap();
    let read = queue.read(&queue.full([64], 1_u32).unwrap());
    drop((read, gate, queue, ctx));
}

fn by_a_callback(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let (sender, receiver) = std::sync::mpsc::channel();
    let own = (queue.clone(), ctx.clone());
    queue
        .callback(move || {
            drop(own);
            sender.send(()).unwrap();
        })
        .unwrap();
    queue.flush().unwrap();
    drop((queue, ctx));
    receiver.recv().unwrap();
}

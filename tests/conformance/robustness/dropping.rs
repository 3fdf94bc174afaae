//! R01: handles that are dropped in every order.

use crate::common::{Case, Subject, assert_error, case, dump, hold, queues};
use crate::kernels::shaders::saxpy;
use fencepost::{Context, ContextWatch, Download, ErrorDetail, Grid, HostArray, Upload, args};
use std::any::Any;

pub fn cases() -> Vec<Case> {
    vec![
        case("r01_a_queue_works_without_its_contexts_handle", without_context),
        case("r01_handles_may_be_dropped_in_any_order", any_order),
        case("r01_handles_may_be_dropped_while_work_is_held", while_held),
        case("r01_a_context_ends_though_its_work_waits_for_an_abandoned_event", never_signalled),
        case("r01_the_last_handle_may_be_dropped_by_a_callback", by_a_callback),
    ]
}

fn without_context(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut x = ctx.zeros([64]).unwrap();
    drop(ctx);
    queue.fill(&mut x, 3_u32).unwrap();
    let read = queue.read(&x);
    drop(queue);
    assert_eq!(read.wait().unwrap(), [3; 64]);
    assert_eq!(*x.map_read().wait().unwrap(), [3; 64]);
}

/// A function that drops a handle; if the argument is `true`, it first checks that the handle works.
type Thing = Box<dyn FnOnce(bool)>;

/// Returns a function that only drops its handle.
fn plain(thing: impl Any) -> Thing {
    Box::new(move |_| drop(thing))
}

/// Returns one handle of each kind, all in use, and the pinned array to which the last command downloads.
fn things(s: &Subject, ctx: &Context) -> (Vec<Thing>, HostArray<f32, Download>) {
    let [queue, other] = queues(ctx, ["q", "other"]);
    let kernel = saxpy(s, ctx);
    let x = ctx.full([64], 1.0_f32).unwrap();
    let mut y = ctx.full([64], 9.0).unwrap();
    let mut source: HostArray<f32, Upload> = ctx.pinned([64]).unwrap();
    let mut target: HostArray<f32, Download> = ctx.pinned([64]).unwrap();
    let event = ctx.event();
    let user = ctx.user_event("user");
    source.host_mut().unwrap().fill(3.0);
    queue.upload(&source, &mut y).unwrap();
    queue.launch_dyn(&kernel, Grid::threads([64]), args![2.0_f32, &x, &mut y]).unwrap();
    event.record(&queue).unwrap();
    other.wait_for(&event).unwrap();
    other.download(&y, &mut target).unwrap();
    let read = queue.read(&y);
    let finish = other.finish();
    let map = ctx.full([64], 2.0_f32).unwrap().map_write().wait().unwrap();
    user.signal();
    let things: Vec<Thing> = vec![
        plain((ctx.clone(), kernel)),
        plain(queue),
        plain(other),
        plain(source),
        Box::new(move |look| assert!(!look || *x.map_read().wait().unwrap() == [1.0; 64])),
        Box::new(move |look| assert!(!look || *y.map_read().wait().unwrap() == [5.0; 64])),
        Box::new(move |look| assert!(!look || event.wait().is_ok())),
        Box::new(move |look| assert!(!look || user.event().is_complete().unwrap())),
        Box::new(move |look| assert!(!look || read.wait().unwrap() == [5.0; 64])),
        Box::new(move |look| assert!(!look || finish.wait().is_ok())),
        Box::new(move |look| assert!(!look || *map == [2.0; 64])),
    ];
    (things, target)
}

/// Drops the handles in random order. Each handle that is checked has the right values, and so has the pinned array at
/// the end.
fn any_order(s: &Subject) {
    for seed in 0..6 {
        let ctx = s.ctx();
        let (watch, (mut things, target)) = (ctx.diagnostics().watch(), things(s, &ctx));
        drop(ctx);
        let mut rng = fastrand::Rng::with_seed(seed);
        rng.shuffle(&mut things);
        things.into_iter().for_each(|thing| thing(seed % 2 == 0 && rng.bool()));
        assert_eq!(target.host().unwrap().to_vec(), [5.0; 64], "seed {seed}");
        drop(target);
        ends(&watch);
    }
}

/// Waits until a context is gone, because its threads may hold it last.
fn ends(watch: &ContextWatch) {
    dump::until(|| watch.state_dump().is_none());
}

fn while_held(s: &Subject) {
    for keep_queue in [true, false] {
        let (ctx, queue) = s.with_queue("q");
        let gate = hold(&queue);
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
}

/// Drops the only handle that can signal the event for which the work waits.
fn never_signalled(s: &Subject) {
    for keep_read in [true, false] {
        let ctx = s.ctx();
        let watch = ctx.diagnostics().watch();
        let queue = ctx.queue("q");
        let gate = hold(&queue);
        let read = queue.read(&queue.full([64], 1_u32).unwrap());
        let read = keep_read.then_some(read);
        drop((gate, queue, ctx));
        if let Some(read) = read {
            assert_error!(read.wait(), ErrorDetail::Abandoned { event } if event == "gate");
        }
        ends(&watch);
    }
}

fn by_a_callback(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
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
    crate::common::received(&receiver);
}

//! E05: the destructor of a value that a command holds may wait, on any thread.

use crate::common::{Case, Subject, case};
use fencepost::{Context, DeviceArray, Event, SimulatorOptions};
use std::sync::mpsc::channel;

pub fn cases() -> Vec<Case> {
    vec![
        case("e05_a_destructor_of_a_command_that_has_failed_may_wait", |s| {
            of_a_failed_command(&s.ctx());
            of_a_failed_command(&s.without_threads());
        }),
        case("e05_a_destructor_may_wait_while_another_context_waits_for_its_queue", across),
    ]
}

const N: usize = 64;

/// Work that a destructor enqueues and waits for.
type Waits = fn(&Context, &DeviceArray<u32>);

const WAYS: [Waits; 6] = [
    |ctx, _| ctx.queue("blocks").finish().wait().unwrap(),
    |ctx, _| crate::common::block_on(ctx.queue("awaits").finish()).unwrap(),
    |ctx, x| assert_eq!(crate::common::block_on(ctx.queue("reads").read(x)).unwrap(), [7; N]),
    |_, x| assert_eq!(crate::common::block_on(x.map_read()).unwrap()[..], [7; N]),
    |ctx, _| assert!(crate::common::block_on(ctx.synchronize()).is_err(), "a queue has failed"),
    |ctx, _| {
        let queue = ctx.queue("calls");
        queue.callback(|| ()).unwrap();
        crate::common::block_on(queue.finish()).unwrap();
    },
];

/// A value that calls a function when it is dropped.
struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0.take().expect("the value is dropped once")();
    }
}

/// Fails a queue whose pending callback holds a value that waits when it is dropped. Before the queue fails, `before`
/// receives the marker after the callback.
fn fails(ctx: &Context, waits: Waits, before: impl FnOnce(Event)) {
    let (queue, gate, (sender, ended)) = (ctx.queue("fails"), ctx.user_event("gate"), channel());
    queue.wait_for(&gate.event()).unwrap();
    let inside = ctx.clone();
    let held = OnDrop(Some(move || {
        let x = inside.queue("inside").full([N], 7_u32).unwrap();
        waits(&inside, &x);
        sender.send(()).unwrap();
    }));
    queue.callback(move || drop(held)).unwrap();
    before(queue.marker());
    let end = queue.finish();
    drop(gate);
    drop(end.wait());
    crate::common::received(&ended);
    assert!(queue.take_error().is_some());
}

fn of_a_failed_command(ctx: &Context) {
    WAYS.into_iter().for_each(|waits| fails(ctx, waits, drop));
}

fn across(s: &Subject) {
    for waits in WAYS {
        for threads in [true, false] {
            let far = Context::simulated(SimulatorOptions::default().threads(threads));
            let near = s.ctx().queue("near");
            let mut end = None;
            fails(&far, waits, |point| {
                near.wait_for(&point).unwrap();
                end = Some(near.finish());
            });
            assert!(end.expect("the finish is enqueued").wait().is_err());
        }
    }
}

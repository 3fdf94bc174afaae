//! Covers the requirements of katsdpsigproc's tests that no test of a rule covers: docs/testing.md has the table.

use crate::common::kernels::{Mix, mixed};
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use std::thread;

pub fn cases() -> Vec<Case> {
    vec![case("katsdpsigproc_holders_use_a_resource_in_the_order_of_acquiring", resource)]
}

const N: usize = 256;

/// Passes one array between five holders. A holder that acquires the array gets the event of the holder before and an
/// event to signal. The holders work in the order in which they acquire it, though the last one starts first.
fn resource(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Unchecked);
    let (mix, ones) = (ctx.kernel::<Mix>().unwrap(), ctx.full([N], 1_u32).unwrap());
    let x = ctx.zeros([N]).unwrap();
    let queues: Vec<CommandQueue> = (0..5).map(|at| ctx.queue(&format!("holder {at}"))).collect();
    let (mut before, mut tickets) = (ctx.event(), Vec::new());
    for (holder, queue) in queues.iter().enumerate() {
        let ready = ctx.user_event("ready");
        let event = ready.event();
        tickets.push((holder as u32, queue, std::mem::replace(&mut before, event), ready));
    }
    thread::scope(|scope| {
        for (holder, queue, before, ready) in tickets.into_iter().rev() {
            let (mix, ones, mut x) = (&mix, &ones, x.handle());
            scope.spawn(move || {
                queue.wait_for(&before).unwrap();
                queue.launch(mix, Grid::threads([N]), Mix { a: 3, b: holder, x: ones, y: &mut x }).unwrap();
                queue.callback(move || ready.signal()).unwrap();
                queue.flush().unwrap();
            });
        }
    });
    before.wait().unwrap();
    let expected = (0..5).fold(0, |y, holder| mixed(y, 3, 1, holder));
    assert_eq!(queues[0].read(&x).wait().unwrap(), [expected; N]);
}

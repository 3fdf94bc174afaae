//! Covers the requirements of CuPy's tests that no test of a rule covers: docs/testing.md has the table.

use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use std::sync::mpsc::channel;
use std::thread;

pub fn cases() -> Vec<Case> {
    vec![
        case("cupy_a_hundred_downloads_and_callbacks_run_in_order_with_their_bytes", callbacks),
        case("cupy_two_threads_use_and_drop_one_queue", two_threads),
        case("cupy_a_scope_works_after_its_caller_drops_its_handle_of_the_queue", dropped_handle),
    ]
}

const N: usize = 100;

fn callbacks(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, (sender, receiver)) = (ctx.queue("main"), channel());
    let mut x = ctx.zeros([N]).unwrap();
    for turn in 0..100_u32 {
        let mut host: HostArray<u32, Download> = ctx.pinned([N]).unwrap();
        queue.fill(&mut x, turn).unwrap();
        queue.download(&x, &mut host).unwrap();
        let sender = sender.clone();
        let look = move || {
            let bytes = host.try_read(<[u32]>::to_vec).expect("the download before the callback is complete");
            sender.send((turn, bytes)).unwrap();
        };
        queue.callback(look).unwrap();
    }
    queue.finish().wait().unwrap();
    let ran: Vec<_> = receiver.try_iter().collect();
    assert_eq!(ran, (0..100).map(|turn| (turn, vec![turn; N])).collect::<Vec<_>>());
}

fn two_threads(subject: &Subject) {
    let ctx = subject.ctx();
    for _ in 0..10 {
        let queue = ctx.queue("shared");
        let handles = [queue.clone(), queue].map(|queue| {
            let ctx = ctx.clone();
            thread::spawn(move || {
                queue.make_current();
                let mut x = ctx.zeros([N]).unwrap();
                ctx.current_queue().fill(&mut x, 6_u32).unwrap();
                let read = ctx.current_queue().read(&x);
                drop(queue);
                read.wait().unwrap()
            })
        });
        for handle in handles {
            assert_eq!(handle.join().unwrap(), [6; N]);
        }
    }
}

fn dropped_handle(subject: &Subject) {
    let ctx = subject.ctx();
    let mut x = ctx.zeros([N]).unwrap();
    let queue = ctx.queue("main");
    let other = queue.clone();
    queue.scope(|| {
        drop(other);
        ctx.current_queue().fill(&mut x, 3_u32).unwrap();
        assert_eq!(ctx.current_queue().label(), "main");
    });
    drop(queue);
    ctx.synchronize().wait().unwrap();
    assert_eq!(ctx.current_queue().read(&x).wait().unwrap(), [3; N]);
}

//! Q11: host callbacks in the order of a queue.

use crate::common::thread;
use crate::common::{
    Carried, Case, NO_BLOCKING, NO_UNWINDING, ONE_THREAD, Subject, assert_error, case, dump, received,
};
use fencepost::ErrorDetail;
use std::sync::mpsc::channel;

pub fn cases() -> Vec<Case> {
    vec![
        case("q11_callbacks_run_in_queue_order", in_order),
        case("q11_callbacks_run_on_a_thread_of_their_own", on_their_own_thread).not_in_a_page(ONE_THREAD),
        case("q11_the_callbacks_of_all_queues_of_a_context_share_one_thread", on_one_thread)
            .not_in_a_page(ONE_THREAD),
        case("q11_earlier_work_is_done_when_a_callback_runs", sees_what_is_before),
        case("q11_later_work_of_the_queue_waits_for_a_callback", holds_what_is_after)
            .not_in_a_page(NO_BLOCKING),
        case("q11_a_callback_does_not_hold_up_other_queues", holds_its_own_queue_only)
            .not_in_a_page(NO_BLOCKING),
        case("q11_a_callback_may_enqueue", may_enqueue),
        case("q11_a_wait_in_a_callback_for_later_work_would_deadlock", would_deadlock),
        case("q11_a_wait_in_a_callback_that_can_end_is_allowed", may_wait).not_in_a_page(NO_BLOCKING),
        case("q11_a_callback_that_panics_fails_its_queue", panics).not_in_a_page(NO_UNWINDING),
    ]
}

const N: usize = 64;

fn in_order(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, (sender, receiver)) = (ctx.queue("main"), channel());
    let mut x = ctx.zeros([N]).unwrap();
    for turn in 0..30_u32 {
        queue.fill(&mut x, turn).unwrap();
        let sender = sender.clone();
        queue.callback(move || sender.send(turn).unwrap()).unwrap();
    }
    queue.finish().wait().unwrap();
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), (0..30).collect::<Vec<_>>());
}

fn on_their_own_thread(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let (sender, receiver) = channel();
    for _ in 0..30 {
        let sender = sender.clone();
        queue.callback(move || sender.send(thread::current().id()).unwrap()).unwrap();
    }
    queue.finish().wait().unwrap();
    let ran: Vec<_> = receiver.try_iter().collect();
    assert_eq!(ran, [ran[0]; 30]);
    assert_ne!(ran[0], thread::current().id());
}

fn on_one_thread(subject: &Subject) {
    let ctx = subject.ctx();
    let (queues, (sender, receiver)) = (["a", "b", "c"].map(|label| ctx.queue(label)), channel());
    for _ in 0..20 {
        for queue in &queues {
            let sender = sender.clone();
            queue.callback(move || sender.send(thread::current().id()).unwrap()).unwrap();
        }
    }
    ctx.synchronize().wait().unwrap();
    let threads: Vec<_> = receiver.try_iter().collect();
    assert_eq!(threads, [threads[0]; 60]);
}

fn sees_what_is_before(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, (sender, receiver)) = (ctx.queue("main"), channel());
    let mut x = ctx.zeros([N]).unwrap();
    for turn in 0..10_u32 {
        queue.fill(&mut x, turn).unwrap();
        let read = Carried::new(queue.read(&x));
        let before = queue.marker();
        let sender = sender.clone();
        let look = move || {
            let value = read.take().wait_timeout(std::time::Duration::ZERO);
            sender.send((before.is_complete(), value)).unwrap();
        };
        queue.callback(look).unwrap();
    }
    queue.finish().wait().unwrap();
    for (turn, (complete, value)) in receiver.try_iter().enumerate() {
        assert!(complete.unwrap(), "turn {turn}");
        assert_eq!(value.unwrap().expect("the read is ready"), [turn as u32; N]);
    }
}

fn holds_what_is_after(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, (go, told), (begin, begun)) = (ctx.queue("main"), channel::<()>(), channel());
    let mut x = ctx.zeros([N]).unwrap();
    let call = move || {
        begin.send(()).unwrap();
        told.recv().unwrap();
    };
    queue.callback(call).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    let mut read = queue.read(&x);
    begun.recv().unwrap();
    assert!(!queue.marker().is_complete().unwrap());
    assert!(read.wait_timeout(std::time::Duration::ZERO).unwrap().is_none());
    assert!(dump::holds(&ctx, &queue), "work after the callback is planned while the callback runs");
    go.send(()).unwrap();
    assert_eq!(read.wait().unwrap(), [1; N]);
}

fn holds_its_own_queue_only(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, other, (go, told)) = (ctx.queue("main"), ctx.queue("other"), channel::<()>());
    let mut x = ctx.zeros([N]).unwrap();
    queue.callback(move || told.recv().unwrap()).unwrap();
    queue.flush().unwrap();
    other.fill(&mut x, 2_u32).unwrap();
    assert_eq!(other.read(&x).wait().unwrap(), [2; N]);
    assert!(!queue.marker().is_complete().unwrap());
    go.send(()).unwrap();
    queue.finish().wait().unwrap();
}

fn may_enqueue(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, other, (sender, receiver)) = (ctx.queue("main"), ctx.queue("other"), channel());
    let x = ctx.zeros::<u32, 1>([N]).unwrap();
    let own = queue.clone();
    let mut array = x.clone();
    let enqueue = move || {
        own.fill(&mut array, 5).unwrap();
        other.fill(&mut array.slice(0..N / 2).unwrap(), 6).unwrap();
        sender.send(Carried::new(other.read(&array))).unwrap();
    };
    queue.callback(enqueue).unwrap();
    queue.flush().unwrap();
    let values = received(&receiver).take().wait().unwrap();
    assert_eq!((&values[..N / 2], &values[N / 2..]), (&[6; N / 2][..], &[5; N / 2][..]));
}

fn would_deadlock(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, other, (sender, receiver)) = (ctx.queue("main"), ctx.queue("other"), channel());
    let mut x = ctx.zeros([N]).unwrap();
    let own = queue.clone();
    let next = other.clone();
    let (go, told) = channel::<()>();
    let wait = move || {
        told.recv().unwrap();
        sender.send(own.finish().wait()).unwrap();
        sender.send(next.finish().wait()).unwrap();
    };
    queue.callback(wait).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    other.wait_for(&queue.marker()).unwrap();
    other.fill(&mut x, 2).unwrap();
    go.send(()).unwrap();
    queue.flush().unwrap();
    for what in ["its own queue", "a queue that waits for its own"] {
        assert_error!(received(&receiver), ErrorDetail::WouldDeadlock { .. }, "{what}");
    }
    assert_eq!(other.read(&x).wait().unwrap(), [2; N]);
}

fn may_wait(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, other, (sender, receiver)) = (ctx.queue("main"), ctx.queue("other"), channel());
    let mut x = ctx.zeros([N]).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    let read = Carried::new(queue.read(&x));
    let next = other.clone();
    let y = ctx.full([N], 3_u32).unwrap();
    let wait = move || sender.send((read.take().wait(), next.read(&y).wait())).unwrap();
    queue.callback(wait).unwrap();
    queue.finish().wait().unwrap();
    let (own, others) = receiver.recv().unwrap();
    assert_eq!((own.unwrap(), others.unwrap()), (vec![1; N], vec![3; N]));
}

fn panics(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let other = ctx.queue("other");
    let mut x = ctx.zeros([N]).unwrap();
    let (go, told) = channel::<()>();
    let panic = move || {
        told.recv().unwrap();
        std::panic::resume_unwind(Box::new("on purpose"))
    };
    queue.callback(panic).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    go.send(()).unwrap();
    assert_error!(queue.finish().wait(), ErrorDetail::CallbackPanicked { queue, .. } if queue == "main");
    assert_error!(queue.fill(&mut x, 2), ErrorDetail::CallbackPanicked { .. });
    other.callback(|| ()).unwrap();
    other.finish().wait().unwrap();
    assert!(queue.take_error().is_some() && queue.take_error().is_none());
    queue.fill(&mut x, 3).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [3; N]);
}

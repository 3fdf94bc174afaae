//! Checks that each enqueued command is submitted once, in an order without deadlock.

use crate::scheduler::loom_models::ContextThread::{Completer, Lane};
use crate::scheduler::loom_models::{BY_HAND, QUICK, enqueue};
use crate::scheduler::test_engine::{enqueue_wait, finish};
use crate::scheduler::wait::Caller;
use fencepost_sync::prim::{Condvar, Mutex, lock, sleep};
use fencepost_sync::{Clock, Point};
use loom::thread;
use std::sync::Arc;

#[test]
fn an_enqueued_command_is_submitted_without_a_waiter() {
    QUICK.with(&[Lane(0)]).explore(|model, queue| {
        model.enqueue(queue);
        model.world.wait_for(1);
    });
}

#[test]
fn commands_of_two_threads_on_one_queue_are_both_submitted() {
    QUICK.with(&[Lane(0)]).explore(|model, queue| {
        model.thread(move |engine| _ = enqueue(engine, queue));
        model.enqueue(queue);
        model.world.wait_for(2);
    });
}

#[test]
fn a_full_lane_submits_again_once_it_has_room() {
    BY_HAND.with(&[Lane(0), Completer(0)]).explore(|model, queue| {
        for commands in 1..=3 {
            model.enqueue(queue);
            if commands < 3 {
                model.world.wait_for(commands);
            }
        }
        model.world.work_through(3);
    });
}

#[test]
fn a_waiter_and_the_lane_thread_do_not_both_submit() {
    QUICK.with(&[Lane(0)]).explore(|model, queue| {
        let point = model.enqueue(queue);
        model.finish(point);
        assert_eq!(model.world.steps(), 1);
    });
}

#[test]
fn two_waiters_submit_on_one_lane_without_its_thread() {
    QUICK.explore(|model, first| {
        let second = model.queue();
        model.thread(move |engine| finish(engine, enqueue(engine, second)));
        model.finish(model.enqueue(first));
        model.join();
        assert_eq!(model.world.steps(), 2);
    });
}

#[test]
fn queues_on_two_lanes_wait_for_each_other_and_both_finish() {
    QUICK.lanes(2).with(&[Lane(0), Lane(1)]).explore(|model, ping| {
        let pong = model.queue();
        let served = model.enqueue(ping);
        let returned = model.enqueue_after(pong, served);
        let end = model.enqueue_after(ping, returned);
        model.finish(end);
        let submissions = model.world.submissions();
        let lanes_in_order: Vec<usize> = submissions.iter().map(|submission| submission.at.lane).collect();
        assert_eq!(lanes_in_order, [0, 1, 0]);
    });
}

#[test]
fn two_threads_whose_queues_wait_for_each_other_both_finish() {
    QUICK.lanes(2).explore(|model, ping| {
        let pong = model.queue();
        let served = Arc::new(Slip::default());
        let returned = Arc::new(Slip::default());
        let to_pong = served.clone();
        let from_pong = returned.clone();
        model.thread(move |engine| {
            from_pong.hand(enqueue(engine, pong));
            enqueue_wait(engine, pong, to_pong.take());
            finish(engine, enqueue(engine, pong));
        });
        served.hand(model.enqueue(ping));
        let end = model.enqueue_after(ping, returned.take());
        model.finish(end);
        model.join();
        assert_eq!(model.world.steps(), 4);
    });
}

#[test]
fn repeated_polling_ends() {
    QUICK.with(&[Lane(0)]).explore(|model, queue| {
        let point = model.enqueue(queue);
        model.engine.flush(queue, Caller::Continues).expect("nothing has failed");
        while !model.engine.is_complete(point, &Clock::default()).expect("the device is there") {
            thread::yield_now();
        }
    });
}

/// A cell that passes a point from one thread to another.
#[derive(Default)]
struct Slip(Mutex<Option<Point>>, Condvar);

impl Slip {
    fn hand(&self, point: Point) {
        *lock(&self.0) = Some(point);
        self.1.notify_all();
    }

    fn take(&self) -> Point {
        let mut point = lock(&self.0);
        loop {
            match *point {
                Some(point) => return point,
                None => point = sleep(&self.1, point),
            }
        }
    }
}

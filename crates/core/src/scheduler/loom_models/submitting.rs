//! Checks that each enqueued command is submitted once, in an order without deadlock.
use crate::scheduler::engine::Engine;
use crate::scheduler::loom_models::{Model, enqueue, enqueue_wait, explore, join, wait};
use fencepost_sync::prim::{Condvar, Mutex, lock, sleep};
use fencepost_sync::{Clock, Point, Slot};
use loom::thread;
use std::sync::Arc;

#[test]
fn an_enqueued_command_is_submitted_without_a_waiter() {
    explore(|| {
        let model = Model::quick(1);
        let queue = model.queue();
        let lane = model.lane_thread(0);
        enqueue(&model.engine, queue);
        model.world.wait_for(1);
        model.stop([lane]);
    });
}

#[test]
fn commands_of_two_threads_on_one_queue_are_both_submitted() {
    explore(|| {
        let model = Model::quick(1);
        let queue = model.queue();
        let lane = model.lane_thread(0);
        let other = model.thread(move |engine| _ = enqueue(engine, queue));
        enqueue(&model.engine, queue);
        model.world.wait_for(2);
        join([other]);
        model.stop([lane]);
    });
}

#[test]
fn a_full_lane_submits_again_once_it_has_room() {
    explore(|| {
        let model = Model::by_hand(1);
        let queue = model.queue();
        let threads = [model.lane_thread(0), model.completer(0)];
        for commands in 1..=3 {
            enqueue(&model.engine, queue);
            if commands < 3 {
                model.world.wait_for(commands);
            }
        }
        model.world.work_through(3);
        model.stop(threads);
    });
}

#[test]
fn a_waiter_and_the_lane_thread_do_not_both_submit() {
    explore(|| {
        let model = Model::quick(1);
        let queue = model.queue();
        let lane = model.lane_thread(0);
        let point = enqueue(&model.engine, queue);
        wait(&model.engine, point).expect("the work is done");
        assert_eq!(model.world.steps(), 1);
        model.stop([lane]);
    });
}

#[test]
fn two_waiters_submit_on_one_lane_without_its_thread() {
    explore(|| {
        let model = Model::quick(1);
        let (first, second) = (model.queue(), model.queue());
        let other = model.thread(move |engine| {
            let point = enqueue(engine, second);
            wait(engine, point).expect("the work is done");
        });
        let point = enqueue(&model.engine, first);
        wait(&model.engine, point).expect("the work is done");
        join([other]);
        assert_eq!(model.world.steps(), 2);
    });
}

#[test]
fn queues_on_two_lanes_wait_for_each_other_and_both_finish() {
    explore(|| {
        let model = Model::quick(2);
        let (ping, pong) = (model.queue(), model.queue());
        let lanes = [model.lane_thread(0), model.lane_thread(1)];
        let served = after(&model.engine, ping, None);
        let returned = after(&model.engine, pong, Some(served));
        let end = after(&model.engine, ping, Some(returned));
        wait(&model.engine, end).expect("the work is done");
        let lanes_in_order: Vec<usize> = model.world.given().iter().map(|given| given.at.lane).collect();
        assert_eq!(lanes_in_order, [0, 1, 0]);
        model.stop(lanes);
    });
}

#[test]
fn two_threads_whose_queues_wait_for_each_other_both_finish() {
    explore(|| {
        let model = Model::quick(2);
        let (ping, pong) = (model.queue(), model.queue());
        let (served, returned) = (Arc::new(Slip::default()), Arc::new(Slip::default()));
        let (to_pong, from_pong) = (served.clone(), returned.clone());
        let other = model.thread(move |engine| {
            from_pong.hand(after(engine, pong, None));
            let end = after(engine, pong, Some(to_pong.take()));
            wait(engine, end).expect("the work is done");
        });
        served.hand(after(&model.engine, ping, None));
        let end = after(&model.engine, ping, Some(returned.take()));
        wait(&model.engine, end).expect("the work is done");
        join([other]);
        assert_eq!(model.world.steps(), 4);
    });
}

#[test]
fn repeated_polling_ends() {
    explore(|| {
        let model = Model::quick(1);
        let queue = model.queue();
        let lane = model.lane_thread(0);
        let point = enqueue(&model.engine, queue);
        model.engine.flush(queue).expect("nothing has failed");
        while !model.engine.is_complete(point, &Clock::default()).expect("the device is there") {
            thread::yield_now();
        }
        model.stop([lane]);
    });
}

/// Enqueues one command behind `point`, if one is given.
fn after(engine: &Engine, slot: Slot, point: Option<Point>) -> Point {
    if let Some(point) = point {
        enqueue_wait(engine, slot, point);
    }
    enqueue(engine, slot)
}

/// Passes a point from one thread to another.
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

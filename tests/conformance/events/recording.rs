//! E06: events that are made once and recorded often.

use crate::common::kernels::{Mix, mix};
use crate::common::{Case, Subject, case, hold};
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("e06_an_event_that_was_never_recorded_is_complete", never),
        case("e06_recording_again_does_not_move_earlier_waits", again),
        case("e06_a_clone_is_the_same_event", clones),
        case("e06_one_event_serves_every_turn_of_a_loop", in_a_loop),
    ]
}

const N: usize = 64;

fn never(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let event = ctx.event();
    assert!(event.is_complete().unwrap());
    event.wait().unwrap();
    queue.wait_for(&event).unwrap();
    let x = queue.full([N], 1_u32).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [1; N]);
}

fn again(subject: &Subject) {
    let (ctx, [first, second]) = subject.with_queues_under(Policy::Unchecked, ["first", "second"]);
    let mut x = ctx.zeros([N]).unwrap();
    let event = ctx.event();
    first.fill(&mut x, 1_u32).unwrap();
    event.record(&first).unwrap();
    second.wait_for(&event).unwrap();
    let early = event.done();
    let gate = hold(&first);
    event.record(&first).unwrap();
    assert_eq!(second.read(&x).wait().unwrap(), [1; N]);
    early.wait().unwrap();
    assert!(!event.is_complete().unwrap());
    second.wait_for(&event).unwrap();
    second.fill(&mut x, 2).unwrap();
    assert!(!second.marker().is_complete().unwrap());
    gate.signal();
    assert_eq!(second.read(&x).wait().unwrap(), [2; N]);
    assert!(event.is_complete().unwrap());
}

fn clones(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let event = ctx.event();
    let same = event.clone();
    let gate = hold(&queue);
    event.record(&queue).unwrap();
    assert!(!same.is_complete().unwrap());
    gate.signal();
    same.wait().unwrap();
}

fn in_a_loop(subject: &Subject) {
    let (ctx, [there, back]) = subject.with_queues_under(Policy::Unchecked, ["there", "back"]);
    let one = ctx.full([N], 1_u32).unwrap();
    let mut y = ctx.zeros([N]).unwrap();
    let [went, came] = [0; 2].map(|_| ctx.event());
    let mut expected = 0;
    for turn in 0..100 {
        there.wait_for(&came).unwrap();
        mix(&there, 3, turn, &one, &mut y);
        went.record(&there).unwrap();
        back.wait_for(&went).unwrap();
        mix(&back, 5, 0, &one, &mut y);
        came.record(&back).unwrap();
        expected = Mix::of(5, 0, 1, Mix::of(3, turn, 1, expected));
        if turn % 20 == 19 {
            came.wait().unwrap();
            assert_eq!(back.read(&y).wait().unwrap(), [expected; N]);
        }
    }
}

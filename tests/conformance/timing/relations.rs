//! T02: times between events of different queues.

use super::timed;
use crate::common::{Case, Subject, assert_error, case};
use fencepost::{ErrorDetail, Event, SimulatorOptions};

pub fn cases() -> Vec<Case> {
    vec![
        case("t02_queues_of_one_lane_share_a_clock", one_clock)
            .one_lane("each hardware queue has a clock of its own"),
        case("t02_a_marker_after_a_wait_is_not_earlier_than_the_awaited_event", waiting)
            .one_lane("each hardware queue has a clock of its own"),
        case("t02_events_of_two_contexts_are_unrelated", contexts),
        case("t02_events_of_two_lanes_are_unrelated", lanes).cpu_only("adapters have one lane"),
    ]
}

const N: usize = 1 << 16;

fn one_clock(subject: &Subject) {
    let ctx = subject.ctx();
    let a = timed(&ctx, "a");
    let b = timed(&ctx, "b");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let start = a.marker();
    a.fill(&mut x, 1).unwrap();
    let filled = a.marker();
    b.fill(&mut x, 2).unwrap(); // the policy makes it wait for the other fill
    let end = b.marker();
    let times = [(&start, &filled), (&filled, &end), (&start, &end)];
    let [one, two, both] = times.map(|(from, to)| to.seconds_since(from).wait().unwrap());
    assert!(one > 0.0 && two > 0.0, "{one} {two}");
    assert!((one + two - both).abs() <= both * 1e-6, "{one} {two} {both}");
}

/// Checks that a marker after a wait does not get the end time of the command before the wait.
fn waiting(subject: &Subject) {
    let ctx = subject.ctx();
    let a = timed(&ctx, "a");
    let b = timed(&ctx, "b");
    let [mut x, mut y] = [0; 2].map(|_| ctx.zeros::<u32, 1>([N]).unwrap());
    b.fill(&mut y, 1).unwrap();
    let before = b.marker();
    b.finish().wait().unwrap();
    a.fill(&mut x, 1).unwrap();
    let awaited = a.marker();
    b.wait_for(&awaited).unwrap();
    let after = b.marker();
    assert!(after.seconds_since(&awaited).wait().unwrap() >= 0.0);
    assert!(after.seconds_since(&before).wait().unwrap() > 0.0);
}

fn unrelated(start: &Event, end: &Event, words: &[&str]) {
    for (start, end) in [(start, end), (end, start)] {
        let error = assert_error!(end.seconds_since(start).wait(), ErrorDetail::Unrelated { .. });
        let text = error.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
}

fn contexts(subject: &Subject) {
    let [here, there] = [0; 2].map(|_| subject.ctx());
    let events = [timed(&here, "here").marker(), timed(&there, "there").marker()];
    unrelated(&events[0], &events[1], &["`here`", "`there`"]);
}

fn lanes(subject: &Subject) {
    let ctx = fencepost::Context::simulated(SimulatorOptions::default().lanes(2));
    subject.watch(&ctx);
    let queues = [timed(&ctx, "first"), timed(&ctx, "second"), timed(&ctx, "third")];
    let [first, second, third] = queues.each_ref().map(|queue| queue.marker());
    unrelated(&first, &second, &["`first`", "`second`", "queue 0", "queue 1"]);
    assert!(third.seconds_since(&first).wait().is_ok(), "the first and the third queue share a lane");
}

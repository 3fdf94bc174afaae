//! T03: a time that was not measured is an error, never a number.

use super::{refusing_on_the_cpu, timed};
use crate::common::{Case, NO_DEVICE, Subject, assert_error, case, raw};
use fencepost::{AdoptOptions, ErrorDetail, Event, QueueOptions, RecorderChoice};

pub fn cases() -> Vec<Case> {
    vec![
        case("t03_the_error_of_an_untimed_queue_names_the_option_to_set", untimed),
        case("t03_a_dropped_queue_is_not_mistaken_for_the_next", gone),
        case("t03_user_events_and_unrecorded_events_have_no_time", no_work),
        case("t03_failed_work_has_its_error_and_no_time", failed)
            .cpu_only("only the CPU recorder refuses submissions by chance"),
        case("t03_a_device_without_timestamps_works_and_gives_not_measured", no_timestamps)
            .gpu_only(NO_DEVICE),
    ]
}

/// Returns the error of the seconds between two events, which is of one kind in both directions.
pub(super) fn error(start: &Event, end: &Event) -> fencepost::Error {
    let there = end.seconds_since(start).wait().unwrap_err();
    let back = start.seconds_since(end).wait().unwrap_err();
    assert_eq!(
        std::mem::discriminant(there.detail()),
        std::mem::discriminant(back.detail()),
        "{there}; {back}"
    );
    there
}

fn untimed(subject: &Subject) {
    let (ctx, plain) = subject.with_queue("plain");
    let watched = timed(&ctx, "watched");
    plain.full([4], 1_u32).unwrap();
    let error = error(&watched.marker(), &plain.marker());
    assert!(matches!(error.detail(), ErrorDetail::Untimed { queue } if queue == "plain"), "{error}");
    assert!(error.to_string().contains("timing(true)"), "{error}");
}

fn gone(subject: &Subject) {
    let (ctx, plain) = subject.with_queue("plain");
    plain.full([4], 1_u32).unwrap();
    let old = plain.marker();
    old.wait().unwrap();
    drop(plain);
    let next = timed(&ctx, "next");
    let error = error(&old, &next.marker());
    assert!(matches!(error.detail(), ErrorDetail::Untimed { queue } if queue != "next"), "{error}");
}

fn no_work(subject: &Subject) {
    let ctx = subject.ctx();
    let marker = timed(&ctx, "watched").marker();
    let gate = ctx.user_event("gate");
    gate.signal();
    for (event, word) in [(ctx.event(), "recorded"), (gate.event(), "`gate`")] {
        let error = error(&marker, &event);
        assert!(matches!(error.detail(), ErrorDetail::NotMeasured { .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
}

fn failed(subject: &Subject) {
    let ctx = refusing_on_the_cpu(subject);
    let queue = timed(&ctx, "watched");
    let start = queue.marker();
    queue.full([4], 1_u32).unwrap();
    let end = queue.marker();
    for turn in 0..2 {
        let error = error(&start, &end);
        assert!(matches!(error.detail(), ErrorDetail::Device { .. }), "turn {turn}: {error}");
    }
    // A new marker has no time either, and returns the error of the failed work.
    assert_error!(queue.marker().seconds_since(&start).wait(), ErrorDetail::Device { .. });
}

fn no_timestamps(subject: &Subject) {
    let (device, queue) = raw::open(subject);
    assert!(!device.features().contains(wgpu::Features::TIMESTAMP_QUERY));
    for recorder in [RecorderChoice::Wgpu, RecorderChoice::Hal] {
        let options = AdoptOptions::default().recorder(recorder);
        let ctx = subject.adopt((device.clone(), queue.clone()), options);
        let queue = ctx.queue_with(QueueOptions::default().label("q").timing(true));
        assert!(!queue.options().timing);
        let start = queue.marker();
        let x = queue.full([4], 1_u32).unwrap();
        let end = queue.marker();
        assert_eq!(queue.read(&x).wait().unwrap(), [1; 4]);
        let error = error(&start, &end);
        assert!(matches!(error.detail(), ErrorDetail::NotMeasured { .. }), "{error}");
        assert!(error.to_string().contains("has no timestamps"), "{error}");
    }
}

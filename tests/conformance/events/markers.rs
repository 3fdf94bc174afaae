//! E01, E02: the commands that a marker covers, and the moment at which a wait for a marker returns.

use crate::common::early_results::{self, RUNS, VALUE};
use crate::common::{Case, Subject, case, hold};
use fencepost::prelude::*;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("e01_a_marker_covers_exactly_what_was_enqueued_before_it", exactly),
        case("e01_a_marker_completes_while_a_later_kernel_of_its_queue_runs", before_a_kernel)
            .on_devices(RUNS)
            .host_side(),
        case("e01_a_marker_of_an_empty_queue_is_complete", of_nothing),
        case("e02_a_wait_for_a_marker_returns_while_later_work_is_held", two_reads),
        case("e02_a_pinned_download_completes_while_a_later_one_is_held", two_downloads),
        case("e02_markers_of_one_queue_complete_in_their_order", in_order),
    ]
}

const N: usize = 256;

fn exactly(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros([N]).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    let read = queue.read(&x);
    let covered = queue.marker();
    let gate = hold(&queue);
    let held = queue.marker();
    queue.fill(&mut x, 2).unwrap();
    let after = queue.marker();
    covered.wait().unwrap();
    assert_eq!(read.wait().unwrap(), [1; N]);
    assert!(!held.is_complete().unwrap() && !after.is_complete().unwrap());
    gate.signal();
    after.wait().unwrap();
    assert!(held.is_complete().unwrap());
    assert_eq!(queue.read(&x).wait().unwrap(), [2; N]);
}

fn before_a_kernel(subject: &Subject) {
    early_results::on_its_queue(
        subject,
        &[("a marker between two pieces of work", |at| {
            let mut x = at.x.clone();
            at.queue.fill(&mut x, VALUE + 1).unwrap();
            let marker = at.queue.marker();
            at.queue.fill(&mut x, VALUE).unwrap();
            Box::new(move || marker.wait().unwrap())
        })],
    );
}

fn of_nothing(subject: &Subject) {
    let ctx = subject.ctx();
    let marker = ctx.queue("empty").marker();
    assert!(marker.is_complete().unwrap());
    marker.wait().unwrap();
}

fn two_reads(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let x = ctx.full([N], 1_u32).unwrap();
    let y = ctx.full([N], 2_u32).unwrap();
    let first = queue.read(&x);
    let at_first = queue.marker();
    let gate = hold(&queue);
    let mut second = queue.read(&y);
    at_first.wait().unwrap();
    assert_eq!(first.wait().unwrap(), [1; N]);
    assert!(second.wait_timeout(Duration::ZERO).unwrap().is_none());
    gate.signal();
    assert_eq!(second.wait().unwrap(), [2; N]);
}

fn two_downloads(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let x = [1_u32, 2].map(|value| ctx.full([N], value).unwrap());
    let mut host: [HostArray<u32, Download>; 2] = [ctx.pinned([N]).unwrap(), ctx.pinned([N]).unwrap()];
    queue.download(&x[0], &mut host[0]).unwrap();
    let first = queue.marker();
    let gate = hold(&queue);
    queue.download(&x[1], &mut host[1]).unwrap();
    first.wait().unwrap();
    assert_eq!(host[0].try_host().unwrap().to_vec(), [1; N]);
    assert!(host[1].try_host().is_err(), "the second download is still in use");
    gate.signal();
    assert_eq!(host[1].host().unwrap().to_vec(), [2; N]);
}

fn in_order(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros([N]).unwrap();
    let markers: Vec<Event> = (0..50_u32)
        .map(|turn| {
            queue.fill(&mut x, turn).unwrap();
            queue.marker()
        })
        .collect();
    for (turn, marker) in markers.iter().enumerate().step_by(7) {
        marker.wait().unwrap();
        assert!(markers[..=turn].iter().all(|earlier| earlier.is_complete().unwrap()), "before {turn}");
    }
}

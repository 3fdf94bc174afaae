//! E02, E08: a result is there when its work is done, while what was flushed with it still runs. Other rules have a case
//! of this kind beside their other cases.

use crate::common::later::{self, Look, N, RUNS, Short, VALUE, Way, each_length, is_early, keep_busy};
use crate::common::{Case, Subject, case, dump, host_side};
use fencepost::prelude::*;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    let planned = host_side(vec![
        case("e02_each_kind_of_result_is_there_while_later_work_of_its_queue_runs", |s| {
            later::on_its_queue(s, &WAYS);
        }),
        case("e02_each_kind_of_result_is_there_while_work_of_another_queue_runs", |s| {
            later::on_another_queue(s, &WAYS);
        }),
        case("e02_a_result_behind_long_work_is_there_while_work_of_another_queue_runs", |s| {
            later::on_another_queue(s, &BEHIND);
        }),
    ]);
    let run = vec![
        case("e02_a_result_is_not_late_behind_a_kernel_that_is_known_to_take_long", known),
        case("e08_without_threads_a_result_is_there_while_later_work_runs", without_threads),
        case("e02_many_markers_between_short_launches_share_submissions", many_markers),
    ];
    [planned, run].concat().into_iter().map(|case| case.vulkan_only(RUNS)).collect()
}

const WAYS: [(&str, Way); 11] = [
    ("a marker", marker),
    ("a marker that is asked again and again", |at| {
        let marker = at.queue.marker();
        Box::new(move || dump::until(|| marker.is_complete().unwrap()))
    }),
    ("a marker with a time limit", |at| {
        let marker = at.queue.marker();
        Box::new(move || assert!(marker.done().wait_timeout(Duration::from_secs(60)).unwrap().is_some()))
    }),
    ("a marker that is awaited", |at| {
        let marker = at.queue.marker();
        Box::new(move || pollster::block_on(marker.done()).unwrap())
    }),
    ("a recorded event", |at| {
        let event = at.ctx.event();
        at.queue.record(&event).unwrap();
        Box::new(move || event.wait().unwrap())
    }),
    ("a download", |at| {
        let mut host: HostArray<u32, Download> = at.ctx.pinned([N]).unwrap();
        at.queue.download(&at.x, &mut host).unwrap();
        Box::new(move || assert_eq!(host.read(<[u32]>::to_vec).unwrap(), [VALUE; N]))
    }),
    ("a map that is asked for before the flush", map),
    ("a map to write that is asked for before the flush", |at| {
        let map = at.x.map_write();
        Box::new(move || assert_eq!(pollster::block_on(map).unwrap()[..], [VALUE; N]))
    }),
    ("an upload whose source is filled again", |at| {
        let mut host: HostArray<u32, Upload> = at.ctx.pinned([N]).unwrap();
        at.queue.upload(&host, &mut at.queue.zeros([N]).unwrap()).unwrap();
        Box::new(move || host.write(|words| words.fill(VALUE)).unwrap())
    }),
    ("a callback", callback),
    ("another queue that reads", |at| {
        let reader = at.ctx.queue("reader");
        let read = reader.read(&at.x);
        Box::new(move || assert_eq!(read.wait().unwrap(), [VALUE; N]))
    }),
];

fn marker<'a>(at: &Short<'a>) -> Look<'a> {
    let marker = at.queue.marker();
    Box::new(move || marker.wait().unwrap())
}

fn map<'a>(at: &Short<'a>) -> Look<'a> {
    let map = at.x.map_read();
    Box::new(move || assert_eq!(map.wait().unwrap()[..], [VALUE; N]))
}

fn callback<'a>(at: &Short<'a>) -> Look<'a> {
    let (sender, called) = std::sync::mpsc::channel();
    at.queue.callback(move || sender.send(()).unwrap()).unwrap();
    Box::new(move || called.recv().unwrap())
}

/// Results of short work that waits for long work of a queue whose end nothing looks for.
const BEHIND: [(&str, Way); 3] = [
    ("a marker behind long work", |at| {
        behind_long_work(at);
        marker(at)
    }),
    ("a callback behind long work", |at| {
        behind_long_work(at);
        callback(at)
    }),
    ("a map behind long work", |at| {
        behind_long_work(at);
        map(at)
    }),
];

fn behind_long_work(at: &Short<'_>) {
    let long = at.ctx.queue("long");
    at.subject.spin(at.ctx, &long, 60);
    at.queue.wait_for_queue(&long).unwrap();
    (0..20).for_each(|_| at.queue.fill(&mut at.x.handle(), VALUE).unwrap());
}

/// From the second time on the kernel is known.
fn known(s: &Subject) {
    let ctx = s.ctx();
    let once = |milliseconds| {
        is_early(s, &ctx, marker, |queue| {
            s.spin(&ctx, queue, milliseconds);
            None
        })
    };
    each_length("a marker", |milliseconds| [(); 3].map(|()| once(milliseconds)) == [true; 3]);
}

/// Nothing is submitted but in calls that flush or wait.
fn without_threads(s: &Subject) {
    let ctx = s.without_threads();
    each_length("a marker", |milliseconds| {
        let queue = ctx.queue("main");
        let x = queue.full([N], VALUE).unwrap();
        let marker = queue.marker();
        s.spin(&ctx, &queue, milliseconds);
        queue.flush().unwrap();
        marker.wait().unwrap();
        let early = !queue.is_complete().unwrap();
        assert_eq!(queue.read(&x).wait().unwrap(), [VALUE; N]);
        early
    });
}

/// A result is late by a bound, and not by nothing: what takes no time is not cut apart.
fn many_markers(s: &Subject) {
    const MARKERS: usize = 1000;
    let ctx = s.ctx();
    let queue = ctx.queue("main");
    let x = queue.zeros([N]).unwrap();
    keep_busy(s, &ctx);
    let before = dump::submitted(&ctx);
    let markers: Vec<Event> = (0..MARKERS)
        .map(|at| {
            queue.fill(&mut x.slice(0..4).unwrap(), at as u32).unwrap();
            queue.marker()
        })
        .collect();
    queue.finish().wait().unwrap();
    let submissions = dump::submitted(&ctx) - before;
    assert!(submissions < MARKERS as u64 / 4, "{submissions} submissions for {MARKERS} markers");
    assert!(markers.iter().all(|marker| marker.is_complete().unwrap()));
}

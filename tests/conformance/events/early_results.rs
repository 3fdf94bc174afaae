//! E02, E08: a result is ready when its work is done, while work of the same flush still runs. Other rules have such a
//! case too.

use crate::common::early_results::{
    self, Look, N, REACH, RUNS, Short, VALUE, Way, each_length, is_early, keep_busy,
};
use crate::common::{Calls, Case, KERNELS_IN_TURNS, Subject, case, dump, host_side};
use fencepost::prelude::*;
use std::time::Duration;

/// Reason why results wait for later work in Firefox.
const BLOCKED: &str = "lavapipe runs a kernel inside a submission, and Firefox hears nothing meanwhile";

pub fn cases() -> Vec<Case> {
    let planned = host_side(vec![
        case("e02_each_kind_of_result_is_ready_while_later_work_of_its_queue_runs", |s| {
            early_results::on_its_queue(s, &WAYS);
        }),
        case("e02_each_kind_of_result_is_ready_while_work_of_another_queue_runs", |s| {
            early_results::on_another_queue(s, &WAYS);
        }),
        case("e02_a_result_after_long_work_is_ready_while_work_of_another_queue_runs", |s| {
            early_results::on_another_queue(s, &AFTER);
        }),
        case(
            "e02_a_result_is_ready_while_work_of_another_queue_runs_though_nothing_asked_before_the_start",
            |s| {
                early_results::after_the_start(s, &ASKED_LATE);
                // Elsewhere, the thread that plans the callback is inside the submission of the long kernel.
                if s.place().is_asynchronous() {
                    early_results::after_the_start(s, &HELD_LATE);
                }
            },
        )
        .on_gpus_in_a_page(KERNELS_IN_TURNS)
        .not_in_firefox(BLOCKED),
    ]);
    let run = vec![
        case("e02_a_result_is_ready_while_a_later_kernel_of_known_duration_runs", known)
            .not_in_firefox(BLOCKED),
        case("e02_many_markers_between_short_launches_share_submissions", many_markers),
    ];
    let in_place = vec![
        case(
            "e02_bytes_are_there_while_work_of_another_queue_runs_though_nothing_asked_before_the_start",
            |s| {
                let ctx = s.switched(|switches| switches.shared_memory = true);
                early_results::after_the_start_of(s, &ctx, &BYTES_ASKED_LATE);
            },
        )
        .in_reach(REACH),
        case("e02_a_map_is_ready_while_later_work_of_its_queue_runs", |s| {
            let ctx = s.switched(|switches| switches.shared_memory = true);
            early_results::on_its_queue_of(s, &ctx, &MAPS);
        })
        .in_reach(REACH),
        case("e08_without_threads_a_result_is_ready_while_later_work_runs", without_threads)
            .on_gpus_in_a_page(KERNELS_IN_TURNS)
            .not_on_gl("GL executes work inside the flush"),
    ];
    [[planned, run].concat().into_iter().map(|case| case.on_devices(RUNS)).collect(), in_place].concat()
}

const WAYS: [(&str, Way); 10] = [
    ("a marker", marker),
    ("a marker that is polled", |at| {
        let marker = at.queue.marker();
        Box::new(move || dump::until(|| marker.is_complete().unwrap()))
    }),
    ("a marker with a time limit", |at| {
        let marker = at.queue.marker();
        Box::new(move || assert!(marker.done().wait_timeout(Duration::from_secs(60)).unwrap().is_some()))
    }),
    ("a marker that is awaited", |at| {
        let marker = at.queue.marker();
        Box::new(move || crate::common::block_on(marker.done()).unwrap())
    }),
    ("a recorded event", |at| {
        let event = at.ctx.event();
        event.record(at.queue).unwrap();
        Box::new(move || event.wait().unwrap())
    }),
    ("a download", |at| {
        let mut host: HostArray<u32, Download> = at.ctx.pinned([N]).unwrap();
        at.queue.download(&at.x, &mut host).unwrap();
        Box::new(move || assert_eq!(host.host().unwrap().to_vec(), [VALUE; N]))
    }),
    ("an upload whose source is filled again", |at| {
        let mut host: HostArray<u32, Upload> = at.ctx.pinned([N]).unwrap();
        at.queue.upload(&host, &mut at.queue.zeros([N]).unwrap()).unwrap();
        Box::new(move || host.host_mut().unwrap().fill(VALUE))
    }),
    ("a callback", callback),
    ("a profile", |at| {
        let profiler = at.ctx.profile();
        at.queue.fill(&mut at.queue.zeros([N]).unwrap(), VALUE).unwrap();
        let profile = profiler.finish();
        Box::new(move || {
            let rows = profile.wait().unwrap().rows;
            assert!(rows.iter().any(|row| row.time.is_ok()), "{rows:?}");
        })
    }),
    ("another queue that reads", |at| {
        let reader = at.ctx.queue("reader");
        let read = reader.read(&at.x);
        Box::new(move || assert_eq!(read.wait().unwrap(), [VALUE; N]))
    }),
];

/// Number of callbacks that follow each other. A page plans unflushed commands only once a tick, and most of the callbacks
/// are enqueued within the tick of the one before.
const CALLBACKS: usize = 20;

/// Results that need no further device work.
const ASKED_LATE: [(&str, Way); 6] = [
    ("a marker", marker),
    ("a finish", |at| {
        let end = at.queue.finish();
        Box::new(move || end.wait().unwrap())
    }),
    ("a queue that is polled", |at| {
        let queue = at.queue;
        Box::new(move || dump::until(|| queue.marker().is_complete().unwrap()))
    }),
    ("a marker that is awaited", |at| {
        let marker = at.queue.marker();
        Box::new(move || crate::common::block_on(marker.done()).unwrap())
    }),
    ("a callback", callback),
    ("an event of another context", |at| {
        let other = at.subject.ctx();
        let queue = other.queue("elsewhere");
        queue.wait_for(&at.queue.marker()).unwrap();
        Box::new(move || {
            queue.finish().wait().unwrap();
            drop(other);
        })
    }),
];

/// The same for callbacks with something before them when they are enqueued: the call of the one before may still be
/// ending.
const HELD_LATE: [(&str, Way); 2] = [
    ("callbacks, each after the one before", |at| {
        let queue = at.queue;
        Box::new(move || (0..CALLBACKS).for_each(|_| called(queue)()))
    }),
    ("callbacks that wait for an event", |at| {
        let queue = at.queue;
        Box::new(move || {
            for _ in 0..CALLBACKS {
                let gate = queue.hold();
                let look = called(queue);
                gate.signal();
                look();
            }
        })
    }),
];

/// Results that the host reads in place.
const BYTES_ASKED_LATE: [(&str, Way); 4] = [
    ("a read map", map),
    ("a read", |at| {
        let read = at.queue.read(&at.x);
        Box::new(move || assert_eq!(read.wait().unwrap(), [VALUE; N]))
    }),
    ("all elements", |at| {
        let ctx = at.ctx;
        let x = at.x.clone();
        Box::new(move || assert_eq!(ctx.to_vec(&x).unwrap(), [VALUE; N]))
    }),
    ("a write map", write_map),
];

const MAPS: [(&str, Way); 2] = [("a read map", map), ("a write map", write_map)];

fn write_map<'a>(at: &Short<'a>) -> Look<'a> {
    let map = at.x.map_write();
    Box::new(move || assert_eq!(crate::common::block_on(map).unwrap()[..], [VALUE; N]))
}

fn marker<'a>(at: &Short<'a>) -> Look<'a> {
    let marker = at.queue.marker();
    Box::new(move || marker.wait().unwrap())
}

fn map<'a>(at: &Short<'a>) -> Look<'a> {
    let map = at.x.map_read();
    Box::new(move || assert_eq!(map.wait().unwrap()[..], [VALUE; N]))
}

fn callback<'a>(at: &Short<'a>) -> Look<'a> {
    Box::new(called(at.queue))
}

/// Enqueues a callback. Returns a function that waits for its call.
fn called(queue: &CommandQueue) -> impl FnOnce() + use<> {
    let (sender, called) = std::sync::mpsc::channel();
    queue.callback(move || sender.send(()).unwrap()).unwrap();
    move || crate::common::received(&called)
}

/// Results of short work that waits for long work of a queue whose end no marker, event or read observes.
const AFTER: [(&str, Way); 2] = [
    ("a marker after long work", |at| {
        after_long_work(at);
        marker(at)
    }),
    ("a callback after long work", |at| {
        after_long_work(at);
        callback(at)
    }),
];

fn after_long_work(at: &Short<'_>) {
    let long = at.ctx.queue("long");
    at.subject.spin(at.ctx, &long, 60);
    at.queue.wait_for(&long).unwrap();
    (0..20).for_each(|_| at.queue.fill(&mut at.x.clone(), VALUE).unwrap());
}

/// Repeats the launch, so that the context knows the kernel's duration from the second launch on.
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

/// Uses a context without threads, where only calls that flush or wait submit.
fn without_threads(s: &Subject) {
    let ctx = s.without_threads();
    each_length("a marker", |milliseconds| {
        let queue = ctx.queue("main");
        let x = queue.full([N], VALUE).unwrap();
        let marker = queue.marker();
        s.spin(&ctx, &queue, milliseconds);
        queue.flush().unwrap();
        marker.wait().unwrap();
        let early = !queue.marker().is_complete().unwrap();
        assert_eq!(queue.read(&x).wait().unwrap(), [VALUE; N]);
        early
    });
}

/// Checks that very short commands share batches: a result may be late up to the bound, so not every marker ends a
/// batch.
fn many_markers(s: &Subject) {
    const MARKERS: usize = 1000;
    let (ctx, queue) = s.with_queue("main");
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

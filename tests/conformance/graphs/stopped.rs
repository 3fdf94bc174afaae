//! G12: a replay and a loop in it can be cancelled, a loop obeys a time limit, and dropping a context ends its loops.

use crate::common::{Calls, Case, Subject, case, dump};
use crate::graphs::control::Setup;
use fencepost::graph::Loop;
use fencepost::prelude::*;
use fencepost::{Bound, ErrorDetail, Replay, Result, SimulatorOptions};
use std::sync::mpsc::channel;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("g12_a_cancelled_loop_ends_while_it_runs_and_its_queue_goes_on", cancelled),
        case("g12_a_cancelled_loop_ends_without_threads_too", without_threads),
        case("g12_cancel_ends_what_is_enqueued_after_the_replay_and_nothing_before_or_later", around),
        case("g12_a_replay_after_an_event_is_cancelled_before_it_starts", held),
        case("g12_replays_of_one_queue_are_cancelled_in_any_order", any_order),
        case("g12_loops_of_one_queue_are_cancelled_from_the_last_one_on", last_first),
        case("g12_cancel_changes_nothing_once_a_replay_is_over", over),
        case("g12_a_function_of_the_host_in_a_cancelled_replay_is_not_called", host_function),
        case("g12_a_loop_beyond_the_limit_of_time_ends_its_queue", overdue),
        case("g12_the_drop_of_a_context_ends_a_loop_that_does_not", dropped),
    ]
}

/// Enqueues a loop that increments `count` and never ends by itself.
fn endless(s: &Setup, go_on: &DeviceArray<u32>, count: &DeviceArray<u32>) -> Result<Loop> {
    s.queue.while_(go_on, Bound::Chunked(u32::MAX), |body| s.raise(body, count))
}

fn is_cancelled<T: std::fmt::Debug>(result: Result<T>) -> bool {
    matches!(result.unwrap_err().detail(), ErrorDetail::Cancelled { graph } if graph == "main")
}

/// Waits until chunks of the loop on queue `main` have completed. The threads of the context continue the loop.
fn until_it_runs(ctx: &Context) {
    let done = dump::completed(ctx);
    dump::until(|| dump::completed(ctx) >= done + 3);
}

fn cancels(s: &Setup, run_it: impl Fn(&Replay)) {
    let [go_on, count] = s.words([1, 0]);
    let other = s.ctx.queue("other");
    s.queue.finish().wait().unwrap();
    for round in 1..3 {
        let steps = endless(s, &go_on, &count).unwrap();
        let run = steps.replay().unwrap();
        s.queue.flush().unwrap();
        run_it(run);
        run.cancel().unwrap();
        run.cancel().unwrap();
        assert!(is_cancelled(run.wait()));
        assert!(is_cancelled(run.iterations(&steps).unwrap().wait()));
        // The queue has no error, and the bytes that the loop wrote are kept.
        assert!(s.queue.take_error().is_none());
        let turns = s.read(&count)[0];
        assert!(turns > 0, "the loop has run");
        s.set(&count, 0);
        assert_eq!(other.read(&count).wait().unwrap(), [0], "round {round}: no chunk comes later");
    }
    assert_eq!(s.read(&go_on), [1]);
}

fn cancelled(subject: &Subject) {
    let s = Setup::new(subject);
    cancels(&s, |_| until_it_runs(&s.ctx));
}

fn without_threads(subject: &Subject) {
    let s = Setup::on(subject.without_threads());
    cancels(&s, |run| {
        for _ in 0..20 {
            assert!(run.event().done().wait_timeout(Duration::ZERO).unwrap().is_none());
        }
    });
}

fn around(subject: &Subject) {
    let s = Setup::new(subject);
    let [go_on, count, mut before, after] = s.words([1, 0, 0, 0]);
    let other = s.ctx.queue("other");
    s.set(&before, 5);
    let read = s.queue.read(&before);
    let steps = endless(&s, &go_on, &count).unwrap();
    s.set(&after, 9);
    let marker = s.queue.marker();
    other.wait_for(&marker).unwrap();
    other.fill(&mut before, 6).unwrap();
    steps.replay().unwrap().cancel().unwrap();
    s.set(&count, 3);
    let later = s.queue.marker();
    assert_eq!(read.wait().unwrap(), [5]);
    assert!(is_cancelled(marker.wait()));
    later.wait().unwrap();
    // A wait by another queue requires only order, not success.
    assert_eq!(other.read(&before).wait().unwrap(), [6]);
    assert_eq!([s.read(&count), s.read(&after)], [[3], [0]]);
}

fn held(subject: &Subject) {
    let s = Setup::new(subject);
    let gate = s.ctx.user_event("gate");
    let mut x = s.word(1);
    let (graph, ()) = s.queue.capture(|c| c.fill(&mut x, 7)).unwrap();
    s.queue.wait_for(&gate.event()).unwrap();
    let runs = [0, 1, 2].map(|_| s.queue.replay(&graph).unwrap());
    let waited = runs[0].event().done().wait_timeout(Duration::ZERO);
    assert!(waited.unwrap().is_none(), "the gate holds the queue");
    runs[1].cancel().unwrap();
    let late = s.queue.replay(&graph).unwrap();
    gate.signal();
    runs[0].wait().unwrap();
    assert!(is_cancelled(runs[1].wait()));
    assert!(is_cancelled(runs[2].wait()), "it was enqueued before the call");
    late.wait().unwrap();
    assert_eq!(s.read(&x), [7]);
}

fn any_order(subject: &Subject) {
    let s = Setup::new(subject);
    let [between, late] = s.words([1, 1]);
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1], [0, 2, 1]] {
        let gate = s.ctx.user_event("gate");
        let arrays = s.words([1, 1, 1]);
        let fill = |x: &DeviceArray<u32>| s.queue.capture(|c| c.fill(&mut x.clone(), 7)).unwrap().0;
        let graphs = arrays.each_ref().map(fill);
        s.set(&between, 1);
        s.queue.wait_for(&gate.event()).unwrap();
        let runs = graphs.each_ref().map(|graph| s.queue.replay(graph).unwrap());
        for run in order {
            s.set(&between, 7);
            runs[run].cancel().unwrap();
        }
        s.set(&late, 3);
        gate.signal();
        for run in runs {
            assert!(is_cancelled(run.wait()), "{order:?}");
        }
        assert_eq!(arrays.each_ref().map(|x| s.read(x)), [[1]; 3].map(Vec::from), "{order:?}");
        assert_eq!(s.read(&late), [3]);
    }
}

fn last_first(subject: &Subject) {
    let s = Setup::new(subject);
    let [go_on, count] = s.words([1, 0]);
    let loops = [0, 1].map(|_| endless(&s, &go_on, &count).unwrap());
    s.queue.flush().unwrap();
    until_it_runs(&s.ctx);
    for steps in loops.iter().rev() {
        steps.replay().unwrap().cancel().unwrap();
    }
    for steps in &loops {
        assert!(is_cancelled(steps.replay().unwrap().wait()));
    }
    s.set(&count, 3);
    assert_eq!(s.read(&count), [3]);
}

fn over(subject: &Subject) {
    let s = Setup::new(subject);
    let mut x = s.word(1);
    let (graph, ()) = s.queue.capture(|c| c.fill(&mut x, 7)).unwrap();
    let run = s.queue.replay(&graph).unwrap();
    run.wait().unwrap();
    run.cancel().unwrap();
    run.wait().unwrap();
    let marker = s.queue.marker();
    marker.wait().unwrap();
    assert_eq!(s.read(&x), [7]);
    // A queue that has failed keeps its own error.
    let steps = s.queue.capture(|c| c.fill(&mut x, 8)).unwrap().0;
    let run = s.queue.replay(&steps).unwrap();
    drop(s.queue);
    run.cancel().unwrap();
    if let Err(error) = run.wait() {
        assert!(matches!(error.detail(), ErrorDetail::Cancelled { .. }), "{error}");
    }
}

fn host_function(subject: &Subject) {
    let s = Setup::new(subject);
    let [go_on, count] = s.words([1, 0]);
    let (sent, seen) = channel();
    let (graph, ()) = s.queue.graph_of(|c| {
        c.while_(&go_on, Bound::Chunked(u32::MAX), |body| s.raise(body, &count))?;
        c.host(move || sent.send(()).unwrap())
    });
    let run = s.queue.replay(&graph).unwrap();
    s.queue.flush().unwrap();
    until_it_runs(&s.ctx);
    run.cancel().unwrap();
    assert!(is_cancelled(run.wait()));
    s.queue.finish().wait().unwrap();
    assert!(seen.try_recv().is_err());
}

/// Opens a context with this limit.
fn limited(subject: &Subject, launch_limit: Duration) -> Context {
    match subject.is_cpu() {
        true => subject.simulated(SimulatorOptions::default().launch_limit(launch_limit)),
        false => subject.options(|options| options.launch_limit = launch_limit),
    }
}

fn overdue(subject: &Subject) {
    let limit = Duration::from_millis(300);
    let s = Setup::on(limited(subject, limit));
    let [go_on, count] = s.words([1, 0]);
    let steps = endless(&s, &go_on, &count).unwrap();
    let error = steps.replay().unwrap().wait().unwrap_err();
    let ErrorDetail::LoopTooLong { graph, launch, iterations, limit: found } = error.detail() else {
        panic!("{error}")
    };
    assert_eq!((graph.as_str(), *found, launch.file()), ("main", limit, file!()));
    assert!(*iterations > 0 && error.to_string().contains("ContextOptions::launch_limit"), "{error}");
    assert!(s.queue.fill(&mut count.clone(), 0).is_err(), "the error stays until it is taken");
    assert!(matches!(s.queue.take_error().unwrap().detail(), ErrorDetail::LoopTooLong { .. }));
}

fn dropped(subject: &Subject) {
    let s = Setup::new(subject);
    let [go_on, count] = s.words([1, 0]);
    drop(endless(&s, &go_on, &count).unwrap());
    // A second loop after the first one ends too, and so does a loop on another queue.
    drop(endless(&s, &go_on, &count).unwrap());
    let other = s.ctx.queue("other");
    drop(other.while_(&go_on, Bound::Chunked(u32::MAX), |_| Ok(())).unwrap());
    s.queue.flush().unwrap();
    drop(other);
    drop((s, go_on, count));
}

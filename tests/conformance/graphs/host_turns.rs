//! G04: host callbacks in several replays of one graph.

use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use fencepost::{Graph, SimulatorOptions};
use std::sync::{Arc, Mutex};

pub fn cases() -> Vec<Case> {
    vec![
        case("g04_a_function_of_the_host_may_flush_the_queue_of_the_next_replay", flushes).host_side(),
        case("g04_the_functions_of_the_host_run_in_the_order_of_the_replays", in_order),
        case("g04_the_functions_of_a_graph_inside_two_graphs_take_turns", inside_graphs).host_side(),
    ]
}

/// The queue that a host callback flushes.
type Flushed = Arc<Mutex<Option<CommandQueue>>>;

/// Captures a host callback that counts its calls, flushes a queue and checks it.
fn captured(queue: &CommandQueue, calls: &Arc<Mutex<u32>>, flushed: &Flushed) -> Graph {
    let calls = calls.clone();
    let flushed = flushed.clone();
    let function = move || {
        *calls.lock().unwrap() += 1;
        let queue = flushed.lock().unwrap().clone();
        if let Some(queue) = queue {
            queue.flush().unwrap();
            assert!(!queue.marker().is_complete().unwrap(), "the next replay comes after this function");
        }
    };
    queue.capture(|c| c.host(function)).unwrap().0
}

/// Returns a context in which a flush runs the pending host callbacks.
fn without_threads(subject: &Subject) -> Context {
    let ctx = Context::simulated(SimulatorOptions::default().threads(false));
    subject.watch(&ctx);
    ctx
}

fn flushes(subject: &Subject) {
    let ctx = without_threads(subject);
    let one = ctx.queue("one");
    let two = ctx.queue("two");
    let calls = Arc::default();
    let flushed = Flushed::default();
    let graph = captured(&one, &calls, &flushed);
    *flushed.lock().unwrap() = Some(two.clone());
    let runs = [one.replay(&graph).unwrap(), two.replay(&graph).unwrap()];
    runs[0].wait().unwrap();
    *flushed.lock().unwrap() = None;
    runs[1].wait().unwrap();
    assert_eq!(*calls.lock().unwrap(), 2);
}

fn inside_graphs(subject: &Subject) {
    let ctx = without_threads(subject);
    let one = ctx.queue("one");
    let two = ctx.queue("two");
    let calls = Arc::default();
    let flushed = Flushed::default();
    let child = captured(&one, &calls, &flushed);
    let parents = [0, 1].map(|_| one.capture(|c| c.replay(&child).map(drop)).unwrap().0);
    *flushed.lock().unwrap() = Some(two.clone());
    let runs = [one.replay(&parents[0]).unwrap(), two.replay(&parents[1]).unwrap()];
    runs[0].wait().unwrap();
    *flushed.lock().unwrap() = None;
    runs[1].wait().unwrap();
    assert_eq!(*calls.lock().unwrap(), 2);
}

/// An event holds back the first replay, and the caller waits for the second one first.
fn in_order(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Unchecked);
    let queues = [ctx.queue("one"), ctx.queue("two"), ctx.queue("three")];
    let gate = ctx.user_event("gate");
    let calls = Arc::new(Mutex::new(0));
    let counted = calls.clone();
    let function = move || *counted.lock().unwrap() += 1;
    let (graph, ()) = queues[0].capture(|c| c.host(function)).unwrap();
    queues[0].wait_for(&gate.event()).unwrap();
    let first = queues[0].replay(&graph).unwrap();
    let later = [queues[1].replay(&graph).unwrap(), queues[2].replay(&graph).unwrap()];
    assert!(!later[1].event().is_complete().unwrap() && *calls.lock().unwrap() == 0);
    gate.signal();
    later[1].wait().unwrap();
    assert!(first.event().is_complete().unwrap() && later[0].event().is_complete().unwrap());
    assert_eq!(*calls.lock().unwrap(), 3, "the last replay comes after all others");
}

//! G04: host callbacks in several replays of one graph.

use crate::common::{Calls, Case, Subject, case};
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

/// Replays a graph on a queue, and another on a second one, which the callback of the first replay flushes.
fn take_turns(subject: &Subject, graphs: impl FnOnce(&CommandQueue, Graph) -> [Graph; 2]) {
    // A flush runs the pending host callbacks.
    let ctx = subject.simulated(SimulatorOptions::default().threads(false));
    let [one, two] = ["one", "two"].map(|label| ctx.queue(label));
    let calls = Arc::default();
    let flushed = Flushed::default();
    let graphs = graphs(&one, captured(&one, &calls, &flushed));
    *flushed.lock().unwrap() = Some(two.clone());
    let runs = [one.replay(&graphs[0]).unwrap(), two.replay(&graphs[1]).unwrap()];
    runs[0].wait().unwrap();
    *flushed.lock().unwrap() = None;
    runs[1].wait().unwrap();
    assert_eq!(*calls.lock().unwrap(), 2);
}

fn flushes(subject: &Subject) {
    take_turns(subject, |_, graph| [graph.clone(), graph]);
}

fn inside_graphs(subject: &Subject) {
    take_turns(subject, |queue, child| {
        [0, 1].map(|_| queue.capture(|c| c.replay(&child).map(drop)).unwrap().0)
    });
}

/// An event holds back the first replay, and the caller waits for the second one first.
fn in_order(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Unchecked);
    let queues = [ctx.queue("one"), ctx.queue("two"), ctx.queue("three")];
    let calls = Arc::new(Mutex::new(0));
    let counted = calls.clone();
    let function = move || *counted.lock().unwrap() += 1;
    let (graph, ()) = queues[0].capture(|c| c.host(function)).unwrap();
    let gate = queues[0].hold();
    let first = queues[0].replay(&graph).unwrap();
    let later = [queues[1].replay(&graph).unwrap(), queues[2].replay(&graph).unwrap()];
    assert!(!later[1].event().is_complete().unwrap() && *calls.lock().unwrap() == 0);
    gate.signal();
    later[1].wait().unwrap();
    assert!(first.event().is_complete().unwrap() && later[0].event().is_complete().unwrap());
    assert_eq!(*calls.lock().unwrap(), 3, "the last replay comes after all others");
}

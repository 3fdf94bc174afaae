//! G05 and G06: edits, inputs and values of graphs with conditions and loops.

use crate::common::{Calls, Case, Subject, assert_error, case};
use crate::graphs::control::iterations_of;
use fencepost::EventOptions;
use fencepost::graph::Loop;
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("g05_an_edit_changes_the_grid_of_a_launch_in_a_body", grid),
        case("g05_an_edit_leaves_the_loops_of_runs_in_flight_unchanged", in_flight),
        case("g05_the_condition_of_a_loop_may_be_an_input", condition),
        case("g05_a_body_uses_the_inputs_and_values_of_its_graph", inputs),
        case("g06_a_body_refuses_inputs_values_and_timed_markers", refused),
    ]
}

/// Number of elements of an array, for two workgroups of `mix`.
const N: usize = 128;
const HALF: usize = N / 2;

/// Captures a loop that adds 1 to each element of `y` in each iteration.
fn counting(queue: &CommandQueue, count: &DeviceArray<u32>, y: &DeviceArray<u32>) -> (Graph, Loop) {
    let zero = queue.zeros::<u32, 1>([N]).unwrap();
    queue.graph_of(|c| {
        let count = c.input("count", count)?;
        c.repeat(&count, Bound::AtMost(6), |b| {
            b.mix(1, 1, &zero, &mut y.clone())?;
            b.label_node("add")
        })
    })
}

fn halves(first: u32, second: u32) -> Vec<u32> {
    [[first; HALF], [second; HALF]].concat()
}

fn grid(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let count = queue.full([1], 3_u32).unwrap();
    let y = queue.zeros::<u32, 1>([N]).unwrap();
    let (mut graph, rounds) = counting(&queue, &count, &y);
    assert_eq!(queue.read_after(&graph, &y), halves(3, 3));
    graph.edit().unwrap().node("add").unwrap().grid(Grid::threads([HALF])).unwrap().apply().unwrap();
    let run = queue.replay(&graph).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), halves(6, 3));
    assert_eq!(iterations_of(&run, &rounds), 3);
    graph.edit().unwrap().node("add").unwrap().grid(Grid::threads([0])).unwrap().apply().unwrap();
    let run = queue.replay(&graph).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), halves(6, 3));
    assert_eq!(iterations_of(&run, &rounds), 3);
}

fn in_flight(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let count = queue.full([1], 2_u32).unwrap();
    let y = queue.zeros::<u32, 1>([N]).unwrap();
    let (mut graph, rounds) = counting(&queue, &count, &y);
    let gate = queue.hold();
    let held = queue.replay(&graph).unwrap();
    graph.edit().unwrap().node("add").unwrap().grid(Grid::threads([HALF])).unwrap().apply().unwrap();
    let edited = queue.replay(&graph).unwrap();
    drop(graph);
    gate.signal();
    assert_eq!(queue.read(&y).wait().unwrap(), halves(4, 2));
    for run in [held, edited] {
        assert_eq!(iterations_of(&run, &rounds), 2);
    }
}

fn condition(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let [two, five] = [2_u32, 5].map(|value| queue.full([1], value).unwrap());
    let y = queue.zeros::<u32, 1>([N]).unwrap();
    let (graph, rounds) = counting(&queue, &two, &y);
    let mut sum = 0;
    for (count, iterations) in [(&five, 5), (&two, 2), (&five, 5)] {
        let run = queue.replay(&graph.with().input("count", count).unwrap()).unwrap();
        sum += iterations;
        assert_eq!(queue.read(&y).wait().unwrap(), halves(sum, sum));
        assert_eq!(iterations_of(&run, &rounds), iterations);
    }
}

fn inputs(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let [one, ten] = [1_u32, 10].map(|value| queue.full([N], value).unwrap());
    let flag = queue.full([1], 1_u32).unwrap();
    let y = queue.zeros::<u32, 1>([N]).unwrap();
    let (graph, _) = queue.graph_of(|c| {
        let x = c.input("x", &one)?;
        let b = c.value("b", 2_u32)?;
        c.if_(&flag, |body| {
            body.copy(&x, &mut y.clone())?;
            body.mix(1, b.get(), &x, &mut y.clone())?;
            body.parameter("b", &b)
        })
    });
    let check = |x: &DeviceArray<u32>, b: u32, expected: u32| {
        queue.replay(&graph.with().input("x", x).unwrap().value("b", b).unwrap()).unwrap();
        assert_eq!(queue.read(&y).wait().unwrap(), [expected; N]);
    };
    check(&ten, 5, 25);
    check(&one, 7, 9);
    check(&ten, 2, 22);
}

fn refused(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let flag = queue.full([1], 1_u32).unwrap();
    let mut x = queue.zeros::<u32, 1>([N]).unwrap();
    type Call = fn(&fencepost::Capture, &DeviceArray<u32>) -> fencepost::Result<()>;
    let calls: [Call; 3] = [
        |b, x| b.input("x", x).map(drop),
        |b, _| b.value("a", 1_u32).map(drop),
        |b, _| {
            drop(b.marker_with(EventOptions::default().timing(true)));
            Ok(())
        },
    ];
    for call in calls {
        let captured = queue.capture(|c| c.if_(&flag, |b| call(b, &x)).map(drop));
        assert_error!(captured, ErrorDetail::Captured { .. });
        queue.fill(&mut x, 1).unwrap();
        assert_eq!(queue.read(&x).wait().unwrap(), [1; N]);
    }
}

//! G05: edits of graphs.

use crate::common::busy::{Busy, LENGTHS};
use crate::common::kernels::{Mix, Saxpy};
use crate::common::{Calls, Case, Subject, assert_error, assert_says, case};
use crate::graphs::temporaries::has_returned;
use fencepost::Graph;
use fencepost::graph::GraphEdit;
use fencepost::prelude::*;
use std::time::Duration;
use web_time::Instant;

pub fn cases() -> Vec<Case> {
    vec![
        case("g05_an_edit_changes_arrays_grids_and_parameters", all_kinds),
        case("g05_an_edit_changes_all_nodes_of_a_name", several_nodes),
        case("g05_the_last_change_of_an_edit_counts", last_wins),
        case("g05_edits_add_up", add_up),
        case("g05_an_edit_changes_the_defaults", defaults),
        case("g05_a_wrong_edit_changes_nothing", all_or_nothing),
        case("g05_an_edit_makes_every_check_of_a_launch", checks),
        case("g05_runs_in_flight_keep_what_an_edit_changes", in_flight),
        case("g05_clones_and_children_keep_what_an_edit_changes", clones),
        case("g05_an_edit_that_makes_a_hazard_is_an_error_under_checked", hazard),
        case("g05_an_edit_that_makes_nodes_overlap_orders_them", overlap),
        case("g05_a_replay_uses_the_arrays_of_the_last_edit_only", edited_uses),
        case("g05_an_edited_graph_keeps_its_new_arrays_only", memory),
        case("g05_the_old_array_of_an_edited_input_can_be_released", old_inputs),
        case("g05_an_empty_launch_gets_workgroups_from_an_edit", empty_launch),
        case("g05_an_edit_changes_the_place_of_workgroup_counts", indirect),
        case("g05_an_array_without_elements_is_an_argument_of_an_edit", no_elements),
    ]
}

const N: usize = 256;

/// Captures `y = a y + x + b` under the name `mix`.
fn mixing(queue: &CommandQueue, x: &DeviceArray<u32>, y: &DeviceArray<u32>) -> Graph {
    let captured = queue.capture(|c| {
        c.mix(0, 0, x, &mut y.clone())?;
        c.label_node("mix")
    });
    captured.unwrap().0
}

struct Parts {
    ctx: Context,
    queue: CommandQueue,
    x: DeviceArray<u32>,
    y: DeviceArray<u32>,
    graph: Graph,
}

/// Returns a graph with one node, on arrays filled with 1 and with 2.
fn parts(subject: &Subject, policy: Policy) -> Parts {
    let (ctx, queue) = subject.with_queue_under(policy, "main");
    let [x, y] = [1_u32, 2].map(|value| queue.full([N], value).unwrap());
    let graph = mixing(&queue, &x, &y);
    Parts { ctx, queue, x, y, graph }
}

fn all_kinds(subject: &Subject) {
    let Parts { ctx: _ctx, queue, y, mut graph, .. } = parts(subject, Policy::Ordered);
    let other = queue.full([N], 10_u32).unwrap();
    let edit = graph.edit().unwrap().node("mix").unwrap().argument("x", &other).unwrap();
    let edit = edit.parameter("a", 3_u32).unwrap().parameter("b", 5_u32).unwrap();
    edit.grid(Grid::threads([64])).unwrap().apply().unwrap();
    queue.replay(&graph).unwrap();
    // A group may have more invocations than the grid has threads, as for an ordinary launch.
    let mut expected = queue.full([N], 2_u32).unwrap();
    let mix = _ctx.kernel::<Mix>().unwrap();
    queue.launch(&mix, Grid::threads([64]), Mix { a: 3, b: 5, x: &other, y: &mut expected }).unwrap();
    let found = queue.read(&y).wait().unwrap();
    assert_eq!(found[0], 21);
    assert_eq!(found, queue.read(&expected).wait().unwrap());
}

fn several_nodes(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let [x, mut y] = [1_u32, 0].map(|value| queue.full([N], value).unwrap());
    let (mut graph, ()) = queue.graph_of(|c| {
        for at in 0..3 {
            c.mix(1, 10, &x, &mut y)?;
            c.label_node("step")?;
            c.mix(2, at, &x, &mut y)?;
        }
        Ok(())
    });
    graph.edit().unwrap().node("step").unwrap().parameter("b", 100_u32).unwrap().apply().unwrap();
    queue.replay(&graph).unwrap();
    let expected = (0..3).fold(0, |y, at| Mix::of(2, at, 1, Mix::of(1, 100, 1, y)));
    assert_eq!(queue.read(&y).wait().unwrap(), [expected; N]);
    // Launches without a label have the name of their kernel.
    graph.edit().unwrap().node("mix").unwrap().parameter("a", 0_u32).unwrap().apply().unwrap();
    assert_eq!(queue.read_after(&graph, &y), [3; N]);
}

fn last_wins(subject: &Subject) {
    let Parts { ctx: _ctx, queue, y, mut graph, .. } = parts(subject, Policy::Ordered);
    let arrays = [5_u32, 7].map(|value| queue.full([N], value).unwrap());
    let edit = graph.edit().unwrap().node("mix").unwrap().parameter("b", 1_u32).unwrap();
    let edit = edit.argument("x", &arrays[0]).unwrap().parameter("b", 2_u32).unwrap();
    edit.argument("x", &arrays[1]).unwrap().parameter("b", 3_u32).unwrap().apply().unwrap();
    assert_eq!(queue.read_after(&graph, &y), [10; N]);
}

fn add_up(subject: &Subject) {
    let Parts { ctx: _ctx, queue, y, mut graph, .. } = parts(subject, Policy::Ordered);
    let mut expected = [0, 0, 1, 2];
    for round in 1..=60_u32 {
        let edit = graph.edit().unwrap().node("mix").unwrap();
        match round % 3 {
            0 => {
                edit.parameter("a", round).unwrap().apply().unwrap();
                expected[0] = round;
            }
            1 => {
                edit.parameter("b", round).unwrap().apply().unwrap();
                expected[1] = round;
            }
            _ => {
                let x = queue.full([N], round).unwrap();
                edit.argument("x", &x).unwrap().apply().unwrap();
                expected[2] = round;
            }
        }
        queue.replay(&graph).unwrap();
        expected[3] = Mix::of(expected[0], expected[1], expected[2], expected[3]);
    }
    assert_eq!(queue.read(&y).wait().unwrap(), [expected[3]; N]);
}

fn defaults(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let [x, mut y] = [1_u32, 0].map(|value| queue.full([N], value).unwrap());
    let (mut graph, ()) = queue.graph_of(|c| {
        let x = c.input("x", &x)?;
        let k = c.value("k", 10_u32)?;
        c.mix(0, 0, &x, &mut y)?;
        c.parameter("b", &k)
    });
    let read = |graph: &dyn Fn()| {
        graph();
        queue.read(&y).wait().unwrap()[N - 1]
    };
    let other = queue.full([N], 2_u32).unwrap();
    graph.edit().unwrap().input("x", &other).unwrap().value("k", 20_u32).unwrap().apply().unwrap();
    drop(other);
    let reused: Vec<_> = (0..8).map(|value| queue.full([N], 50 + value).unwrap()).collect();
    assert_eq!(read(&|| drop(queue.replay(&graph).unwrap())), 22);
    // The bindings of a replay change arguments that the edit did not change.
    assert_eq!(read(&|| drop(queue.replay(&graph.with().input("x", &x).unwrap()).unwrap())), 21);
    assert_eq!(read(&|| drop(queue.replay(&graph.with().value("k", 30_u32).unwrap()).unwrap())), 32);
    assert_eq!(read(&|| drop(queue.replay(&graph).unwrap())), 22);
    // An edit of a node refuses an argument that is an input, and a parameter that is a value.
    assert_says(graph.edit().unwrap().node("mix").unwrap().argument("x", &x), "is input `x`");
    assert_says(graph.edit().unwrap().node("mix").unwrap().parameter("b", 1_u32), "is value `k`");
    drop(reused);
}

fn all_or_nothing(subject: &Subject) {
    let Parts { ctx: _ctx, queue, y, mut graph, .. } = parts(subject, Policy::Ordered);
    let edit = graph.edit().unwrap().node("mix").unwrap().parameter("b", 50_u32).unwrap();
    assert_error!(edit.argument("x", &y).unwrap().apply(), ErrorDetail::Aliased { .. });
    // An edit that is not applied changes nothing.
    drop(graph.edit().unwrap().node("mix").unwrap().parameter("b", 60_u32).unwrap());
    assert_eq!(queue.read_after(&graph, &y), [1; N]);
}

/// Starts an edit of the only node.
fn node(graph: &mut Graph) -> GraphEdit<'_> {
    graph.edit().unwrap().node("mix").unwrap()
}

fn checks(subject: &Subject) {
    let Parts { ctx, queue, x, y, mut graph } = parts(subject, Policy::Ordered);
    let floats = queue.full([N], 1.0_f32).unwrap();
    let elsewhere = subject.ctx();
    let foreign = elsewhere.zeros::<u32, 1>([N]).unwrap();
    let is = |error: Error, fits: &dyn Fn(&ErrorDetail) -> bool| assert!(fits(error.detail()), "{error}");
    is(node(&mut graph).argument("x", &floats).unwrap_err(), &|kind| matches!(kind, ErrorDetail::Kernel(_)));
    is(node(&mut graph).argument("z", &x).unwrap_err(), &|kind| matches!(kind, ErrorDetail::Kernel(_)));
    is(node(&mut graph).argument("a", &x).unwrap_err(), &|kind| matches!(kind, ErrorDetail::Kernel(_)));
    is(node(&mut graph).argument("x", &foreign).unwrap_err(), &|kind| {
        matches!(kind, ErrorDetail::ForeignContext { .. })
    });
    is(node(&mut graph).parameter("a", 1.0_f32).unwrap_err(), &|kind| matches!(kind, ErrorDetail::Kernel(_)));
    is(node(&mut graph).parameter("y", 1_u32).unwrap_err(), &|kind| matches!(kind, ErrorDetail::Kernel(_)));
    is(node(&mut graph).grid(Grid::threads([-1_i32])).unwrap_err(), &|kind| {
        matches!(kind, ErrorDetail::GridNegative { .. })
    });
    is(node(&mut graph).grid(Grid::groups([u32::MAX, 1, 1])).unwrap_err(), &|kind| {
        matches!(kind, ErrorDetail::GridTooLarge { .. })
    });
    if ctx.binding_alignment() > 4 {
        let part = x.slice(1..N).unwrap();
        is(node(&mut graph).argument("x", &part).unwrap_err(), &|kind| {
            matches!(kind, ErrorDetail::Alignment { .. })
        });
    }
    is(node(&mut graph).node("none").unwrap_err(), &|kind| {
        matches!(kind, ErrorDetail::GraphName { what: "node", .. })
    });
    assert_says(graph.edit().unwrap().grid(Grid::threads([1])), "call `node` first");
    let mut z = y.clone();
    let (mut plain, ()) = queue.capture(|c| c.fill(&mut z, 1)).unwrap();
    is(plain.edit().unwrap().node("fill").unwrap_err(), &|kind| {
        matches!(kind, ErrorDetail::GraphName { known, .. } if known.is_empty()) // a fill without a label has no name to select
    });
    let (mut fill, ()) = queue.graph_of(|c| {
        c.fill(&mut z, 1)?;
        c.label_node("fill y")
    });
    let error = fill.edit().unwrap().node("fill y").unwrap().parameter("a", 1_u32).unwrap_err();
    assert!(error.to_string().contains("node `fill y`, which is not a launch"), "{error}");
}

fn in_flight(subject: &Subject) {
    for milliseconds in LENGTHS {
        let (ctx, queue) = subject.with_queue("main");
        let x = queue.full([N], 1_u32).unwrap();
        let (mut graph, out) = queue.graph_of(|c| {
            let mut y = c.zeros::<u32, 1>([N])?;
            c.mix(0, 10, &x, &mut y)?;
            c.label_node("mix")?;
            c.read_as("y", &y)
        });
        let busy = Busy::start(subject, &ctx, &queue, milliseconds);
        let before = [queue.replay(&graph).unwrap(), queue.replay(&graph).unwrap()];
        queue.flush().unwrap();
        let other = queue.full([N], 5_u32).unwrap();
        let edit = graph.edit().unwrap().node("mix").unwrap().parameter("b", 100_u32).unwrap();
        edit.argument("x", &other).unwrap().apply().unwrap();
        let after = queue.replay(&graph).unwrap();
        graph.edit().unwrap().node("mix").unwrap().parameter("b", 200_u32).unwrap().apply().unwrap();
        let in_time = !busy.is_over();
        busy.let_go();
        for run in &before {
            assert_eq!(run.read(&out).unwrap().wait().unwrap(), [11; N]);
        }
        assert_eq!(after.read(&out).unwrap().wait().unwrap(), [105; N]);
        assert_eq!(queue.output_of(&graph, &out), [205; N]);
        if in_time {
            return;
        }
    }
}

fn clones(subject: &Subject) {
    let Parts { ctx: _ctx, queue, y, mut graph, x } = parts(subject, Policy::Ordered);
    let before = graph.clone();
    let (parent, ()) = queue.capture(|c| c.replay(&graph).map(|_| ())).unwrap();
    graph.edit().unwrap().node("mix").unwrap().parameter("b", 9_u32).unwrap().apply().unwrap();
    let (later, ()) = queue.capture(|c| c.replay(&graph).map(|_| ())).unwrap();
    drop(x);
    for (graph, expected) in [(&graph, 10), (&before, 1), (&later, 10), (&parent, 1)] {
        assert_eq!(queue.read_after(graph, &y), [expected; N]);
    }
}

/// Captures eight rounds of a change of `first` and of `second`, on two unordered queues.
fn two_queues(queue: &CommandQueue, rounds: u32, [first, second]: [&DeviceArray<u32>; 2]) -> Graph {
    let one = queue.full([N], 1_u32).unwrap();
    queue.finish().wait().unwrap();
    let captured = queue.capture(|c| {
        let one_side = c.fork("one side");
        let other_side = c.fork("other side");
        for round in 0..rounds {
            one_side.mix(3, 10 * round, &one, &mut first.clone())?;
            c.on(&one_side)?.label_node("first")?;
            other_side.mix(5, 10 * round, &one, &mut second.clone())?;
            c.on(&other_side)?.label_node("second")?;
        }
        c.wait_for(&one_side)?;
        c.wait_for(&other_side)
    });
    captured.unwrap().0
}

fn hazard(subject: &Subject) {
    let queue = subject.ctx_with(Policy::Checked).queue("main");
    let arrays = [1, 2].map(|value| queue.full([N], value).unwrap());
    let mut graph = two_queues(&queue, 1, [&arrays[0], &arrays[1]]);
    let edit = graph.edit().unwrap().node("second").unwrap().argument("y", &arrays[0]).unwrap();
    let error = edit.parameter("b", 77_u32).unwrap().apply().unwrap_err();
    let ErrorDetail::Hazard { earlier, later, .. } = error.detail() else { panic!("{error}") };
    assert_eq!((&*earlier.queue, &*later.queue), ("one side", "other side"));
    assert_eq!(queue.read_after(&graph, &arrays[0]), [4; N]);
    assert_eq!(queue.read(&arrays[1]).wait().unwrap(), [11; N]);
}

/// Replays a graph of two nodes that write `y`, after edits that move one of them, both of them, and one of them back.
/// A hazard shows the arrays that the replay uses.
fn edited_uses(subject: &Subject) {
    let (ctx, queue) = subject.with_queue_under(Policy::Checked, "main");
    let other = ctx.queue("other");
    let [x, mut y, mut z] = [1, 2, 3].map(|value| queue.full([N], value).unwrap());
    other.wait_for(&queue).unwrap();
    let captured = queue.capture(|c| {
        for name in ["first", "second"] {
            c.mix(1, 0, &x, &mut y)?;
            c.label_node(name)?;
        }
        Ok(())
    });
    let mut graph = captured.unwrap().0;
    let moves = [("second", true), ("first", true), ("first", false), ("second", false)];
    let in_use = [[true, true], [false, true], [true, true], [true, false]];
    for ((node, moved), in_use) in moves.into_iter().zip(in_use) {
        let target = if moved { z.clone() } else { y.clone() };
        graph.edit().unwrap().node(node).unwrap().argument("y", &target).unwrap().apply().unwrap();
        queue.replay(&graph).unwrap();
        let hazards = [&mut y, &mut z].map(|array| other.fill(array, 7).is_err());
        assert_eq!(hazards, in_use, "`{node}` writes `{}`", if moved { "z" } else { "y" });
        other.wait_for(&queue).unwrap();
        queue.wait_for(&other).unwrap();
    }
}

fn overlap(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    for _ in 0..4 {
        let arrays = [1, 2].map(|value| queue.full([N], value).unwrap());
        let mut graph = two_queues(&queue, 8, [&arrays[0], &arrays[1]]);
        graph.edit().unwrap().node("second").unwrap().argument("y", &arrays[0]).unwrap().apply().unwrap();
        queue.replay(&graph).unwrap();
        let both = |y, round: u32| Mix::of(5, 10 * round, 1, Mix::of(3, 10 * round, 1, y));
        assert_eq!(queue.read(&arrays[0]).wait().unwrap(), [(0..8).fold(1, both); N]);
        assert_eq!(queue.read(&arrays[1]).wait().unwrap(), [2; N]);
    }
}

fn memory(subject: &Subject) {
    let Parts { ctx, queue, y, mut graph, x } = parts(subject, Policy::Ordered);
    drop(x);
    let first = queue.full([N], 3_u32).unwrap();
    node(&mut graph).argument("x", &first).unwrap().apply().unwrap();
    drop(first);
    queue.finish().wait().unwrap();
    let before = ctx.pool().stats().used;
    for value in 0..20_u32 {
        let x = queue.full([N], value).unwrap();
        node(&mut graph).argument("x", &x).unwrap().apply().unwrap();
        drop(x);
        let others: Vec<_> = (0..4).map(|_| queue.full([N], 1000_u32).unwrap()).collect();
        queue.replay(&graph).unwrap();
        drop(others);
    }
    queue.finish().wait().unwrap();
    has_returned(&ctx, before);
    assert_eq!(queue.read(&y).wait().unwrap(), [19; N]);
}

fn old_inputs(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let [mut x, y, z] = [0_u32; 3].map(|value| queue.full([N], value).unwrap());
    let (mut graph, ()) = queue.graph_of(|c| {
        for _ in 0..7 {
            c.mix(1, 0, &y, &mut z.clone())?;
        }
        let x = c.input("x", &x)?;
        c.mix(0, 0, &x, &mut y.clone())?;
        c.label_node("mix")
    });
    for value in 1..5_u32 {
        let gate = ctx.user_event("gate");
        let is_in_flight = value.is_multiple_of(2);
        if is_in_flight {
            queue.wait_for(&gate.event()).unwrap();
            queue.replay(&graph).unwrap();
        }
        let next = ctx.array(&[value; N]).unwrap();
        graph.edit().unwrap().input("x", &next).unwrap().apply().unwrap();
        x = next;
        gate.signal();
        ctx.synchronize().wait().unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            if is_in_flight {
                // The plan in flight shared the list of nodes, so the next edit of any kind releases the old array.
                graph.edit().unwrap().node("mix").unwrap().parameter("b", 0_u32).unwrap().apply().unwrap();
            }
            ctx.pool().trim();
            let free = ctx.pool().stats().free;
            if free == 0 {
                break;
            }
            assert!(Instant::now() < end, "round {value}: {free} bytes of old arrays cannot be released");
            crate::common::sleep(Duration::from_millis(1));
        }
        assert_eq!(queue.read_after(&graph, &y), [value; N]);
    }
    drop(x);
}

fn empty_launch(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mix = ctx.kernel::<Mix>().unwrap();
    let [x, mut y] = [1_u32, 2].map(|value| queue.full([N], value).unwrap());
    let (mut graph, ()) = queue.graph_of(|c| {
        c.launch(&mix, Grid::threads([0]), Mix { a: 2, b: 0, x: &x, y: &mut y })?;
        c.label_node("mix")
    });
    assert_eq!(queue.read_after(&graph, &y), [2; N]);
    graph.edit().unwrap().node("mix").unwrap().grid(Grid::threads([N])).unwrap().apply().unwrap();
    assert_eq!(queue.read_after(&graph, &y), [5; N]);
    graph.edit().unwrap().node("mix").unwrap().grid(Grid::groups([0, 1, 1])).unwrap().apply().unwrap();
    assert_eq!(queue.read_after(&graph, &y), [5; N]);
}

fn indirect(subject: &Subject) {
    let Parts { ctx: _ctx, queue, y, mut graph, .. } = parts(subject, Policy::Ordered);
    let mut counts = queue.array(&[0_u32, 1, 1]).unwrap();
    let edit = graph.edit().unwrap().node("mix").unwrap().parameter("a", 1_u32).unwrap();
    edit.grid(Grid::indirect(&counts, 0)).unwrap().apply().unwrap();
    assert_eq!(queue.read_after(&graph, &y), [2; N]);
    queue.upload(&[N as u32, 1, 1], &mut counts).unwrap();
    assert_eq!(queue.read_after(&graph, &y), [3; N]);
    drop(counts);
    let others: Vec<_> = (0..8).map(|_| queue.array(&[0_u32, 1, 1]).unwrap()).collect();
    assert_eq!(queue.read_after(&graph, &y), [4; N]);
    drop(others);
    graph.edit().unwrap().node("mix").unwrap().grid(Grid::threads([N])).unwrap().apply().unwrap();
    assert_eq!(queue.read_after(&graph, &y), [5; N]);
}

fn no_elements(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let saxpy = ctx.kernel::<Saxpy<u32>>().unwrap();
    let [x, mut y] = [1_u32, 2].map(|value| queue.full([N], value).unwrap());
    let (mut graph, ()) =
        queue.capture(|c| c.launch(&saxpy, Grid::threads([N]), Saxpy { a: 1, x: &x, y: &mut y })).unwrap();
    let empty = x.slice(4..4).unwrap();
    let edit = graph.edit().unwrap().node("saxpy").unwrap().argument("x", &empty).unwrap();
    edit.grid(Grid::threads([0])).unwrap().apply().unwrap();
    assert_eq!(queue.read_after(&graph, &y), [2; N]);
}

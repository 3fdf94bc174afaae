//! G05: the inputs and values of graphs, and replays with other arrays.

use crate::common::kernels::Mix;
use crate::common::{Calls, Case, ONE_THREAD, Subject, assert_error, assert_says, case};
use fencepost::graph::Contents;
use fencepost::prelude::*;
use fencepost::{Bound, Capture, Graph, Output};

pub fn cases() -> Vec<Case> {
    vec![
        case("g05_an_input_takes_bytes_by_launch_upload_and_map", three_ways),
        case("g05_an_input_is_another_array_in_one_replay_only", one_replay),
        case("g05_one_array_can_be_bound_to_two_inputs", one_array_twice),
        case("g05_a_part_of_an_array_can_be_bound", part),
        case("g05_a_part_of_an_array_is_an_input", input_part),
        case("g05_two_arrays_take_turns_in_fifty_replays", double_buffering),
        case("g05_every_kind_of_command_uses_the_bound_array", every_kind),
        case("g05_bindings_that_overlap_are_ordered_as_captured", overlap),
        case("g05_the_order_depends_on_the_distance_of_two_bound_arrays", distance),
        case("g05_bindings_that_overlap_are_a_hazard_under_checked", checked),
        case("g05_bindings_that_overlap_in_one_launch_are_refused", aliased),
        case("g05_wrong_bindings_are_errors_by_name", wrong),
        case("g05_a_binding_needs_the_alignment_of_the_adapter", alignment),
        case("g05_a_command_that_uses_an_input_in_part_is_an_error", in_part),
        case("g05_a_second_input_value_or_output_of_a_name_is_an_error", same_name),
        case("g05_a_value_is_set_for_one_replay", values),
        case("g05_a_value_belongs_to_one_capture", foreign_value),
        case("g05_a_label_and_a_value_concern_one_command_of_the_queue", after_constructs),
        case("g05_copies_of_a_graph_keep_the_values_that_it_has_then", values_of_copies),
        case("g05_bindings_may_be_replayed_inside_a_capture", child),
        case("g05_eight_threads_replay_with_their_own_bindings", threads).not_in_a_page(ONE_THREAD),
        case("g05_bindings_keep_their_arrays", kept),
        case("g05_bound_runs_are_ordered_on_the_bound_arrays", ordered_runs),
    ]
}

const N: usize = 256;

/// Captures `y = 2 x + 1` with the input `x`, and returns `y` as an output.
fn doubler(queue: &CommandQueue, x: &DeviceArray<u32>) -> (Graph, Output<u32>) {
    queue.graph_of(|c| {
        let x = c.input("x", x)?;
        let mut y = c.zeros::<u32, 1>(x.shape())?;
        c.copy(&x, &mut y)?;
        c.mix(1, 1, &x, &mut y)?;
        c.read_as("y", &y)
    })
}

fn three_ways(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let default = queue.full([N], 1_u32).unwrap();
    let (graph, y) = doubler(&queue, &default);
    let mut other = queue.full([N], 0_u32).unwrap();
    let with = graph.with().input("x", &other).unwrap();
    let zero = ctx.zeros::<u32, 1>([N]).unwrap();
    queue.mix(1, 20, &zero, &mut other).unwrap();
    let launched = queue.replay(&with).unwrap();
    queue.upload(&vec![30_u32; N], &mut other).unwrap();
    let uploaded = queue.replay(&with).unwrap();
    queue.fill(&mut other, 40).unwrap();
    let filled = queue.replay(&with).unwrap();
    let usual = queue.replay(&graph).unwrap();
    let results = [launched, uploaded, filled, usual].map(|run| run.read(&y).unwrap().wait().unwrap());
    assert_eq!(results, [41, 61, 81, 3].map(|value| vec![value; N]));
    other.map_write().wait().unwrap().fill(50);
    assert_eq!(queue.output_of(&with, &y), [101; N]);
}

fn one_replay(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let arrays: Vec<_> = (1..=3).map(|value| queue.full([N], value).unwrap()).collect();
    let (graph, y) = doubler(&queue, &arrays[0]);
    for (array, expected) in [(1, 5), (2, 7), (0, 3), (1, 5)] {
        let bound = queue.replay(&graph.with().input("x", &arrays[array]).unwrap()).unwrap();
        let usual = queue.replay(&graph).unwrap();
        assert_eq!(bound.read(&y).unwrap().wait().unwrap(), [expected; N]);
        assert_eq!(usual.read(&y).unwrap().wait().unwrap(), [3; N]);
    }
    // A second call replaces the first.
    let twice = graph.with().input("x", &arrays[1]).unwrap().input("x", &arrays[2]).unwrap();
    assert_eq!(queue.replay(&twice).unwrap().read(&y).unwrap().wait().unwrap(), [7; N]);
}

/// Captures `out = x`, then `out = 3 out + y`, with the inputs `x` and `y`.
fn sum(queue: &CommandQueue, x: &DeviceArray<u32>, y: &DeviceArray<u32>) -> (Graph, Output<u32>) {
    queue.graph_of(|c| {
        let x = c.input("x", x)?;
        let y = c.input("y", y)?;
        let mut out = c.zeros::<u32, 1>([N])?;
        c.copy(&x, &mut out)?;
        c.mix(3, 0, &y, &mut out)?;
        c.read_as("out", &out)
    })
}

fn one_array_twice(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let [x, y, both] = [1_u32, 10, 100].map(|value| queue.full([N], value).unwrap());
    let (graph, out) = sum(&queue, &x, &y);
    assert_eq!(queue.output_of(&graph, &out), [13; N]);
    let same = graph.with().input("x", &both).unwrap().input("y", &both).unwrap();
    assert_eq!(queue.output_of(&same, &out), [400; N]);
    let swapped = graph.with().input("x", &y).unwrap().input("y", &x).unwrap();
    assert_eq!(queue.output_of(&swapped, &out), [31; N]);
}

fn unit_of(ctx: &Context) -> usize {
    (ctx.binding_alignment() as usize / 4).max(N)
}

fn part(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let unit = unit_of(&ctx);
    let numbers: Vec<u32> = (0..4 * unit as u32).collect();
    let long = queue.array(&numbers).unwrap();
    let default = queue.full([unit], 7_u32).unwrap();
    let (graph, y) = doubler(&queue, &default);
    for at in 0..4 {
        let part = long.slice(at * unit..(at + 1) * unit).unwrap();
        let run = queue.replay(&graph.with().input("x", &part).unwrap()).unwrap();
        let expected: Vec<u32> = numbers[at * unit..(at + 1) * unit].iter().map(|x| 2 * x + 1).collect();
        assert_eq!(run.read(&y).unwrap().wait().unwrap(), expected);
    }
}

fn input_part(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let unit = unit_of(&ctx);
    let long = queue.full([4 * unit], 1_u32).unwrap();
    // The middle of an array is the input, and two nodes use parts of the middle.
    let middle = long.slice(unit..3 * unit).unwrap();
    let [mut first, mut last] = [(); 2].map(|()| ctx.zeros::<u32, 1>([unit]).unwrap());
    let (graph, ()) = queue.graph_of(|c| {
        let parts = [long.slice(unit..2 * unit)?, long.slice(2 * unit..3 * unit)?];
        c.mix(0, 0, &parts[0], &mut first)?;
        c.copy(&parts[1], &mut last)?;
        c.input("middle", &middle).map(|_| ())
    });
    let numbers: Vec<u32> = (0..2 * unit as u32).collect();
    let other = queue.array(&numbers).unwrap();
    queue.replay(&graph.with().input("middle", &other).unwrap()).unwrap();
    assert_eq!(queue.read(&first).wait().unwrap(), numbers[..unit]);
    assert_eq!(queue.read(&last).wait().unwrap(), numbers[unit..]);
    assert_eq!(queue.read_after(&graph, &last), vec![1; unit]);
}

fn double_buffering(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let buffers = [queue.full([N], 1_u32).unwrap(), queue.full([N], 0_u32).unwrap()];
    let (graph, ()) = queue.graph_of(|c| {
        let from = c.input("from", &buffers[0])?;
        let mut to = c.input("to", &buffers[1])?;
        c.mix(3, 1, &from, &mut to)
    });
    let bind = |from: usize| {
        let bindings = graph.with().input("from", &buffers[from]).unwrap();
        bindings.input("to", &buffers[1 - from]).unwrap()
    };
    let turns = [bind(0), bind(1)];
    let mut expected = [1_u32, 0];
    for at in 0..50 {
        // Half of the replays make new bindings.
        if at < 25 { queue.replay(&turns[at % 2]) } else { queue.replay(&bind(at % 2)) }.unwrap();
        expected[1 - at % 2] = Mix::of(3, 1, expected[at % 2], expected[1 - at % 2]);
    }
    let found = buffers.each_ref().map(|buffer| queue.read(buffer).wait().unwrap());
    assert_eq!(found, expected.map(|value| vec![value; N]));
}

fn every_kind(subject: &Subject) {
    let (_ctx, queue) = subject.with_queue("main");
    let default = queue.full([4, 64], 1_u32).unwrap();
    let other = queue.full([4, 64], 2_u32).unwrap();
    let source = queue.full([4, 64], 5_u32).unwrap();
    let (graph, part) = queue.graph_of(|c| {
        let mut x = c.input("x", &default)?;
        c.fill(&mut x, 9)?;
        let mut row = x.slice(1..2)?;
        c.upload(&[3_u32; 64], &mut row)?;
        c.copy_region(&source, region![0..1, 0..8], &mut x, region![2..3, 4..12])?;
        let mut out = c.zeros::<u32, 2>([2, 16])?;
        c.copy_region(&x, region![1..3, 0..16], &mut out, region![])?;
        c.read_as("part", &out)
    });
    let run = queue.replay(&graph.with().input("x", &other).unwrap()).unwrap();
    let mut row = vec![9_u32; 16];
    row[4..12].fill(5);
    assert_eq!(run.read(&part).unwrap().wait().unwrap(), [vec![3; 16], row].concat());
    assert_eq!(queue.read(&default).wait().unwrap(), [1; 256]);
    let mut whole = vec![9_u32; 256];
    whole[64..128].fill(3);
    whole[132..140].fill(5);
    assert_eq!(queue.read(&other).wait().unwrap(), whole);
}

/// Captures on three unordered queues: the inputs `a`, `b` and `c` are each changed eight times.
fn three_queues(queue: &CommandQueue, arrays: &[DeviceArray<u32>; 3], rounds: u32) -> Graph {
    let one = queue.full([N], 1_u32).unwrap();
    queue.finish().wait().unwrap();
    let captured = queue.capture(|c| {
        let sides = [c.fork("first"), c.fork("second"), c.fork("third")];
        let [mut a, mut b, mut d] =
            [c.input("a", &arrays[0])?, c.input("b", &arrays[1])?, c.input("c", &arrays[2])?];
        for round in 0..rounds {
            for (at, (side, y)) in sides.iter().zip([&mut a, &mut b, &mut d]).enumerate() {
                let a = 2 * at as u32 + 3;
                let b = 10 * round;
                side.mix(a, b, &one, y)?;
            }
        }
        sides.iter().try_for_each(|side| c.wait_for(side))
    });
    captured.unwrap().0
}

fn overlap(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let arrays = [1, 2, 3].map(|value| queue.full([N], value).unwrap());
    let graph = three_queues(&queue, &arrays, 8);
    let order = |inputs: &[usize]| {
        let mut y = 5_u32;
        for round in 0..8 {
            inputs.iter().for_each(|at| y = Mix::of(2 * *at as u32 + 3, 10 * round, 1, y));
        }
        y
    };
    let shared = queue.full([N], 5_u32).unwrap();
    // More combinations of bindings than the graph caches, each of them twice.
    for _ in 0..2 {
        for inputs in [&[0_usize, 1][..], &[0, 2], &[1, 2], &[0, 1, 2], &[2], &[0]] {
            let mut y = shared.clone();
            queue.fill(&mut y, 5).unwrap();
            let mut with = graph.with();
            for &at in inputs {
                with = with.input(["a", "b", "c"][at], &shared).unwrap();
            }
            assert_eq!(queue.read_after(&with, &shared), [order(inputs); N], "inputs {inputs:?}");
        }
    }
}

fn distance(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let unit = unit_of(&ctx);
    let one = queue.full([unit], 1_u32).unwrap();
    let arrays = [1, 2].map(|value| queue.full([2 * unit], value).unwrap());
    queue.finish().wait().unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        let sides = [c.fork("first"), c.fork("second")];
        let a = c.input("a", &arrays[0])?;
        let b = c.input("b", &arrays[1])?;
        // One queue changes the end of `a`, the other the start of `b`.
        let mut parts = [a.slice(unit..2 * unit)?, b.slice(0..unit)?];
        for round in 0..8 {
            for (at, (side, y)) in sides.iter().zip(&mut parts).enumerate() {
                let a = 2 * at as u32 + 3;
                side.mix(a, round, &one, y)?;
            }
        }
        sides.iter().try_for_each(|side| c.wait_for(side))
    });
    let mut long = queue.full([3 * unit], 5_u32).unwrap();
    let start = long.slice(0..2 * unit).unwrap();
    let end = long.slice(unit..3 * unit).unwrap();
    let alone = |a: u32| (0..8).fold(5, |y, round| Mix::of(a, round, 1, y));
    let both = (0..8).fold(5, |y, round| Mix::of(5, round, 1, Mix::of(3, round, 1, y)));
    for _ in 0..2 {
        for (second, expected) in [(&start, [alone(5), alone(3), 5]), (&end, [5, both, 5])] {
            queue.fill(&mut long, 5).unwrap();
            let with = graph.with().input("a", &start).unwrap().input("b", second).unwrap();
            queue.replay(&with).unwrap();
            let expected: Vec<u32> = expected.into_iter().flat_map(|value| vec![value; unit]).collect();
            assert_eq!(queue.read(&long).wait().unwrap(), expected);
        }
    }
}

fn checked(subject: &Subject) {
    let queue = subject.ctx_with(Policy::Checked).queue("main");
    let arrays = [1, 2, 3].map(|value| queue.full([N], value).unwrap());
    let graph = three_queues(&queue, &arrays, 1);
    let shared = queue.full([N], 5_u32).unwrap();
    let same = graph.with().input("a", &shared).unwrap().input("b", &shared).unwrap();
    let error = queue.replay(&same).unwrap_err();
    let ErrorDetail::Hazard { earlier, later, .. } = error.detail() else { panic!("{error}") };
    assert_eq!((&*earlier.queue, &*later.queue), ("first", "second"));
    // The graph still replays, and an array bound to only one input is not a hazard.
    queue.replay(&graph).unwrap();
    queue.replay(&graph.with().input("a", &shared).unwrap()).unwrap();
    assert_eq!(queue.read(&shared).wait().unwrap(), [16; N]);
    // Both replays change the default of the second input.
    assert_eq!(queue.read(&arrays[1]).wait().unwrap(), [56; N]);
}

fn aliased(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let [x, mut y] = [1_u32, 2].map(|value| queue.full([N], value).unwrap());
    let (graph, ()) = queue.graph_of(|c| {
        let x = c.input("x", &x)?;
        c.mix(1, 0, &x, &mut y)
    });
    assert_error!(queue.replay(&graph.with().input("x", &y).unwrap()), ErrorDetail::Aliased { .. });
    assert_eq!(queue.read_after(&graph, &y), [3; N]);
}

fn wrong(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let default = queue.full([N], 1_u32).unwrap();
    let (graph, _) = doubler(&queue, &default);
    let error = graph.with().input("z", &default).unwrap_err();
    let ErrorDetail::GraphName { name, known, what, .. } = error.detail() else { panic!("{error}") };
    assert_eq!((&**name, *what, &known[..]), ("z", "input", &["x".to_string()][..]));
    let wrong_type = graph.with().input("x", &queue.full([N], 1.0_f32).unwrap()).unwrap_err();
    assert!(matches!(wrong_type.detail(), ErrorDetail::GraphBinding { .. }), "{wrong_type}");
    assert!(wrong_type.to_string().contains("an array of u32 of shape [256]"), "{wrong_type}");
    assert!(wrong_type.to_string().contains("an array of f32 of shape [256]"), "{wrong_type}");
    for error in [
        graph.with().input("x", &queue.full([N + 1], 1_u32).unwrap()).unwrap_err(),
        graph.with().input("x", &queue.full([16, 16], 1_u32).unwrap()).unwrap_err(),
    ] {
        assert!(matches!(error.detail(), ErrorDetail::GraphBinding { .. }), "{error}");
    }
    let elsewhere = subject.ctx();
    let foreign = elsewhere.zeros::<u32, 1>([N]).unwrap();
    assert_error!(graph.with().input("x", &foreign), ErrorDetail::ForeignContext { .. });
    assert_says(graph.with().value("gain", 1_u32), "it has no named value");
}

fn alignment(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let default = queue.full([N], 1_u32).unwrap();
    let (graph, _) = doubler(&queue, &default);
    let long = queue.full([2 * N], 1_u32).unwrap();
    let part = long.slice(1..N + 1).unwrap();
    let bound = graph.with().input("x", &part).map(|_| ());
    if ctx.binding_alignment() > 4 {
        assert_error!(bound, ErrorDetail::Alignment { offset: 4, .. });
    }
    // Copies need whole words.
    let (copy, out) = queue.graph_of(|c| {
        let x = c.input("x", &default)?;
        c.read_as("x", &x)
    });
    assert_eq!(queue.output_of(&copy.with().input("x", &part).unwrap(), &out), [1; N]);
}

fn in_part(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut long = queue.full([2 * N], 1_u32).unwrap();
    let half = long.slice(0..N).unwrap();
    let captured = queue.capture(|c| {
        let _ = c.input("half", &half)?;
        c.fill(&mut long, 3)
    });
    let error = captured.unwrap_err();
    let ErrorDetail::Graph { problem, .. } = error.detail() else { panic!("{error}") };
    assert!(problem.contains("input `half`") && problem.contains("node `fill`"), "{error}");
    queue.fill(&mut long, 4).unwrap();
    assert_eq!(queue.read(&half).wait().unwrap(), [4; N]);
    drop(ctx);
}

fn same_name(subject: &Subject) {
    let (_ctx, queue) = subject.with_queue("main");
    let [x, y] = [1_u32, 1].map(|value| queue.full([N], value).unwrap());
    let twice = queue.capture(|c| {
        let _ = c.input("x", &x)?;
        c.input("x", &y).map(|_| ())
    });
    assert!(matches!(twice.unwrap_err().detail(), ErrorDetail::Graph { .. }));
    let overlapping = queue.capture(|c| {
        let _ = c.input("x", &x)?;
        c.input("y", &x.slice(0..4)?).map(|_| ())
    });
    assert_says(overlapping, "inputs `x` and `y` overlap");
    let values = queue.capture(|c| {
        let _ = c.value("k", 1_u32)?;
        c.value("k", 1_u32).map(|_| ())
    });
    assert!(matches!(values.unwrap_err().detail(), ErrorDetail::Graph { .. }));
    let outputs = queue.capture(|c| {
        let _ = c.read_as("out", &x)?;
        c.read_as("out", &y).map(|_| ())
    });
    assert_says(outputs, "two outputs with the name `out`");
}

/// Includes a graph in others with its default value, an edited one and a bound one, and saves the edited graph.
fn values_of_copies(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let [x, y] = [1_u32, 1].map(|value| queue.full([N], value).unwrap());
    let go = queue.full([1], 1_u32).unwrap();
    let (mut child, ()) = queue.graph_of(|c| {
        let k = c.value("k", 2_u32)?;
        let y = &mut c.input("y", &y)?;
        c.mix(0, 0, &x, y)?;
        c.parameter("a", &k)
    });
    let first = queue.capture(|c| c.replay(&child).map(drop)).unwrap().0;
    child.edit().unwrap().value("k", 3_u32).unwrap().apply().unwrap();
    let bound = child.with().value("k", 5_u32).unwrap();
    let second = queue.capture(|c| c.replay(&child).map(drop)).unwrap().0;
    let third = queue.capture(|c| c.if_(&go, |body| body.replay(&bound).map(drop))).unwrap().0;
    let bytes = child.to_bytes_with(Contents::Included).unwrap();
    child.edit().unwrap().value("k", 7_u32).unwrap().apply().unwrap();
    let mut expected = 1;
    for (graph, k) in [(&first, 2), (&second, 3), (&third, 5), (&child, 7)] {
        queue.replay(graph).unwrap();
        expected = Mix::of(k, 0, 1, expected);
        assert_eq!(queue.read(&y).wait().unwrap(), [expected; N], "{k}");
    }
    let loaded = Graph::from_bytes(&ctx, &bytes).unwrap();
    let bound = loaded.with().input("y", &y).unwrap();
    for (bound, k) in [(bound.clone(), 3), (bound.clone().value("k", 4_u32).unwrap(), 4), (bound, 3)] {
        queue.replay(&bound).unwrap();
        expected = Mix::of(k, 0, 1, expected);
        assert_eq!(queue.read(&y).wait().unwrap(), [expected; N], "{k}");
    }
}

fn values(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let [x, mut y] = [1_u32, 0].map(|value| queue.full([N], value).unwrap());
    let (graph, ()) = queue.graph_of(|c| {
        let k = c.value("k", 4_u32)?;
        assert_eq!(k.get(), 4);
        // The launch's own argument is replaced, and one value may be several parameters.
        c.mix(0, 77, &x, &mut y)?;
        c.parameter("b", &k)?;
        c.mix(1, 0, &x, &mut y)?;
        c.parameter("a", &k)?;
        c.parameter("b", &k)?;
        let wrong_type = c.value("f", 1.0_f32)?;
        assert_error!(c.parameter("a", &wrong_type), ErrorDetail::Kernel(_));
        assert_error!(c.parameter("none", &k), ErrorDetail::Kernel(_));
        Ok(())
    });
    let expected = |k: u32| (1 + k) * k + 1 + k;
    for k in [9, 4, 2, 4] {
        let with = graph.with().value("k", k).unwrap();
        assert_eq!(queue.read_after(&with, &y), [expected(k); N]);
        assert_eq!(queue.read_after(&graph, &y), [expected(4); N]);
    }
    assert_says(graph.with().value("k", 1_i32), "value `k` is a value of u32, and a value of i32");
    assert_says(graph.with().value("g", 1_u32), "it has `k`, `f`");
}

fn foreign_value(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let [x, mut y] = [1_u32, 0].map(|value| queue.full([N], value).unwrap());
    let (_, k) = queue.capture(|c| c.value("k", 4_u32)).unwrap();
    let captured = queue.capture(|c| {
        c.mix(0, 77, &x, &mut y)?;
        c.parameter("b", &k)
    });
    assert_says(captured, "value `k` belongs to another capture");
    // A value can be used only in a launch.
    let captured = queue.capture(|c| {
        let k = c.value("k", 4_u32)?;
        c.fill(&mut y, 1)?;
        c.parameter("b", &k)
    });
    assert!(captured.unwrap_err().to_string().contains("the last captured command is a fill"));
}

/// Calls `label_node` and `parameter` after calls that add no node of their own, or only nodes of a body.
fn after_constructs(subject: &Subject) {
    type Construct<'a> = &'a dyn Fn(&Capture) -> Result<()>;
    let queue = subject.ctx().queue("main");
    let [x, y] = [1_u32, 0].map(|value| queue.full([N], value).unwrap());
    let go = queue.full([1], 1_u32).unwrap();
    let launch = |c: &Capture| {
        let y = &mut y.clone();
        c.mix(1, 2, &x, y)
    };
    let child = queue.capture(|c| launch(c)).unwrap().0;
    let constructs: [Construct<'_>; 4] = [
        &|c| c.if_(&go, |b| launch(b)),
        &|c| c.repeat(&go, Bound::AtMost(2), |b| launch(b)).map(drop),
        &|c| c.replay(&child).map(drop),
        &|c| c.on(&c.fork("side")).map(drop),
    ];
    for (at, construct) in constructs.into_iter().enumerate() {
        for is_first in [true, false] {
            let (mut graph, ()) = queue.graph_of(|c| {
                let k = c.value("k", 4_u32)?;
                if !is_first {
                    launch(c)?;
                }
                construct(c)?;
                let errors = [c.label_node("name").map_err(drop), c.parameter("b", &k).map_err(drop)];
                // A fork captures nothing, so the launch before it is still the last call.
                assert_eq!(errors, if at == 3 && !is_first { [Ok(()); 2] } else { [Err(()); 2] }, "{at}");
                Ok(())
            });
            assert_eq!(graph.edit().unwrap().node("name").is_ok(), at == 3 && !is_first);
        }
    }
}

fn child(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let arrays: Vec<_> = (1..=3).map(|value| queue.full([N], value).unwrap()).collect();
    let mut out = ctx.zeros::<u32, 1>([N]).unwrap();
    let (inner, ()) = queue.graph_of(|c| {
        let x = c.input("x", &arrays[0])?;
        c.copy(&x, &mut out)
    });
    let (outer, [first, second]) = queue.graph_of(|c| {
        c.replay(&inner.with().input("x", &arrays[1])?)?;
        let first = c.read_as("first", &out)?;
        let fresh = queue.full([N], 8_u32)?;
        c.replay(&inner.with().input("x", &fresh)?)?;
        Ok([first, c.read_as("second", &out)?])
    });
    // The array that was bound only to the child is dropped, and its memory belongs to the outer graph.
    let others: Vec<_> = (0..8).map(|value| queue.full([N], 50 + value).unwrap()).collect();
    let run = queue.replay(&outer).unwrap();
    assert_eq!(run.read(&first).unwrap().wait().unwrap(), [2; N]);
    assert_eq!(run.read(&second).unwrap().wait().unwrap(), [8; N]);
    drop(others);
    // An input of the outer graph is the array of the child.
    let (outer, ()) = queue.graph_of(|c| {
        let _ = c.input("array", &arrays[0])?;
        c.replay(&inner).map(|_| ())
    });
    queue.replay(&outer.with().input("array", &arrays[2]).unwrap()).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [3; N]);
    assert!(outer.with().input("x", &arrays[2]).is_err());
}

fn threads(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let default = queue.full([N], 0_u32).unwrap();
    let (graph, y) = doubler(&queue, &default);
    crate::common::thread::scope(|scope| {
        for thread in 0..8_u32 {
            let ctx = &ctx;
            let graph = &graph;
            let y = &y;
            scope.spawn(move || {
                let queue = ctx.queue(&format!("queue {thread}"));
                for round in 0..10 {
                    let x = queue.full([N], 100 * thread + round).unwrap();
                    let run = queue.replay(&graph.with().input("x", &x).unwrap()).unwrap();
                    let expected = 2 * (100 * thread + round) + 1;
                    assert_eq!(run.read(y).unwrap().wait().unwrap(), [expected; N]);
                }
            });
        }
    });
}

fn kept(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let default = queue.full([N], 0_u32).unwrap();
    let (graph, y) = doubler(&queue, &default);
    let with = graph.with().input("x", &queue.full([N], 6_u32).unwrap()).unwrap();
    let others: Vec<_> = (0..8).map(|value| queue.full([N], 50 + value).unwrap()).collect();
    assert_eq!(queue.replay(&with).unwrap().read(&y).unwrap().wait().unwrap(), [13; N]);
    drop(others);
    // A run in flight reads a dropped array before the memory has other contents.
    let dropped = queue.full([N], 9_u32).unwrap();
    let run = queue.replay(&graph.with().input("x", &dropped).unwrap()).unwrap();
    drop(dropped);
    let others: Vec<_> = (0..8).map(|value| queue.full([N], 50 + value).unwrap()).collect();
    assert_eq!(run.read(&y).unwrap().wait().unwrap(), [19; N]);
    drop(others);
}

fn ordered_runs(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let [x, default] = [1_u32, 0].map(|value| queue.full([N], value).unwrap());
    queue.finish().wait().unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        let mut y = c.input("y", &default)?;
        c.mix(3, 1, &x, &mut y)
    });
    let target = queue.full([N], 0_u32).unwrap();
    let queues: Vec<CommandQueue> = (0..3).map(|at| ctx.queue(&format!("queue {at}"))).collect();
    let with = graph.with().input("y", &target).unwrap();
    let mut expected = 0;
    for at in 0..30 {
        queues[at % 3].replay(&with).unwrap();
        expected = Mix::of(3, 1, 1, expected);
    }
    assert_eq!(queue.read(&target).wait().unwrap(), [expected; N]);
    assert_eq!(queue.read(&default).wait().unwrap(), [0; N]);
}

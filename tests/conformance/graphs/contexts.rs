//! G07: graphs with work of several contexts.

use crate::common::busy::Busy;
use crate::common::kernels::{Iota, Mix};
use crate::common::partners::{counted, each_pair, each_pair_with, every_pair, faulty_pair, partners};
use crate::common::thread;
use crate::common::{Calls, Case, ONE_THREAD, Subject, assert_error, case};
use crate::graphs::flight::stepped;
use crate::graphs::temporaries::{has_returned, returned};
use fencepost::prelude::*;
use fencepost::{ErrorDetail, EventOptions, Graph, Output, Policy, Result, Shape, region};
use std::sync::mpsc::channel;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("g07_a_copy_between_any_two_contexts_is_exact_in_a_graph", exact),
        case("g07_parts_of_two_contexts_wait_only_where_the_capture_orders_them", overlap),
        case("g07_work_before_and_after_a_fork_on_another_context_is_apart", around_a_fork),
        case("g07_forks_and_joins_order_the_work_of_two_contexts", ordered),
        case("g07_a_diamond_over_two_contexts_joins_both_sides", diamond),
        case("g07_a_value_goes_through_three_contexts_and_back", ping_pong),
        case("g07_copies_of_regions_and_padded_arrays_are_exact", regions),
        case("g07_a_copy_on_a_queue_of_a_third_context_is_exact", elsewhere),
        case("g07_functions_of_the_host_come_after_all_contexts", host_functions),
        case("g07_replays_from_two_threads_take_turns_on_owned_memory", two_threads)
            .not_in_a_page(ONE_THREAD),
        case("g07_a_hundred_replays_in_flight_count_exactly", in_flight),
        case("g07_graphs_on_two_devices_run_at_once", two_graphs),
        case("g07_inputs_and_values_of_another_context_are_replaced", bindings),
        case("g07_edits_change_nodes_of_each_context", edits),
        case("g07_an_edit_that_makes_arrays_overlap_orders_the_parts_again", overlapping_edit),
        case("g07_policies_of_both_contexts_hold", policies),
        case("g07_a_graph_of_another_context_is_replayed_inside", children),
        case("g07_timed_markers_of_another_context_have_times_of_its_clock", timed),
        case("g07_what_a_graph_of_several_contexts_cannot_do_is_refused_by_name", refused),
        case("g07_a_replay_that_is_refused_executes_nothing", nothing_executes),
        case("g07_a_replay_that_one_context_refuses_enqueues_nothing_in_another", open_guard),
        case("g07_a_lost_device_of_one_context_fails_the_replay", lost),
        case("g07_a_lost_device_keeps_no_memory_of_another_context", loss_returns),
        case("g07_everything_may_be_dropped_while_replays_are_in_flight", dropped),
        case("g07_memory_returns_to_both_contexts", memory),
        case("g07_the_dumps_show_the_context_of_each_queue", dumps),
        case("g07_random_delays_refusals_and_losses_cause_no_hang_and_no_wrong_bytes", seeds)
            .cpu_only("an adapter has no seed"),
    ]
}

const N: usize = 64;
/// Returns a queue of the first context, and an array of zeros of each context.
fn queue_and_zeros(one: &Context, two: &Context) -> (CommandQueue, DeviceArray<u32>, DeviceArray<u32>) {
    (one.queue("main"), one.zeros([N]).unwrap(), two.zeros([N]).unwrap())
}

/// Elements of an array that is copied in several pieces.
const LARGE: usize = 200_003;

/// Copies to the other context and back, on a queue of either.
fn exact(s: &Subject) {
    every_pair(s, |names, one, two| {
        for n in [1, 1000, LARGE] {
            let queue = one.queue("main");
            let mut x = one.empty::<u32, 1>([n]).unwrap();
            let mut back = one.zeros::<u32, 1>([n]).unwrap();
            let there = two.zeros::<u32, 1>([n]).unwrap();
            let (graph, found) = queue.graph_of(|c| {
                let side = c.fork_on(two, "side")?;
                // The side reads `x`, and the main queue reads `there`.
                side.copy(&x, &mut there.clone())?;
                let found = c.on(&side)?.read_as("there", &there)?;
                c.wait_for(&side)?;
                c.copy(&there, &mut back)?;
                Ok(found)
            });
            for round in 0..3 {
                queue.upload(&counted(n, round)[..], &mut x).unwrap();
                let run = queue.replay(&graph).unwrap();
                assert!(run.read(&found).unwrap().wait().unwrap() == counted(n, round), "{names}, {n}");
                assert!(queue.read(&back).wait().unwrap() == counted(n, round), "{names}, {n}");
            }
        }
    });
}

/// Holds back the work of one context: it uses memory of an earlier command, which waits for the caller.
fn overlap(s: &Subject) {
    each_pair(s, |names, one, two| {
        for held_far in [false, true] {
            let (queue, x, y) = queue_and_zeros(one, two);
            let (graph, (near, far)) = queue.graph_of(|c| {
                let side = c.fork_on(two, "side")?;
                side.fill(&mut y.clone(), 5)?;
                let far = c.on(&side)?.read_as("far", &y)?;
                c.fill(&mut x.clone(), 6)?;
                let near = c.read_as("near", &x)?;
                c.wait_for(&side)?;
                Ok((near, far))
            });
            let (ctx, array) = if held_far { (two, &y) } else { (one, &x) };
            let holder = ctx.queue("holder");
            let gate = holder.hold();
            holder.fill(&mut array.clone(), 1).unwrap();
            let run = queue.replay(&graph).unwrap();
            let (held, free, value) = if held_far { (&far, &near, 6) } else { (&near, &far, 5) };
            assert_eq!(run.read(free).unwrap().wait().unwrap(), [value; N], "{names}");
            assert!(!run.event().is_complete().unwrap(), "{names}");
            let late = run.read(held).unwrap();
            gate.signal();
            run.wait().unwrap();
            assert_eq!(late.wait().unwrap(), [11 - value; N], "{names}");
        }
    });
}

/// The work of the other context waits for the command before the fork, but not for the command after it.
fn around_a_fork(s: &Subject) {
    each_pair(s, |names, one, two| {
        let queue = one.queue("main");
        let [x, z] = [(); 2].map(|()| one.zeros::<u32, 1>([N]).unwrap());
        let (graph, far) = queue.graph_of(|c| {
            c.fill(&mut x.clone(), 3)?;
            let side = c.fork_on(two, "side")?;
            c.fill(&mut z.clone(), 4)?;
            let mut y = side.zeros::<u32, 1>([N])?;
            side.copy(&x, &mut y)?;
            let far = c.on(&side)?.read_as("far", &y)?;
            c.wait_for(&side)?;
            Ok(far)
        });
        let gate = two.user_event("gate");
        let holder = one.queue("holder");
        // The command after the fork is held back.
        holder.wait_for(&gate.event()).unwrap();
        holder.fill(&mut z.clone(), 1).unwrap();
        let run = queue.replay(&graph).unwrap();
        let read = run.read(&far).unwrap();
        gate.signal();
        assert_eq!(read.wait().unwrap(), [3; N], "{names}");
        run.wait().unwrap();
        assert_eq!(queue.read(&z).wait().unwrap(), [4; N], "{names}");
    });
}

/// Holds back one command after the other, and checks the results of the commands after it.
fn ordered(s: &Subject) {
    each_pair(s, |names, one, two| {
        let (queue, x, y) = queue_and_zeros(one, two);
        let (graph, outputs) = queue.graph_of(|c| {
            // This fork comes after no other node.
            let root = c.fork_on(two, "root")?;
            let early = c.on(&root)?.read_as("early", &root.full([N], 1_u32)?)?;
            c.fill(&mut x.clone(), 2)?;
            let first = c.read_as("first", &x)?;
            let side = c.fork_on(two, "side")?;
            side.fill(&mut y.clone(), 3)?;
            let far = c.on(&side)?.read_as("far", &y)?;
            c.wait_for(&[root.marker(), side.marker()])?;
            let last = c.read_as("last", &c.full([N], 4_u32)?)?;
            Ok([early, first, far, last])
        });
        // The replay waits for the queue, for an earlier use of `x`, and for an earlier use of `y`.
        for held in 0..3 {
            let ctx = if held == 2 { two } else { one };
            let gate = ctx.user_event("gate");
            if held == 0 {
                queue.wait_for(&gate.event()).unwrap();
            } else {
                let holder = ctx.queue("holder");
                let array = if held == 1 { &x } else { &y };
                holder.wait_for(&gate.event()).unwrap();
                holder.fill(&mut array.clone(), 9).unwrap();
            }
            let run = queue.replay(&graph).unwrap();
            for (at, output) in outputs.iter().enumerate() {
                let mut read = run.read(output).unwrap();
                if at < held {
                    assert_eq!(read.wait().unwrap(), [at as u32 + 1; N], "{names}, held {held}");
                } else {
                    let early = read.wait_timeout(Duration::from_millis(5)).unwrap();
                    assert_eq!(early, None, "{names}, held {held}, output {at}");
                }
            }
            gate.signal();
            for (at, output) in outputs.iter().enumerate() {
                assert_eq!(run.read(output).unwrap().wait().unwrap(), [at as u32 + 1; N], "{names}");
            }
        }
    });
}

fn diamond(s: &Subject) {
    each_pair(s, |names, one, two| {
        let queue = one.queue("main");
        let x = queue.array(&counted(N, 0)).unwrap();
        let (graph, sum) = queue.graph_of(|c| {
            let side = c.fork_on(two, "side")?;
            let there = side.empty::<u32, 1>([N])?;
            side.copy(&x, &mut there.clone())?;
            let mut doubled = side.zeros::<u32, 1>([N])?;
            side.mix(1, 10, &there, &mut doubled)?;
            let mut tripled = c.zeros::<u32, 1>([N])?;
            c.mix(1, 20, &x, &mut tripled)?;
            c.wait_for(&side)?;
            let back = c.empty::<u32, 1>([N])?;
            c.copy(&doubled, &mut back.clone())?;
            c.mix(1, 0, &back, &mut tripled)?;
            c.read_as("sum", &tripled)
        });
        let expected: Vec<u32> = counted(N, 0).iter().map(|x| 2 * x + 30).collect();
        for _ in 0..3 {
            assert_eq!(queue.output_of(&graph, &sum), expected, "{names}");
        }
    });
}

fn ping_pong(s: &Subject) {
    let contexts: Vec<Context> = std::iter::once(s.ctx())
        .chain(partners(s, Policy::Ordered).into_iter().map(|(_, ctx)| ctx).take(2))
        .collect();
    let arrays: Vec<DeviceArray<u32>> = contexts.iter().map(|ctx| ctx.zeros([N]).unwrap()).collect();
    let ones: Vec<DeviceArray<u32>> = contexts.iter().map(|ctx| ctx.full([N], 1).unwrap()).collect();
    let queue = contexts[0].queue("main");
    let (graph, ()) = queue.graph_of(|c| {
        let sides = [c.fork("first"), c.fork_on(&contexts[1], "second")?, c.fork_on(&contexts[2], "third")?];
        for round in 0..6 {
            let at = round % 3;
            sides[at].mix(3, round as u32, &ones[at], &mut arrays[at].clone())?;
            let next = (at + 1) % 3;
            sides[next].wait_for(&sides[at])?;
            sides[next].copy(&arrays[at], &mut arrays[next].clone())?;
        }
        c.wait_for(&sides[0])
    });
    let mut right = 0;
    for _ in 0..3 {
        queue.replay(&graph).unwrap();
        right = (0..6).fold(right, |y, round| Mix::of(3, round, 1, y));
    }
    assert_eq!(queue.read(&arrays[0]).wait().unwrap(), [right; N]);
}

fn regions(s: &Subject) {
    each_pair(s, |names, one, two| {
        let queue = one.queue("main");
        let x = queue.array(&counted(400, 1)).unwrap().reshape([20, 20]).unwrap();
        let y = two.zeros::<u32, 2>(Shape::padded([5, 10], [5, 16])).unwrap();
        let z = one.zeros::<u32, 2>(Shape::padded([5, 10], [7, 12])).unwrap();
        let (graph, ()) = queue.graph_of(|c| {
            let side = c.fork_on(two, "side")?;
            side.copy_region(&x, region![2..7, 1..20;2], &mut y.clone(), region![.., ..])?;
            c.wait_for(&side)?;
            c.copy(&y, &mut z.clone())
        });
        queue.replay(&graph).unwrap();
        queue.replay(&graph).unwrap();
        let all = counted(400, 1);
        let expected: Vec<u32> = (2..7)
            .flat_map(|row| (0..10).map(move |at| (row, 1 + 2 * at)))
            .map(|(row, at)| all[20 * row + at])
            .collect();
        assert_eq!(queue.read(&z).wait().unwrap(), expected, "{names}");
    });
}

fn elsewhere(s: &Subject) {
    let ctx = s.ctx();
    let others: Vec<Context> = partners(s, Policy::Ordered).into_iter().map(|(_, ctx)| ctx).collect();
    let from = &others[0];
    let to = &others[1];
    let queue = ctx.queue("main");
    let x = from.array(&counted(N, 3)).unwrap();
    let y = to.zeros::<u32, 1>([N]).unwrap();
    let (graph, ()) = queue.capture(|c| c.copy(&x, &mut y.clone())).unwrap();
    assert_eq!(graph.statistics().contexts, 3);
    queue.replay(&graph).unwrap().wait().unwrap();
    assert_eq!(to.to_vec(&y).unwrap(), counted(N, 3));
}

fn host_functions(s: &Subject) {
    each_pair(s, |names, one, two| {
        let (sender, receiver) = channel();
        let (queue, x, y) = queue_and_zeros(one, two);
        let holder = two.queue("holder");
        let (graph, late) = queue.graph_of(|c| {
            let side = c.fork_on(two, "side")?;
            side.fill(&mut y.clone(), 1)?;
            c.fill(&mut x.clone(), 1)?;
            c.host(move || sender.send(()).unwrap())?;
            side.fill(&mut y.clone(), 2)?;
            let late = c.on(&side)?.read_as("late", &y)?;
            c.wait_for(&side)?;
            Ok(late)
        });
        let gate = holder.hold();
        holder.fill(&mut y.clone(), 9).unwrap();
        let run = queue.replay(&graph).unwrap();
        assert!(!run.event().is_complete().unwrap(), "{names}");
        assert!(receiver.try_recv().is_err(), "{names}: the function ran before the far fill");
        gate.signal();
        assert_eq!(run.read(&late).unwrap().wait().unwrap(), [2; N], "{names}");
        run.wait().unwrap();
        assert_eq!(receiver.try_iter().count(), 1, "{names}");
    });
}

/// Returns a graph that computes `y = 3 * y + 1`, where `y` is in the first context, through memory of the other
/// context that the graph owns.
fn step(two: &Context, queue: &CommandQueue, y: &DeviceArray<u32>) -> Graph {
    let ones = two.full([N], 1_u32).unwrap();
    let captured = queue.capture(|c| {
        let side = c.fork_on(two, "side")?;
        let mut own = side.empty::<u32, 1>([N])?;
        side.copy(y, &mut own)?;
        side.mix(3, 0, &ones, &mut own)?;
        c.wait_for(&side)?;
        c.copy(&own, &mut y.clone())
    });
    captured.unwrap().0
}

/// Under `Unchecked`, the policy does not order uses of the memory; only the order of the graph's replays does.
fn two_threads(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Unchecked, Policy::Checked] {
        each_pair_with(s, [policy; 2], |names, one, two| {
            let main = one.queue("main");
            let theirs = two.queue("theirs");
            let y = one.zeros::<u32, 1>([N]).unwrap();
            let graph = step(two, &main, &y);
            main.finish().wait().unwrap();
            theirs.finish().wait().unwrap();
            let queues = [one.queue("a"), one.queue("b")];
            thread::scope(|scope| {
                for queue in &queues {
                    let graph = graph.clone();
                    scope.spawn(move || (0..5).for_each(|_| drop(queue.replay(&graph).unwrap())));
                }
            });
            queues.iter().for_each(|queue| main.wait_for(queue).unwrap());
            let right = (0..10).fold(0, |y, _| stepped(y));
            assert_eq!(main.read(&y).wait().unwrap(), [right; N], "{names}, {policy:?}");
        });
    }
}

fn in_flight(s: &Subject) {
    for (name, two) in partners(s, Policy::Ordered).into_iter().take(1) {
        let one = s.ctx();
        let queue = one.queue("main");
        let y = one.zeros::<u32, 1>([N]).unwrap();
        let graph = step(&two, &queue, &y);
        let gate = queue.hold();
        let runs: Vec<_> = (0..100).map(|_| queue.replay(&graph).unwrap()).collect();
        assert!(!runs[0].event().is_complete().unwrap(), "{name}");
        gate.signal();
        runs.iter().for_each(|run| run.wait().unwrap());
        let right = (0..100).fold(0, |y, _| stepped(y));
        assert_eq!(queue.read(&y).wait().unwrap(), [right; N], "{name}");
    }
}

/// Before it ends, each graph waits for a value that the other graph has copied to its context.
fn two_graphs(s: &Subject) {
    every_pair(s, |names, one, two| {
        let queues = [one.queue("a"), two.queue("b")];
        let contexts = [one, two];
        let busy = [one.queue("busy"), two.queue("busy")];
        let arrays: Vec<DeviceArray<u32>> = contexts.iter().map(|ctx| ctx.zeros([N]).unwrap()).collect();
        let graphs: Vec<(Graph, Output<u32>)> = (0..2)
            .map(|at| {
                let array = &arrays[at];
                queues[at].graph_of(|c| {
                    c.fill(&mut array.clone(), 7 + at as u32)?;
                    c.read_as("out", array)
                })
            })
            .collect();
        for held in 0..2 {
            // One device runs a kernel, and the graph of the other device completes meanwhile.
            let running = Busy::start(s, contexts[held], &busy[held], 50);
            queues[held].wait_for(&busy[held]).unwrap();
            let runs: Vec<_> = (0..2).map(|at| queues[at].replay(&graphs[at].0).unwrap()).collect();
            let free = 1 - held;
            let found = runs[free].read(&graphs[free].1).unwrap().wait().unwrap();
            assert_eq!(found, [7 + free as u32; N], "{names}");
            let is_early = running.is_held() && runs[held].event().is_complete().unwrap();
            assert!(!is_early, "{names}: a graph is complete before the kernel that it waits for");
            running.let_go();
            let found = runs[held].read(&graphs[held].1).unwrap().wait().unwrap();
            assert_eq!(found, [7 + held as u32; N], "{names}");
        }
    });
}

fn bindings(s: &Subject) {
    each_pair(s, |names, one, two| {
        let queue = one.queue("main");
        let inputs: Vec<_> = (1..3).map(|at| two.full([N], at * 10_u32).unwrap()).collect();
        let sources: Vec<_> = (1..3).map(|at| one.full([N], at * 100_u32).unwrap()).collect();
        let (graph, out) = queue.graph_of(|c| {
            let side = c.fork_on(two, "side")?;
            let far = c.on(&side)?;
            let source = c.input("source", &sources[0])?;
            let x = far.input("x", &inputs[0])?;
            let b = c.value("b", 1_u32)?;
            let mut y = side.empty::<u32, 1>([N])?;
            // The source of a copy between contexts is an input too.
            side.copy(&source, &mut y)?;
            side.mix(1, 0, &x, &mut y)?;
            far.parameter("b", &b)?;
            let out = far.read_as("out", &y)?;
            c.wait_for(&side)?;
            Ok(out)
        });
        assert_eq!(queue.output_of(&graph, &out), [111; N], "{names}");
        let other = graph.with().input("x", &inputs[1]).unwrap().value("b", 2_u32).unwrap();
        assert_eq!(queue.output_of(&other, &out), [122; N], "{names}");
        let other = graph.with().input("source", &sources[1]).unwrap();
        assert_eq!(queue.output_of(&other, &out), [211; N], "{names}");
        let valued = graph.with().value("b", 5_u32).unwrap();
        assert_eq!(queue.output_of(&valued, &out), [115; N], "{names}");
        assert_eq!(queue.output_of(&graph, &out), [111; N], "{names}");
        assert_error!(graph.with().input("x", &sources[0]), ErrorDetail::ForeignContext { .. }, "{names}");
    });
}

fn edits(s: &Subject) {
    each_pair(s, |names, one, two| {
        let queue = one.queue("main");
        let x = one.full([N], 1_u32).unwrap();
        let y = two.full([N], 2_u32).unwrap();
        let (mut graph, (a, b)) = queue.graph_of(|c| {
            let side = c.fork_on(two, "side")?;
            let mut of_near = c.zeros::<u32, 1>([N])?;
            let mut of_far = side.zeros::<u32, 1>([N])?;
            side.mix(1, 0, &y, &mut of_far)?;
            c.on(&side)?.label_node("far launch")?;
            c.mix(1, 0, &x, &mut of_near)?;
            c.label_node("near launch")?;
            let of_far = c.on(&side)?.read_as("far", &of_far)?;
            c.wait_for(&side)?;
            Ok((c.read_as("near", &of_near)?, of_far))
        });
        let read = |graph: &Graph| {
            let run = queue.replay(graph).unwrap();
            let found = [&a, &b].map(|out| run.read(out).unwrap().wait().unwrap());
            assert!(found.iter().all(|found| found.iter().all(|value| *value == found[0])), "{names}");
            found.map(|found| found[0])
        };
        assert_eq!(read(&graph), [1, 2], "{names}");
        let other = one.full([N], 5_u32).unwrap();
        let theirs = two.full([N], 6_u32).unwrap();
        let before = graph.clone();
        graph.edit().unwrap().node("far launch").unwrap().argument("x", &theirs).unwrap().apply().unwrap();
        assert_eq!(read(&graph), [1, 6], "{names}");
        let edit = graph.edit().unwrap().node("near launch").unwrap().argument("x", &other).unwrap();
        edit.node("far launch").unwrap().parameter("b", 10_u32).unwrap().apply().unwrap();
        // The graph keeps the arrays alive.
        drop((other, theirs));
        let _others = (one.full([N], 9_u32).unwrap(), two.full([N], 9_u32).unwrap());
        assert_eq!(read(&graph), [5, 16], "{names}");
        assert_eq!(read(&before), [1, 2], "{names}");
        let error = graph.edit().unwrap().node("far launch").unwrap().argument("x", &x).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{names}: {error}");
    });
}

/// After the edit, a command of the other context reads bytes written by another queue there, which the capture did not
/// order.
fn overlapping_edit(s: &Subject) {
    each_pair(s, |names, one, two| {
        let queue = one.queue("main");
        let [x, y] = [1_u32, 2].map(|value| two.full([N], value).unwrap());
        let source = one.full([N], 50_u32).unwrap();
        let (mut graph, out) = queue.graph_of(|c| {
            let first = c.fork_on(two, "first")?;
            let second = c.fork_on(two, "second")?;
            // The first queue waits for the other context; the second one does not.
            first.copy(&source, &mut y.clone())?;
            let mut z = second.zeros::<u32, 1>([N])?;
            second.mix(1, 0, &x, &mut z)?;
            c.on(&second)?.label_node("read")?;
            let out = c.on(&second)?.read_as("out", &z)?;
            c.wait_for(&first)?;
            c.wait_for(&second)?;
            Ok(out)
        });
        assert_eq!(queue.output_of(&graph, &out), [1; N], "{names}");
        graph.edit().unwrap().node("read").unwrap().argument("x", &y).unwrap().apply().unwrap();
        for value in [60, 70] {
            queue.fill(&mut source.clone(), value).unwrap();
            assert_eq!(queue.output_of(&graph, &out), [value; N], "{names}");
        }
    });
}

fn policies(s: &Subject) {
    for policies in [[Policy::Checked, Policy::Checked], [Policy::Unchecked, Policy::Checked]] {
        each_pair_with(s, policies, |names, one, two| {
            let (queue, x, y) = queue_and_zeros(one, two);
            let race = |joined: bool| {
                queue.capture(|c| {
                    let first = c.fork_on(two, "first")?;
                    let second = c.fork_on(two, "second")?;
                    first.fill(&mut y.clone(), 1)?;
                    if joined {
                        second.wait_for(&first)?;
                    }
                    second.fill(&mut y.clone(), 2)?;
                    second.copy(&x, &mut y.slice(0..N)?)?;
                    c.wait_for(&first)?;
                    c.wait_for(&second)
                })
            };
            // The second context has the policy `Checked` in each pair.
            let remedy = "second.wait_for(&first)?";
            assert_error!(race(false), ErrorDetail::Hazard { wait, .. } if wait == remedy, "{names}");
            let (graph, ()) = race(true).unwrap();
            let theirs = two.queue("theirs");
            for value in [3, 4] {
                queue.fill(&mut x.clone(), value).unwrap();
                theirs.fill(&mut y.clone(), 9).unwrap();
                // `Checked` knows no order between contexts, so it adds the wait for the fill, and for the replay.
                queue.wait_for(&theirs).unwrap();
                let run = queue.replay(&graph).unwrap();
                theirs.wait_for(run.event()).unwrap();
                assert_eq!(theirs.read(&y).wait().unwrap(), [value; N], "{names}");
            }
        });
    }
}

fn children(s: &Subject) {
    each_pair(s, |names, one, two| {
        let queue = one.queue("main");
        let theirs = two.queue("theirs");
        let y = two.zeros::<u32, 1>([N]).unwrap();
        let ones = two.full([N], 1_u32).unwrap();
        // The child owns memory of the other context.
        let (child, ()) = theirs.graph_of(|c| {
            let mut own = c.empty::<u32, 1>([N])?;
            c.copy(&y, &mut own)?;
            c.mix(3, 0, &ones, &mut own)?;
            c.copy(&own, &mut y.clone())
        });
        let (graph, ()) = queue.graph_of(|c| {
            let side = c.fork_on(two, "side")?;
            side.replay(&child)?;
            side.replay(&child)?;
            c.wait_for(&side)
        });
        let mut right = 0;
        for _ in 0..3 {
            theirs.replay(&child).unwrap();
            queue.replay(&graph).unwrap();
            right = (0..3).fold(right, |y, _| stepped(y));
        }
        assert_eq!(theirs.read(&y).wait().unwrap(), [right; N], "{names}");
    });
}

fn timed(s: &Subject) {
    each_pair(s, |names, one, two| {
        let queue = one.queue("main");
        let y = two.zeros::<u32, 1>([N]).unwrap();
        let timing = EventOptions::default().timing(true);
        let (graph, (start, end, near)) = queue.graph_of(|c| {
            let side = c.fork_on(two, "side")?;
            let start = side.marker_with(timing);
            side.fill(&mut y.clone(), 5)?;
            let end = side.marker_with(timing);
            c.wait_for(&side)?;
            Ok((start, end, c.marker_with(timing)))
        });
        let run = queue.replay(&graph).unwrap();
        let [start, end, near] = [start, end, near].map(|marker| run.event_of(&marker).unwrap());
        near.wait().unwrap();
        match end.seconds_since(&start).wait() {
            Ok(seconds) => assert!(seconds > 0.0, "{names}: {seconds}"),
            Err(error) => {
                assert!(matches!(error.detail(), ErrorDetail::NotMeasured { .. }), "{names}: {error}")
            }
        }
        // Two devices have two clocks.
        let seconds = near.seconds_since(&start).wait();
        assert_error!(seconds, ErrorDetail::Unrelated { .. } | ErrorDetail::NotMeasured { .. }, "{names}");
    });
}

fn refused(s: &Subject) {
    each_pair(s, |names, one, two| {
        let queue = one.queue("main");
        let x = one.full([1], 1_u32).unwrap();
        let y = two.zeros::<u32, 1>([1]).unwrap();
        let captured = |f: &dyn Fn(&fencepost::Capture) -> Result<()>, call: &str, remedy: &str| {
            for drops in [false, true] {
                let error = queue
                    .capture(|c| f(c).or_else(|error| if drops { Ok(()) } else { Err(error) }))
                    .unwrap_err();
                let ErrorDetail::Captured { call: found, remedy: said, .. } = error.detail() else {
                    panic!("{names}: {error}")
                };
                assert_eq!(*found, call, "{names}: {error}");
                assert!(said.contains(remedy), "{names}: {error}");
            }
        };
        captured(&|c| c.if_(&x, |b| b.fork_on(two, "side").map(drop)), "fork_on", "one context");
        captured(&|c| c.if_(&x, |b| b.copy(&x, &mut y.clone())), "a copy between contexts", "one context");
        let gated = |c: &fencepost::Capture| c.if_(&x, |b| b.fill(&mut x.clone(), 1));
        captured(&|c| gated(c).and_then(|()| c.fork_on(two, "side").map(drop)), "fork_on", "its own");
        captured(
            &|c| {
                let side = c.fork_on(two, "side")?;
                side.fill(&mut y.clone(), 1)?;
                c.wait_for(&side)?;
                gated(c)
            },
            "if_",
            "its own",
        );
        let unjoined = queue.capture(|c| c.fork_on(two, "side")?.fill(&mut y.clone(), 1));
        assert_error!(unjoined, ErrorDetail::Unjoined { queue, .. } if queue == "side", "{names}");
        let (graph, ()) = queue.capture(|c| c.copy(&x, &mut y.clone())).unwrap();
        captured(
            &|c| c.replay(&graph).map(drop),
            "a replay of a graph of several contexts",
            "capture its commands",
        );
        let error = two.queue("theirs").replay(&graph).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{names}: {error}");
        assert!(error.to_string().contains("replayed on a queue of the one that captured it"), "{error}");
        let error = graph.to_bytes().unwrap_err();
        let ErrorDetail::NotSavable { node, reason, .. } = error.detail() else { panic!("{names}: {error}") };
        assert!(node.contains("copy across") && reason.contains("one context"), "{names}: {error}");
        // Arrays of the first context are foreign to the queue of the second one.
        let foreign = queue.capture(|c| c.fork_on(two, "side")?.fill(&mut x.clone(), 1));
        assert!(matches!(foreign.unwrap_err().detail(), ErrorDetail::ForeignContext { .. }), "{names}");
        queue.replay(&graph).unwrap();
        assert_eq!(two.to_vec(&y).unwrap(), [1], "{names}");
        let kept = queue.capture(|c| c.fork_on(two, "side")).unwrap().1;
        assert_error!(kept.fill(&mut y.clone(), 1), ErrorDetail::CaptureEnded { .. }, "{names}");
    });
}

fn nothing_executes(s: &Subject) {
    each_pair(s, |names, one, two| {
        let (queue, x, y) = queue_and_zeros(one, two);
        let (graph, ()) = queue.graph_of(|c| {
            let side = c.fork_on(two, "side")?;
            side.fill(&mut y.clone(), 5)?;
            c.fill(&mut x.clone(), 5)?;
            c.wait_for(&side)
        });
        queue.finish().wait().unwrap();
        for far in [false, true] {
            let guard = if far { y.map_read() } else { x.map_read() }.wait().unwrap();
            assert_error!(queue.replay(&graph), ErrorDetail::Mapped { .. }, "{names}");
            drop(guard);
            queue.finish().wait().unwrap();
            assert_eq!(one.to_vec(&x).unwrap(), [0; N], "{names}");
            assert_eq!(two.to_vec(&y).unwrap(), [0; N], "{names}");
            assert!(queue.take_error().is_none(), "{names}");
        }
        queue.replay(&graph).unwrap();
        assert_eq!(one.to_vec(&x).unwrap(), [5; N], "{names}");
        assert_eq!(two.to_vec(&y).unwrap(), [5; N], "{names}");
    });
}

/// The commands of the third context are enqueued before those of the second.
fn open_guard(s: &Subject) {
    let others: Vec<Context> = partners(s, Policy::Ordered).into_iter().map(|(_, ctx)| ctx).collect();
    let ctx = s.ctx();
    let queue = ctx.queue("main");
    let [y, z] = [0, 1].map(|at| others[at].zeros::<u32, 1>([N]).unwrap());
    let mut source = others[0].pinned::<u32, Upload, 1>([N]).unwrap();
    source.host_mut().unwrap().fill(5);
    let (graph, ()) = queue.graph_of(|c| {
        let [second, third] = [c.fork_on(&others[0], "second")?, c.fork_on(&others[1], "third")?];
        second.upload(&source, &mut y.clone())?;
        third.fill(&mut z.clone(), 5)?;
        c.wait_for(&second)?;
        c.wait_for(&third)
    });
    let guard = source.host_mut().unwrap();
    assert_error!(queue.replay(&graph), ErrorDetail::OpenGuard { .. });
    drop(guard);
    assert_eq!(others[1].to_vec(&z).unwrap(), [0; N]);
    queue.replay(&graph).unwrap();
    assert_eq!([(0, &y), (1, &z)].map(|(at, x)| others[at].to_vec(x).unwrap()), [[5; N]; 2]);
}

fn lost(s: &Subject) {
    for lost_after in [0, 1, 2, 4] {
        for far_is_lost in [true, false] {
            let lost = s.losing(lost_after);
            let ctx = s.ctx();
            let (one, two) = if far_is_lost { (&ctx, &lost) } else { (&lost, &ctx) };
            let (queue, x, y) = queue_and_zeros(one, two);
            let captured = queue.capture(|c| {
                let side = c.fork_on(two, "side")?;
                c.fill(&mut x.clone(), 5)?;
                side.wait_for(c)?;
                side.copy(&x, &mut y.clone())?;
                c.wait_for(&side)?;
                c.copy(&y, &mut x.clone())
            });
            let graph = match captured {
                Ok((graph, ())) => graph,
                Err(error) => panic!("a capture executes nothing: {error}"),
            };
            let mut failed = false;
            for _ in 0..=lost_after {
                let Err(error) = queue.replay(&graph).and_then(|run| run.wait()) else { continue };
                failed = true;
                match error.detail() {
                    ErrorDetail::DeviceLost { .. } => assert!(!far_is_lost, "{error}"),
                    ErrorDetail::OtherContext { error, .. } if far_is_lost => {
                        let inner = error.to_string();
                        assert!(inner.contains("lost"), "{inner}");
                    }
                    _ => panic!("{error}"),
                }
                queue.take_error();
            }
            assert!(failed, "the device of one context is lost after {lost_after} steps");
            let (alive, array) = if far_is_lost { (&ctx, &x) } else { (&ctx, &y) };
            let after = alive.queue("after");
            after.fill(&mut array.clone(), 8).unwrap();
            assert_eq!(after.read(array).wait().unwrap(), [8; N]);
        }
    }
}

fn loss_returns(s: &Subject) {
    let alive = s.ctx();
    let before = alive.pool().stats().used;
    for (lost_after, far_is_lost) in [(3, false), (12, false), (25, false), (3, true), (12, true), (25, true)]
    {
        let lost = s.losing(lost_after);
        let (one, two) = if far_is_lost { (&alive, &lost) } else { (&lost, &alive) };
        let queue = one.queue("main");
        let x = one.zeros::<u32, 1>([LARGE]).unwrap();
        let y = two.zeros::<u32, 1>([LARGE]).unwrap();
        let captured = queue.capture(|c| {
            let side = c.fork_on(two, "side")?;
            let own = side.full([N], 1_u32)?;
            side.fill(&mut y.clone(), 5)?;
            side.copy(&own, &mut y.slice(0..N)?)?;
            c.wait_for(&side)?;
            c.fill(&mut x.clone(), 5)?;
            c.copy(&y, &mut x.clone())
        });
        let graph = captured.unwrap().0;
        while queue.replay(&graph).and_then(|run| run.wait()).is_ok() {}
        drop((graph, x, y, queue, lost));
        drop(alive.synchronize().wait()); // the helper queue of the replay has failed, too
        returned(&alive, before);
    }
}

fn dropped(s: &Subject) {
    each_pair(s, |names, one, two| {
        for order in 0..4 {
            let one = one.clone();
            let two = two.clone();
            let queue = one.queue("main");
            let y = one.zeros::<u32, 1>([N]).unwrap();
            let graph = step(&two, &queue, &y);
            let runs: Vec<_> = (0..3).map(|_| queue.replay(&graph).unwrap()).collect();
            match order {
                0 => drop((graph, runs)),
                1 => drop((runs, two, graph)),
                2 => drop((two, graph, runs)),
                _ => drop((graph, two)),
            }
            let right = (0..3).fold(0, |y, _| stepped(y));
            assert_eq!(queue.read(&y).wait().unwrap(), [right; N], "{names}, order {order}");
        }
    });
    // Every handle is dropped at the end of an iteration, and nothing hangs.
    for (_, two) in partners(s, Policy::Ordered) {
        let one = s.ctx();
        let queue = one.queue("main");
        let y = one.zeros::<u32, 1>([N]).unwrap();
        let graph = step(&two, &queue, &y);
        queue.replay(&graph).unwrap();
        queue.replay(&graph).unwrap();
    }
}

fn memory(s: &Subject) {
    each_pair(s, |names, one, two| {
        let queue = one.queue("main");
        let y = one.zeros::<u32, 1>([N]).unwrap();
        let ones = two.full([N], 1_u32).unwrap();
        let before = [one.pool().stats().used, two.pool().stats().used];
        let (graph, ()) = queue.graph_of(|c| {
            let side = c.fork_on(two, "side")?;
            let mut far = side.zeros::<u32, 1>([N])?;
            side.copy(&y, &mut far)?;
            side.mix(1, 0, &ones, &mut far)?;
            drop(far);
            // Memory of the other context is not used for an array of this one.
            c.wait_for(&side)?;
            let near = c.zeros::<u32, 1>([N])?;
            c.copy(&near, &mut y.clone())
        });
        assert!(one.pool().stats().used > before[0] && two.pool().stats().used > before[1], "{names}");
        for _ in 0..3 {
            queue.replay(&graph).unwrap();
        }
        drop(graph);
        queue.finish().wait().unwrap();
        assert_eq!(queue.read(&y).wait().unwrap(), [0; N], "{names}");
        has_returned(one, before[0]);
        has_returned(two, before[1]);
    });
}

fn dumps(s: &Subject) {
    let one = s.ctx();
    let two = s.ctx();
    let (queue, x, y) = queue_and_zeros(&one, &two);
    let (graph, ()) = queue.graph_of(|c| {
        c.fill(&mut x.clone(), 1)?;
        let side = c.fork_on(&two, "side")?;
        side.copy(&x, &mut y.clone())?;
        side.fill(&mut y.clone().slice(0..1)?, 2)?;
        c.wait_for(&side)
    });
    let statistics = graph.statistics();
    assert_eq!((statistics.contexts, statistics.nodes, statistics.queues), (2, 4, 3));
    // A copy between contexts is a read and an upload.
    assert_eq!((statistics.fills, statistics.reads, statistics.uploads), (2, 1, 1));
    let text = graph.to_text();
    assert!(text.starts_with("graph `main`: 4 nodes on 3 queues of 2 contexts, "), "{text}");
    for queue in ["main, context 0", "side, context 1", "side, copy across, context 0"] {
        assert!(text.contains(queue), "{text}");
        assert!(graph.to_dot().contains(queue), "{}", graph.to_dot());
        assert!(graph.to_svg().contains(queue), "{}", graph.to_svg());
    }
    let (plain, ()) = queue.capture(|c| c.fill(&mut x.clone(), 1)).unwrap();
    assert_eq!(plain.statistics().contexts, 1);
    assert!(!plain.to_text().contains(", context"), "{}", plain.to_text());
}

fn seeds(s: &Subject) {
    for seed in 0..16_u64 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let [one, two] = faulty_pair(s, seed, &mut rng);
        program(seed, &one, &two, &mut rng);
    }
}

/// Replays a random graph of two contexts. The result is right unless something has failed.
fn program(seed: u64, one: &Context, two: &Context, rng: &mut fastrand::Rng) {
    let contexts = [one, two];
    let made: Result<Vec<DeviceArray<u32>>> = contexts.iter().map(|ctx| ctx.zeros([N])).collect();
    let kernels: Result<Vec<_>> = contexts.iter().map(|ctx| ctx.kernel::<Iota>()).collect();
    let (Ok(arrays), Ok(kernels)) = (made, kernels) else { return };
    let queue = one.queue("main");
    let mut last = [[0_u32; N]; 2];
    let steps: Vec<(u32, usize)> = (1..8).map(|round| (round, rng.usize(..2))).collect();
    let captured = queue.capture(|c| {
        let queues = [c.fork("near"), c.fork_on(two, "far")?];
        for &(round, at) in &steps {
            if round % 3 == 0 {
                queues[at].copy(&arrays[1 - at], &mut arrays[at].clone())?;
            } else {
                let args = Iota { start: round, step: 3, out: &mut arrays[at].clone() };
                queues[at].launch(&kernels[at], Grid::threads([N]), args)?;
            }
        }
        queues.iter().try_for_each(|queue| c.wait_for(queue))
    });
    let Ok((graph, ())) = captured else { return };
    for replay in 0..3 {
        for &(round, at) in &steps {
            let counted = std::array::from_fn(|i| round + 3 * i as u32);
            last[at] = if round % 3 == 0 { last[1 - at] } else { counted };
        }
        let done = queue.replay(&graph).and_then(|run| run.wait());
        if let Err(error) = done {
            assert!(!error.to_string().contains("bug"), "seed {seed}: {error}");
            return;
        }
        for at in 0..2 {
            let found = contexts[at].queue("read").read(&arrays[at]).wait();
            match found {
                Ok(found) => assert_eq!(found, last[at], "seed {seed}, replay {replay}, context {at}"),
                Err(error) => assert!(!error.to_string().contains("bug"), "seed {seed}: {error}"),
            }
        }
    }
}

//! T04 and T05: times of markers and nodes in replays.

use crate::common::kernels::Iota;
use crate::common::{Calls, Case, Subject, assert_error, case, raw};
use fencepost::prelude::*;
use fencepost::profile::{Activity, Row, Unmeasured};
use fencepost::{
    AdoptOptions, ErrorDetail, EventOptions, Graph, Profile, QueueOptions, RecorderChoice, Replay,
};
use serde_json::Value;

pub fn cases() -> Vec<Case> {
    vec![
        case("t04_a_captured_marker_has_a_time_in_each_replay", each_replay),
        case("t04_the_time_between_two_markers_covers_the_commands_between", covers),
        case("t04_markers_of_a_timed_queue_have_times_without_options", timed_queue),
        case("t04_a_replay_on_a_timed_queue_has_a_time", timed_replay),
        case("t04_an_untimed_marker_completes_with_its_replay", untimed),
        case("t04_a_marker_of_another_graph_is_an_error", foreign),
        case("t04_a_timed_marker_needs_no_join", no_join),
        case("t04_a_graph_inside_a_graph_has_the_markers_of_the_outer_one", child),
        case("t04_a_device_with_timestamps_at_passes_only_times_the_markers_of_a_graph", boundaries_alone)
            .gpu_only("there is no wgpu device"),
        case("t04_without_timestamps_a_marker_of_a_replay_is_not_measured", no_timestamps)
            .gpu_only("there is no wgpu device"),
        case("t05_the_nodes_of_a_replay_are_rows_beside_its_row", node_rows),
        case("t05_the_nodes_of_two_replays_have_rows_of_their_own", two_replays),
        case("t05_the_nodes_of_a_replay_are_in_the_trace_and_in_the_timeline", written),
        case("t05_only_replays_during_a_profile_have_rows_of_nodes", only_while_profiled),
    ]
}

const N: usize = 1000;
fn with_clock() -> EventOptions {
    EventOptions::default().timing(true)
}

/// Captures `parts` parts with a marker before each and one at the end. A part has a launch, a copy and a fill.
fn marked(ctx: &Context, queue: &CommandQueue, parts: usize) -> (Graph, Vec<Event>) {
    let iota = ctx.kernel::<Iota>().unwrap();
    let [mut x, mut y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    queue.graph_of(|c| {
        let mut markers = vec![c.marker_with(with_clock())];
        for _ in 0..parts {
            c.launch(&iota, Grid::threads([N]), Iota { start: 3, step: 1, out: &mut x })?;
            c.copy(&x, &mut y)?;
            c.fill(&mut x, 5)?;
            markers.push(c.marker_with(with_clock()));
        }
        Ok(markers)
    })
}

fn events(run: &Replay, markers: &[Event]) -> Vec<Event> {
    markers.iter().map(|marker| run.event_of(marker).unwrap()).collect()
}

fn seconds(from: &Event, to: &Event) -> f64 {
    to.seconds_since(from).wait().unwrap()
}

fn each_replay(subject: &Subject) {
    each_replay_on(&subject.ctx());
}

fn each_replay_on(ctx: &Context) {
    let queue = ctx.queue("main");
    let (graph, markers) = marked(ctx, &queue, 3);
    let runs: Vec<Vec<Event>> = (0..3).map(|_| events(&queue.replay(&graph).unwrap(), &markers)).collect();
    for run in &runs {
        let parts: Vec<f64> = run.windows(2).map(|pair| seconds(&pair[0], &pair[1])).collect();
        assert!(parts.iter().all(|&part| part > 0.0), "there is work between any two");
        assert!((seconds(&run[0], &run[3]) - parts.iter().sum::<f64>()).abs() < 1e-9);
        assert_eq!(seconds(&run[2], &run[1]), -seconds(&run[1], &run[2]));
    }
    for pair in runs.windows(2) {
        assert!(seconds(&pair[0][3], &pair[1][0]) >= 0.0, "the replays of a queue are in order");
        assert!(seconds(&pair[0][0], &pair[1][0]) > 0.0, "each replay has its own times");
    }
    assert!(!queue.options().timing);
}

fn covers(subject: &Subject) {
    covers_on(&subject.ctx());
}

fn covers_on(ctx: &Context) {
    let queue = ctx.queue("main");
    let (graph, markers) = marked(ctx, &queue, 2);
    let profiler = ctx.profile();
    let before = queue.marker_with(with_clock());
    let run = queue.replay(&graph).unwrap();
    let after = queue.marker_with(with_clock());
    let marks = events(&run, &markers);
    let profile = profiler.finish().wait().unwrap();
    let outer = seconds(&before, &after);
    assert!(seconds(&before, &marks[0]) >= 0.0 && seconds(&marks[2], &after) >= 0.0);
    assert!(seconds(&marks[0], &marks[2]) <= outer + 1e-9);
    let nodes: Vec<f64> =
        nodes_of(&profile).iter().map(|row| row.time.map_or(0.0, |time| time.seconds())).collect();
    assert_eq!(nodes.len(), 6);
    for (part, nodes) in nodes.chunks(3).enumerate() {
        let between = seconds(&marks[part], &marks[part + 1]);
        assert!(between + 1e-9 >= nodes.iter().sum(), "{between} {nodes:?}");
    }
}

fn timed_queue(subject: &Subject) {
    let ctx = subject.ctx();
    let queue = ctx.queue_with(QueueOptions::default().timing(true));
    let [mut x, mut y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    let (graph, markers) = queue.graph_of(|c| {
        let start = c.marker();
        c.fill(&mut x, 1)?;
        let side = c.fork("side");
        let begun = side.marker();
        side.fill(&mut y, 2)?;
        let ended = side.marker();
        c.wait_for(&side)?;
        Ok([start, begun, ended, c.marker()])
    });
    assert_eq!(graph.statistics().times, 4, "a join needs no time");
    for queue in [queue, ctx.queue("untimed")] {
        let run = events(&queue.replay(&graph).unwrap(), &markers);
        assert!(run.windows(2).all(|pair| seconds(&pair[0], &pair[1]) >= 0.0));
        assert!(seconds(&run[0], &run[1]) > 0.0 && seconds(&run[1], &run[2]) > 0.0);
    }
}

/// Checks that the time of a replay ends after its last command. If the time ended at the first pass of the graph, it
/// would be before the last marker.
fn timed_replay(subject: &Subject) {
    timed_replay_on(&subject.ctx());
}

fn timed_replay_on(ctx: &Context) {
    let queue = ctx.queue_with(QueueOptions::default().timing(true));
    let other = ctx.queue_with(QueueOptions::default().timing(true));
    let (graph, markers) = marked(ctx, &queue, 4);
    let mut z = other.zeros::<u32, 1>([N]).unwrap();
    queue.finish().wait().unwrap();
    for turn in 0..3 {
        let start = queue.marker();
        let run = queue.replay(&graph).unwrap();
        for _ in 0..turn {
            other.fill(&mut z, 7).unwrap(); // a timed command that may run between the nodes
        }
        let end = queue.marker();
        let marks = events(&run, &markers);
        assert!(seconds(&start, &marks[0]) >= 0.0 && seconds(&marks[4], &end) >= 0.0);
        assert!(seconds(&marks[0], &marks[4]) > 0.0);
    }
}

fn boundaries_alone(subject: &Subject) {
    let (device, queue) = raw::open_timed(subject);
    for recorder in [RecorderChoice::Wgpu, RecorderChoice::Hal, RecorderChoice::Direct] {
        let options = AdoptOptions::default().recorder(recorder).exclusive(true);
        let ctx = Context::adopt(device.clone(), queue.clone(), options).unwrap();
        subject.watch(&ctx);
        each_replay_on(&ctx);
        covers_on(&ctx);
        timed_replay_on(&ctx);
    }
}

fn no_timestamps(subject: &Subject) {
    let (device, queue) = raw::open(subject);
    for recorder in [RecorderChoice::Wgpu, RecorderChoice::Hal] {
        let options = AdoptOptions::default().recorder(recorder);
        let ctx = Context::adopt(device.clone(), queue.clone(), options).unwrap();
        subject.watch(&ctx);
        let queue = ctx.queue("main");
        let (graph, markers) = marked(&ctx, &queue, 1);
        let marks = events(&queue.replay(&graph).unwrap(), &markers);
        marks[1].wait().unwrap();
        assert_error!(marks[1].seconds_since(&marks[0]).wait(), ErrorDetail::NotMeasured { .. });
        let profiler = ctx.profile();
        queue.replay(&graph).unwrap();
        let profile = profiler.finish().wait().unwrap();
        let nodes = nodes_of(&profile);
        assert_eq!(nodes.len(), 3);
        assert!(nodes.iter().all(|row| row.time == Err(Unmeasured::NoClock) && row.batch == Some(0)));
    }
}

fn untimed(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let (graph, (plain, timed)) = queue.graph_of(|c| {
        let plain = c.marker();
        c.fill(&mut x, 1)?;
        Ok((plain, c.marker_with(with_clock())))
    });
    let gate = queue.hold();
    let run = queue.replay(&graph).unwrap();
    let plain = run.event_of(&plain).unwrap();
    let timed = run.event_of(&timed).unwrap();
    assert!(!plain.is_complete().unwrap() && !timed.is_complete().unwrap());
    gate.signal();
    plain.wait().unwrap();
    assert!(run.event().is_complete().unwrap() && timed.is_complete().unwrap());
    assert_error!(timed.seconds_since(&plain).wait(), ErrorDetail::Untimed { .. });
    // The marker itself is a point in the capture, without a replay.
    let (graph, (start, end)) =
        queue.capture(|c| Ok((c.marker_with(with_clock()), c.marker_with(with_clock())))).unwrap();
    let error = assert_error!(end.seconds_since(&start).wait(), ErrorDetail::Captured { .. });
    assert!(error.to_string().contains("Replay::event_of"), "{error}");
    drop(graph);
}

fn foreign(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let (graph, _) = marked(&ctx, &queue, 1);
    let (_, others) = marked(&ctx, &queue, 1);
    let run = queue.replay(&graph).unwrap();
    let problem = |event: &Event| {
        let error = run.event_of(event).unwrap_err();
        let ErrorDetail::Graph { graph, problem } = error.detail() else { panic!("{error}") };
        assert_eq!(graph, "main");
        problem.clone()
    };
    assert_eq!(problem(&others[0]), "the marker belongs to another graph");
    assert_eq!(problem(&queue.marker()), "the event is not a captured marker");
    assert_eq!(problem(&ctx.event()), "the event is not a captured marker");
    assert_eq!(problem(run.event()), "the event is not a captured marker");
    run.wait().unwrap();
}

fn no_join(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let (graph, (start, end)) = queue.graph_of(|c| {
        let side = c.fork("side");
        let start = side.marker_with(with_clock());
        side.fill(&mut x, 1)?;
        c.wait_for(&side)?;
        Ok((start, side.marker_with(with_clock())))
    });
    let run = queue.replay(&graph).unwrap();
    assert!(seconds(&run.event_of(&start).unwrap(), &run.event_of(&end).unwrap()) > 0.0);
    // A command after the marker still needs a join.
    let unjoined = queue.capture(|c| {
        let side = c.fork("side");
        side.marker_with(with_clock());
        side.fill(&mut x, 1)
    });
    assert!(matches!(unjoined.unwrap_err().detail(), ErrorDetail::Unjoined { .. }));
}

fn child(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let (inner, inside) = marked(&ctx, &queue, 2);
    let (graph, markers) = queue.graph_of(|c| {
        let start = c.marker_with(with_clock());
        c.replay(&inner)?;
        Ok([start, c.marker_with(with_clock())])
    });
    let run = queue.replay(&graph).unwrap();
    let marks = events(&run, &markers);
    assert!(seconds(&marks[0], &marks[1]) > 0.0);
    assert!(run.event_of(&inside[0]).is_err(), "the marker of the inner graph has no single time");
}

/// Returns the rows of the nodes of replays.
fn nodes_of(profile: &Profile) -> Vec<&Row> {
    profile.rows.iter().filter(|row| row.replay.is_some()).collect()
}

/// Captures a graph on two queues, with a host callback.
fn two_queues(ctx: &Context, queue: &CommandQueue) -> Graph {
    let [x, mut y, mut z] = [(); 3].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    let captured = queue.capture(|c| {
        c.fill(&mut y, 3)?;
        let side = c.fork("side");
        side.mix(2, 3, &x, &mut z)?;
        c.copy(&x, &mut y)?;
        c.wait_for(&side)?;
        c.host(|| ())?;
        c.mix(2, 3, &z, &mut y)?;
        c.read_as("result", &y)
    });
    captured.unwrap().0
}

fn node_rows(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let graph = two_queues(&ctx, &queue);
    let player = ctx.queue("player");
    let profiler = ctx.profile();
    let run = player.replay(&graph).unwrap();
    let profile = profiler.finish().wait().unwrap();
    drop(run);
    let found: Vec<_> =
        nodes_of(&profile).iter().map(|row| (&*row.queue, row.activity, row.name.to_string())).collect();
    let bytes = format!("{} bytes", 4 * N);
    let expected = [
        ("player / main", Activity::Fill, bytes.clone()),
        ("player / side", Activity::Launch, "mix".into()),
        ("player / main", Activity::Copy, bytes),
        ("player / main", Activity::Launch, "mix".into()),
        ("player / main", Activity::Read, "result".into()),
    ];
    assert_eq!(found, expected);
    let replays = profile.rows.iter().filter(|row| row.activity == Activity::Replay);
    assert_eq!(replays.count(), 2, "the host callback cuts the replay");
    for row in nodes_of(&profile) {
        let replay = &profile.rows[row.replay.unwrap()];
        assert_eq!((replay.activity, &*replay.queue, &*replay.name), (Activity::Replay, "player", "main"));
        assert_eq!((row.batch, row.submitted), (replay.batch, replay.submitted));
        assert!(row.location.file().ends_with("times.rs") && row.location.line() != replay.location.line());
        let inner = row.time.unwrap();
        let outer = replay.time.unwrap();
        assert!(outer.start <= inner.start + 1e-9 && inner.end <= outer.end + 1e-9, "{row:?} {replay:?}");
        assert!(inner.seconds() > 0.0);
        assert_eq!(replay.level_peers, 0);
    }
    let times: Vec<_> = nodes_of(&profile).iter().map(|row| row.time.unwrap()).collect();
    for (earlier, later) in [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)] {
        assert!(times[earlier].end <= times[later].start + 1e-9, "{earlier} {later} {times:?}");
    }
    let in_batches: usize = profile.batches.iter().map(|batch| batch.rows).sum();
    assert_eq!(in_batches, 7, "two replays and five nodes");
    let summary = profile.summary();
    let mix = summary.rows.iter().find(|row| &*row.name == "mix").unwrap();
    assert_eq!((mix.count, mix.measured), (2, 2));
    let path = profile.critical_path();
    assert!(path.rows.iter().all(|&at| profile.rows[at].replay.is_none()), "a replay stands for its nodes");
}

fn two_replays(subject: &Subject) {
    let ctx = subject.ctx();
    let queues = [ctx.queue("one"), ctx.queue("two")];
    let graph = two_queues(&ctx, &queues[0]);
    let profiler = ctx.profile();
    let runs: Vec<Replay> = (0..4).map(|at| queues[at % 2].replay(&graph).unwrap()).collect();
    let profile = profiler.finish().wait().unwrap();
    drop(runs);
    let nodes = nodes_of(&profile);
    assert_eq!(nodes.len(), 20);
    for queue in ["one", "two"] {
        let of = |label: String| nodes.iter().filter(|row| *row.queue == *label).count();
        assert_eq!((of(format!("{queue} / one")), of(format!("{queue} / side"))), (8, 2));
    }
    // Rows with the same number have the same label, and the other way round.
    for row in &profile.rows {
        for other in &profile.rows {
            assert_eq!(row.queue_number == other.queue_number, row.queue == other.queue);
        }
    }
    let mut last = [f64::NEG_INFINITY; 2];
    for row in nodes.iter().filter(|row| row.queue.ends_with("/ one")) {
        let last = &mut last[usize::from(row.queue.starts_with("two"))];
        let time = row.time.unwrap();
        assert!(*last <= time.start + 1e-9, "{row:?}");
        *last = time.end;
    }
}

fn written(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let graph = two_queues(&ctx, &queue);
    let profiler = ctx.profile();
    let run = queue.replay(&graph).unwrap();
    let profile = profiler.finish().wait().unwrap();
    drop(run);
    let mut trace = Vec::new();
    let mut page = Vec::new();
    profile.write_chrome_trace(&mut trace).unwrap();
    profile.write_html(&mut page).unwrap();
    let trace: Value = serde_json::from_slice(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let nodes: Vec<&Value> = events.iter().filter(|event| event["args"]["replay"].is_u64()).collect();
    assert_eq!(nodes.len(), 5);
    for node in nodes {
        let replay = &events[events
            .iter()
            .position(|event| event["args"]["row"] == node["args"]["replay"] && event["cat"] == "replay")
            .unwrap()];
        assert!(replay["tid"] != node["tid"] && replay["pid"] == node["pid"], "{node}");
    }
    let thread = |name: &str| events.iter().any(|event| event["args"]["name"] == name);
    assert!(thread("main / main") && thread("main / side"));
    let page = String::from_utf8(page).unwrap();
    let (_, data) = page.split_once(r#"id="data">"#).unwrap();
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    assert!(data["queues"].as_array().unwrap().iter().any(|queue| queue["label"] == "main / side"));
    assert_eq!(data["rows"].as_array().unwrap().len(), profile.rows.len());
}

fn only_while_profiled(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let graph = two_queues(&ctx, &queue);
    let gate = queue.hold();
    let before = queue.replay(&graph).unwrap();
    let profiler = ctx.profile();
    let during = queue.replay(&graph).unwrap();
    gate.signal();
    let profiled = profiler.finish();
    let after = queue.replay(&graph).unwrap();
    let profile = profiled.wait().unwrap();
    assert_eq!(nodes_of(&profile).len(), 5);
    for run in [before, during, after] {
        run.wait().unwrap();
    }
    assert!(ctx.profile().finish().wait().unwrap().rows.is_empty());
}

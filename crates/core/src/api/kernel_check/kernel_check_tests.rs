//! Tests of the checks of a context: the source lines of launches, the options, and the orders that the CPU recorder
//! chooses.

use crate::api::context::Context;
use crate::api::graph::Graph;
use crate::api::grid::Grid;
use crate::api::kernel_check::{Finding, Mistake};
use crate::api::options::ContextOptions;
use crate::api::queue::CommandQueue;
use crate::arrays::device_array::DeviceArray;
use crate::device::adapter::AdapterChoice;
use crate::device::checks::CheckOptions;
use crate::error::ErrorDetail;
use crate::record::cpu::cpu_recorder::SimulatorOptions;
use fencepost_kernels::args;
use std::panic::Location;

const TEXT: &str = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(4) fn races(@builtin(local_invocation_index) i: u32) { x[i / 2u] = i; }
    @compute @workgroup_size(4) fn right(@builtin(local_invocation_index) i: u32) { x[i] = i; }";

/// Opens the CPU device with checks.
pub(super) fn device(check: CheckOptions) -> Context {
    let options =
        ContextOptions { adapter: AdapterChoice::Cpu, check: Some(check), ..ContextOptions::default() };
    Context::with_options(options).wait().expect("the CPU opens")
}

/// Opens the CPU recorder with checks.
pub(super) fn recorder(seed: u64) -> Context {
    let check = Some(CheckOptions::default());
    Context::simulated(SimulatorOptions { seed, threads: false, check, ..SimulatorOptions::default() })
}

/// Opens the CPU device, and the CPU recorder with a few seeds.
pub(super) fn contexts() -> impl Iterator<Item = Context> {
    std::iter::once_with(|| device(CheckOptions::default())).chain((0..5).map(recorder))
}

/// Launches `races` on one workgroup, and returns the line of the caller.
#[track_caller]
fn race(ctx: &Context, queue: &CommandQueue, x: &mut DeviceArray<u32>) -> &'static Location<'static> {
    let kernel = ctx.kernel_from(TEXT, "races").expect("it compiles");
    queue.launch_dyn(&kernel, Grid::groups([1]), args![x = x]).expect("a launch");
    Location::caller()
}

fn finished(ctx: &Context, queue: &CommandQueue) -> Vec<Finding> {
    queue.finish().wait().expect("a finding is not an error");
    ctx.diagnostics().take_findings()
}

#[test]
fn a_race_is_reported_once_for_each_line_that_launches_it() {
    for ctx in contexts() {
        let queue = ctx.queue("q");
        let mut x = ctx.zeros::<u32, 1>([4]).expect("memory");
        let right = ctx.kernel_from(TEXT, "right").expect("it compiles");
        queue.launch_dyn(&right, Grid::groups([1]), args![x = &mut x]).expect("a launch");
        assert_eq!(finished(&ctx, &queue), [], "a correct kernel has no finding");
        let mut lines = Vec::new();
        for _ in 0..3 {
            lines.push(race(&ctx, &queue, &mut x));
        }
        lines.push(race(&ctx, &queue, &mut x));
        let mut findings = finished(&ctx, &queue);
        findings.sort_by_key(|finding| finding.launch.map(Location::line));
        let found: Vec<_> =
            findings.iter().map(|finding| (finding.kernel.as_str(), finding.launch, finding.count)).collect();
        assert_eq!(found, [("races", Some(lines[0]), 6), ("races", Some(lines[3]), 2)]);
        let text = findings[1].to_string();
        let wgsl = "x[i / 2u] = i";
        let rust = format!("launched at {}", lines[3]);
        assert!(text.contains(wgsl) && text.contains(&rust), "{text}");
        assert_eq!(ctx.diagnostics().take_findings(), [], "the findings were taken");
    }
}

#[test]
fn a_finding_of_a_replay_names_the_line_of_the_captured_launch() {
    for ctx in contexts() {
        let queue = ctx.queue("q");
        let mut captured_at = None;
        let (graph, ()) = queue
            .capture(|c| {
                let mut x = c.zeros::<u32, 1>([4])?;
                captured_at = Some(race(&ctx, c, &mut x));
                Ok::<_, crate::error::Error>(())
            })
            .expect("it is captured");
        (0..2).for_each(|_| drop(queue.replay(&graph).expect("a replay")));
        let lines = |findings: Vec<Finding>| findings.iter().map(|found| found.launch).collect::<Vec<_>>();
        assert_eq!(lines(finished(&ctx, &queue)), [captured_at]);

        // A graph from a file has only one source line: that of its load.
        let file = graph.to_bytes().expect("it is saved");
        let loaded = Graph::from_bytes(&ctx, &file).expect("it loads");
        let line = line!() - 1;
        queue.replay(&loaded).expect("a replay");
        assert_eq!(finished(&ctx, &queue)[0].launch.map(Location::line), Some(line));
    }
}

#[test]
fn new_nans_are_found_if_the_program_wants() {
    let text = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
        @compute @workgroup_size(1) fn k() { x[1] = x[0] / x[0]; x[2] = x[1] + 1.0; }";
    for nan in [false, true] {
        let ctx = device(CheckOptions { nan, ..CheckOptions::default() });
        let queue = ctx.queue("q");
        let kernel = ctx.kernel_from(text, "k").expect("it compiles");
        let mut x = ctx.zeros::<f32, 1>([3]).expect("memory");
        queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).expect("a launch");
        let findings = finished(&ctx, &queue);
        let new: Vec<bool> =
            findings.iter().map(|finding| matches!(finding.mistake, Mistake::NewNan { .. })).collect();
        assert_eq!(new, vec![true; usize::from(nan)], "{findings:?}");
    }
}

#[test]
fn the_other_options_choose_mistakes_too() {
    let text = "@group(0) @binding(0) var<storage, read_write> x: array<vec2<u32>>;
        var<workgroup> w: u32;
        @compute @workgroup_size(2) fn k(@builtin(local_invocation_index) i: u32) {
            x[0][i] = w;
            x[i + 1u].x = 1u / x[3].y;
        }";
    let off = CheckOptions { operands: false, ..CheckOptions::default() };
    for (check, expected) in [
        (off, vec![]),
        (CheckOptions::default(), vec!["divides an integer by zero"]),
        (CheckOptions { unwritten_workgroup: true, ..off }, vec!["nothing wrote `w`"]),
        (CheckOptions { whole_vectors: true, ..off }, vec!["two invocations of a workgroup access `x[0].x`"]),
    ] {
        let ctx = device(check);
        let queue = ctx.queue("q");
        let kernel = ctx.kernel_from(text, "k").expect("it compiles");
        let mut x = ctx.zeros::<[u32; 2], 1>([4]).expect("memory");
        queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).expect("a launch");
        let texts: Vec<String> = finished(&ctx, &queue).iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), expected.len(), "{texts:?}");
        assert!(texts.iter().zip(&expected).all(|(text, part)| text.contains(part)), "{texts:?}");
    }
}

#[test]
fn a_race_is_found_with_each_seed_and_its_result_depends_on_the_seed() {
    let mut results = Vec::new();
    for seed in 0..12 {
        let ctx = recorder(seed);
        let queue = ctx.queue("q");
        let mut x = ctx.zeros::<u32, 1>([4]).expect("memory");
        race(&ctx, &queue, &mut x);
        results.push(queue.read(&x).wait().expect("a read"));
        assert_eq!(ctx.diagnostics().take_findings().len(), 1, "seed {seed}");
    }
    results.sort();
    results.dedup();
    assert!(results.len() > 1, "each order of the invocations gave {results:?}");
}

#[test]
fn the_cpu_recorder_checks_the_text_of_a_built_in_kernel() {
    let source = crate::builtin_shader("saxpy.wgsl").expect("it is built in");
    let ctx = recorder(1);
    let queue = ctx.queue("q");
    let kernel = ctx.kernel_from(source, "saxpy").expect("it compiles");
    let x = ctx.empty::<f32, 1>([5]).expect("memory");
    let mut y = ctx.zeros::<f32, 1>([5]).expect("memory");
    queue.launch_dyn(&kernel, Grid::threads([5]), args![a = 2.0_f32, x = &x, y = &mut y]).expect("a launch");
    let findings = finished(&ctx, &queue);
    assert_eq!(findings.len(), 1, "{findings:?}");
    let text = findings[0].to_string();
    assert!(text.contains("nothing wrote `x[0]`") && text.contains("kernel `saxpy`"), "{text}");
}

#[test]
fn a_mistake_fails_the_queue_of_its_launch_if_the_program_wants() {
    let check = CheckOptions { fail_queue: true, ..CheckOptions::default() };
    let on_recorder =
        |seed| SimulatorOptions { seed, threads: false, check: Some(check), ..SimulatorOptions::default() };
    for ctx in std::iter::once(device(check)).chain((0..5).map(|seed| Context::simulated(on_recorder(seed))))
    {
        let wrong = ctx.queue("wrong");
        let other = ctx.queue("other");
        let [mut x, mut y, mut z] = [(); 3].map(|()| ctx.zeros::<u32, 1>([4]).expect("memory"));
        let before = wrong.marker();
        let line = race(&ctx, &wrong, &mut x);
        wrong.fill(&mut z, 9).expect("the failure is not known yet");
        let right = ctx.kernel_from(TEXT, "right").expect("it compiles");
        other.launch_dyn(&right, Grid::groups([1]), args![x = &mut y]).expect("a launch");
        assert_eq!(other.read(&y).wait().expect("the other queue has no mistake"), [0, 1, 2, 3]);
        before.wait().expect("the commands before the launch succeed");

        let error = wrong.finish().wait().expect_err("the launch has a race");
        let ErrorDetail::KernelMistakes { kernel, launch, mistakes, first } = error.detail() else {
            panic!("{error}")
        };
        assert_eq!((kernel.as_str(), launch, *mistakes), ("races", &line.to_string(), 1));
        assert!(first.contains("`x[0]`") && first.contains(":2:"), "{first}");
        assert_eq!(wrong.fill(&mut x, 1).expect_err("the error is sticky").to_string(), error.to_string());
        assert_eq!(ctx.diagnostics().take_findings().len(), 1);
        assert_eq!(
            other.read(&z).wait().expect("a read"),
            [0; 4],
            "the fill after the launch is not executed"
        );

        wrong.take_error().expect("the queue has failed");
        wrong.fill(&mut x, 7).expect("the queue goes on");
        assert_eq!(wrong.read(&x).wait().expect("a read"), [7; 4]);
        assert_eq!(other.read(&x).wait().expect("a read"), [7; 4]);
    }
}

#[test]
fn a_mistake_in_a_graph_fails_the_queue_of_the_replay() {
    let ctx = device(CheckOptions { fail_queue: true, ..CheckOptions::default() });
    let captured = ctx.queue("captured");
    let replays = ctx.queue("replays");
    let capture = |c: &CommandQueue| {
        let mut x = c.zeros::<u32, 1>([4])?;
        race(&ctx, c, &mut x);
        Ok::<_, crate::error::Error>(())
    };
    let (graph, ()) = captured.capture(|c| capture(c)).expect("it is captured");
    let replay = replays.replay(&graph).expect("a replay");
    let error = replay.wait().expect_err("a launch of the graph has a race");
    let ErrorDetail::GraphNode { error, .. } = error.detail() else { panic!("{error}") };
    assert!(matches!(error.detail(), ErrorDetail::KernelMistakes { .. }), "{error}");
    assert!(replays.take_error().is_some());
    captured.finish().wait().expect("the captured queue has run nothing");
}

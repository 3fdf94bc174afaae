//! D06, R07: the CPU device, which every machine has, and its checks of kernels.

use crate::common::{Case, Subject, assert_error, case, dump, queues};
use fencepost::kernel_check::Mistake;
use fencepost::prelude::*;
use std::time::Duration;

const TEXT: &str = "
    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(4) fn squares(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x] = id.x * id.x; }
    @compute @workgroup_size(4) fn doubles(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x] *= 2u; }
    @compute @workgroup_size(4) fn races(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x / 2u] = id.x; }
    @compute @workgroup_size(4) fn leaves(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x + 5u] = id.x; }
    @compute @workgroup_size(4) fn parts(@builtin(global_invocation_id) id: vec3<u32>) {
        if out[id.x] == 0u && id.x == 2u { return; }
        workgroupBarrier();
    }
";

pub fn cases() -> Vec<Case> {
    vec![
        case("d06_the_cpu_runs_the_text_of_a_kernel_on_every_machine", runs),
        case("d06_an_endless_kernel_on_the_cpu_fails_its_queue_and_the_device_goes_on", endless),
        case("d06_a_long_launch_on_the_cpu_holds_up_no_other_context", beside_a_long_launch),
        case("r07_a_check_reports_a_race_and_nothing_of_a_correct_kernel", checks),
        case("r07_a_check_reports_a_read_of_memory_that_nothing_wrote", unwritten),
        case("r07_a_check_reports_an_index_out_of_range_and_a_barrier_that_not_all_reach", others),
        case("r07_a_mistake_fails_the_queue_of_its_launch_if_the_program_wants", fails),
    ]
}

/// Opens the CPU, with checks or without.
fn cpu(subject: &Subject, check: Option<CheckOptions>) -> Context {
    open(subject, ContextOptions::default().check(check))
}

/// Opens the CPU with options.
fn open(subject: &Subject, options: ContextOptions) -> Context {
    let ctx = Context::with_options(options.adapter(AdapterChoice::Cpu)).wait().unwrap();
    subject.watch(&ctx);
    ctx
}

/// Launches an entry point of [`TEXT`] on 8 elements, and returns them.
fn launched(ctx: &Context, entry: &str) -> Vec<u32> {
    let queue = ctx.queue("main");
    let kernel = ctx.kernel_from(TEXT, entry).unwrap();
    let mut out = ctx.zeros::<u32, 1>([8]).unwrap();
    queue.launch_dyn(&kernel, Grid::threads([8]), args![out = &mut out]).unwrap();
    queue.read(&out).wait().unwrap()
}

fn runs(subject: &Subject) {
    let ctx = cpu(subject, None);
    assert_eq!(launched(&ctx, "squares"), [0, 1, 4, 9, 16, 25, 36, 49]);
    launched(&ctx, "races");
    let is_checked = std::env::var("FENCEPOST_CHECK").is_ok_and(|value| value == "1");
    assert_eq!(ctx.diagnostics().take_findings().is_empty(), !is_checked);
}

fn endless(subject: &Subject) {
    let ctx = open(subject, ContextOptions::default().launch_limit(Duration::from_millis(300)));
    let [queue, other] = queues(&ctx, ["main", "other"]);
    let text = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(4) fn endless() { while out[0] == 0u { } }";
    let kernel = ctx.kernel_from(text, "endless").unwrap();
    let [mut out, mut beside] = [(); 2].map(|()| ctx.zeros::<u32, 1>([8]).unwrap());
    let line = line!() + 1;
    queue.launch_dyn(&kernel, Grid::threads([8]), args![out = &mut out]).unwrap();
    queue.fill(&mut out, 5).unwrap();
    other.fill(&mut beside, 6).unwrap();

    let error = queue.finish().wait().unwrap_err();
    let start = format!("kernel `endless`, launched at {}:{line}:11, ran longer than 300ms, ", file!());
    assert!(
        matches!(error.detail(), ErrorDetail::LaunchTooLong { .. }) && error.to_string().starts_with(&start),
        "{error}"
    );
    assert_eq!(other.read(&beside).wait().unwrap(), [6; 8]);
    assert!(queue.take_error().is_some());
    assert_eq!(queue.read(&out).wait().unwrap(), [0; 8], "the fill after the launch is not executed");
    queue.fill(&mut out, 1).unwrap();
    queue.launch_dyn(&kernel, Grid::threads([8]), args![out = &mut out]).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [1; 8]);
}

/// Opens two contexts on the CPU, which share the threads of the process. The first executes a launch that keeps all
/// threads busy until its time limit. The second must have its results before that. On a slow machine they may be late,
/// so the test is repeated with a longer limit.
fn beside_a_long_launch(subject: &Subject) {
    let text = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(4) fn hours(@builtin(global_invocation_id) id: vec3<u32>) {
            var x = id.x;
            for (var i = 0u; i < 1000000u; i++) { x = x * 1664525u + 1013904223u; }
            out[id.x] = x;
        }
        @compute @workgroup_size(64) fn adds(@builtin(global_invocation_id) id: vec3<u32>) {
            for (var i = 0u; i < 20u; i++) { out[id.x] += i; }
        }";
    for limit in [300, 1_000, 5_000].map(Duration::from_millis) {
        let ctx = open(subject, ContextOptions::default().launch_limit(limit));
        let queue = ctx.queue("long");
        let kernel = ctx.kernel_from(text, "hours").unwrap();
        let mut zeros = queue.zeros::<u32, 1>([1 << 17]).unwrap();
        let before = dump::submitted(&ctx);
        queue.launch_dyn(&kernel, Grid::threads([1 << 17]), args![out = &mut zeros]).unwrap();
        let end = queue.marker();
        queue.flush().unwrap();
        dump::until(|| dump::submitted(&ctx) > before);

        let other = cpu(subject, None);
        let queue = other.queue("short");
        let kernel = other.kernel_from(text, "adds").unwrap();
        let mut sums = queue.zeros::<u32, 1>([1 << 15]).unwrap();
        queue.launch_dyn(&kernel, Grid::threads([1 << 15]), args![out = &mut sums]).unwrap();
        assert!(queue.read(&sums).wait().unwrap().iter().all(|&sum| sum == 190));
        let in_time = !matches!(end.is_complete(), Ok(true) | Err(_));
        assert_error!(end.wait(), ErrorDetail::LaunchTooLong { .. });
        if in_time {
            return;
        }
    }
    panic!("the results came only after the long launch of the other context");
}

fn checks(subject: &Subject) {
    let ctx = cpu(subject, Some(CheckOptions::default()));
    assert_eq!(launched(&ctx, "squares"), [0, 1, 4, 9, 16, 25, 36, 49]);
    assert!(ctx.diagnostics().take_findings().is_empty());
    launched(&ctx, "races");
    let findings = ctx.diagnostics().take_findings();
    assert_eq!(findings.len(), 1, "{findings:?}");
    let text = findings[0].to_string();
    assert!(text.contains("out[id.x / 2u] = id.x") && text.contains("races"), "{text}");
    let launch = findings[0].launch.unwrap();
    assert_eq!(launch.file(), file!(), "the finding names the line of the launch");
    assert!(text.contains(&launch.to_string()), "{text}");
}

/// The launch runs 8 invocations, and the last five access elements past the end of the array of 8.
fn others(subject: &Subject) {
    let ctx = cpu(subject, Some(CheckOptions::default()));
    launched(&ctx, "leaves");
    let findings = ctx.diagnostics().take_findings();
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    let Mistake::IndexOutOfRange { len, .. } = &finding.mistake else { panic!("{finding}") };
    assert_eq!((*len, finding.count), (8, 5), "{finding}");
    launched(&ctx, "parts");
    let findings = ctx.diagnostics().take_findings();
    let missed = |finding: &&_| {
        matches!(finding, fencepost::kernel_check::Finding { mistake: Mistake::BarrierMissed { .. }, .. })
    };
    let text = findings.iter().find(missed).map(ToString::to_string).unwrap_or_default();
    assert!(text.contains("workgroupBarrier()") && text.contains("parts"), "{findings:?}");
}

fn unwritten(subject: &Subject) {
    let ctx = cpu(subject, Some(CheckOptions::default()));
    let queue = ctx.queue("main");
    let kernel = ctx.kernel_from(TEXT, "doubles").unwrap();
    let launch = |out: &mut DeviceArray<u32>| {
        queue.launch_dyn(&kernel, Grid::threads([8]), args![out = out]).unwrap();
        queue.finish().wait().unwrap();
        ctx.diagnostics().take_findings()
    };
    assert!(launch(&mut ctx.zeros([8]).unwrap()).is_empty(), "zeros are written");
    let mut out = ctx.empty::<u32, 1>([8]).unwrap();
    queue.fill(&mut out.slice(0..5).unwrap(), 1).unwrap();
    let findings = launch(&mut out);
    assert_eq!(findings.len(), 1, "{findings:?}");
    let Mistake::UnwrittenRead { element, .. } = &findings[0].mistake else { panic!("{}", findings[0]) };
    assert_eq!((element.path.as_str(), findings[0].count), ("out[5]", 3));
    assert!(launch(&mut out).is_empty(), "the first launch wrote all elements");
}

fn fails(subject: &Subject) {
    let ctx = cpu(subject, Some(CheckOptions::default().fail_queue(true)));
    let queue = ctx.queue("main");
    let kernel = ctx.kernel_from(TEXT, "races").unwrap();
    let [mut out, mut after] = [(); 2].map(|()| ctx.zeros::<u32, 1>([8]).unwrap());
    queue.launch_dyn(&kernel, Grid::threads([8]), args![out = &mut out]).unwrap();
    queue.fill(&mut after, 5).unwrap();
    assert_error!(
        queue.finish().wait(),
        ErrorDetail::KernelMistakes { kernel, mistakes: 1, .. } if kernel == "races"
    );
    assert!(queue.take_error().is_some());
    assert_eq!(queue.read(&after).wait().unwrap(), [0; 8], "the fill after the launch is not executed");
    assert_eq!(launched(&ctx, "squares"), [0, 1, 4, 9, 16, 25, 36, 49], "the device goes on");
}

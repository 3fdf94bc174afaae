//! D06, R07: the CPU as a device, which every machine has, and its checks of kernels.

use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use fencepost::{AdapterChoice, ContextOptions, args};

const TEXT: &str = "
    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(4) fn squares(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x] = id.x * id.x; }
    @compute @workgroup_size(4) fn races(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x / 2u] = id.x; }
";

pub fn cases() -> Vec<Case> {
    vec![
        case("d06_the_cpu_runs_the_text_of_a_kernel_on_every_machine", runs),
        case("r07_a_check_reports_a_race_and_nothing_of_a_correct_kernel", checks),
    ]
}

/// Opens the CPU, with checks or without.
fn cpu(subject: &Subject, check: bool) -> Context {
    let options = ContextOptions { adapter: AdapterChoice::Cpu, check, ..ContextOptions::default() };
    let ctx = Context::with_options(options).wait().unwrap();
    subject.watch(&ctx);
    ctx
}

/// Launches an entry point of [`TEXT`] on 8 elements, and returns them.
fn launched(ctx: &Context, entry: &str) -> Vec<u32> {
    let (queue, kernel) = (ctx.queue("main"), ctx.kernel_from(TEXT, entry).unwrap());
    let mut out = ctx.zeros::<u32, 1>([8]).unwrap();
    queue.launch_dyn(&kernel, Grid::threads([8]), args![out = &mut out]).unwrap();
    queue.read(&out).wait().unwrap()
}

fn runs(subject: &Subject) {
    let ctx = cpu(subject, false);
    assert_eq!(launched(&ctx, "squares"), [0, 1, 4, 9, 16, 25, 36, 49]);
    launched(&ctx, "races");
    assert!(ctx.take_findings().is_empty(), "nothing is checked");
}

fn checks(subject: &Subject) {
    let ctx = cpu(subject, true);
    assert_eq!(launched(&ctx, "squares"), [0, 1, 4, 9, 16, 25, 36, 49]);
    assert!(ctx.take_findings().is_empty());
    launched(&ctx, "races");
    let findings = ctx.take_findings();
    assert_eq!(findings.len(), 1, "{findings:?}");
    let text = findings[0].to_string();
    assert!(text.contains("out[id.x / 2u] = id.x") && text.contains("races"), "{text}");
}

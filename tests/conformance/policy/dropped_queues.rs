//! P02, P06, E07: messages about a dropped queue, after another queue got its slot.

use crate::common::{Case, NO_UNWINDING, Subject, case, dump, queues};
use fencepost::waits::{Already, WaitReport};
use fencepost::{CommandQueue, Context, DeviceArray, Error, ErrorDetail, Event, Policy, SimulatorOptions};

pub fn cases() -> Vec<Case> {
    vec![
        case("p02_a_hazard_names_the_dropped_queue_and_a_call_that_orders_the_use", hazard),
        case("p02_a_copy_between_contexts_orders_nothing_after_a_dropped_queue", helper),
        case("p06_the_waits_for_a_dropped_queue_are_listed_by_its_name", report),
        case("e07_the_failure_of_a_dropped_queue_names_no_other_queue", failure).not_in_a_page(NO_UNWINDING),
    ]
}

const N: usize = 64;

/// State of the dropped queue when another queue uses its array.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Dropped,
    Over,
    Replaced,
}

/// Has queue `gone` fill the array and drops the queue; at stage `Replaced` makes queue `innocent` in its slot.
fn drop_queue(ctx: &Context, x: &mut DeviceArray<u32>, stage: Stage) -> (Event, Option<CommandQueue>) {
    let gone = ctx.queue("gone");
    gone.fill(x, 1).unwrap();
    let filled = gone.marker();
    drop(gone);
    if let Stage::Over | Stage::Replaced = stage {
        dump::until(|| !ctx.diagnostics().state_dump().contains("`gone`"));
    }
    let innocent = matches!(stage, Stage::Replaced).then(|| ctx.queue("innocent"));
    if let Some(innocent) = &innocent {
        assert_eq!(slot(&filled), slot(&innocent.marker()), "the new queue has the old slot");
    }
    (filled, innocent)
}

fn slot(event: &Event) -> String {
    format!("{event:?}").split(',').next().expect("a slot").to_owned()
}

fn refused(queue: &CommandQueue, x: &mut DeviceArray<u32>) -> Error {
    queue.fill(x, 2).expect_err("no call has told the host that the fill is done")
}

fn hazard(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let mut texts = Vec::new();
    for stage in [Stage::Dropped, Stage::Over, Stage::Replaced] {
        let [by_event, by_all] = queues(&ctx, ["third", "third"]);
        let mut x = ctx.zeros([N]).unwrap();
        let (filled, _innocent) = drop_queue(&ctx, &mut x, stage);
        let error = refused(&by_event, &mut x);
        let ErrorDetail::Hazard { earlier, later, wait, gone, .. } = error.detail() else {
            panic!("{error}")
        };
        assert_eq!((&*earlier.queue, &*later.queue, *gone), ("gone", "third", true), "{stage:?}: {error}");
        assert_eq!(wait, "ctx.synchronize().wait()?");
        let help = error.to_string().lines().last().expect("four lines").to_owned();
        assert_eq!(
            help,
            "  help:    add `ctx.synchronize().wait()?` before the later use; queue `gone` has been dropped"
        );
        texts.push(error.to_string().lines().skip(1).collect::<Vec<_>>().join("\n"));
        // Both remedies order the fill: waiting for an event of the queue, and the call in the message.
        by_event.wait_for(&filled).unwrap();
        by_event.fill(&mut x, 3).unwrap();
        refused(&by_all, &mut x);
        ctx.synchronize().wait().unwrap();
        by_all.fill(&mut x, 4).unwrap();
        assert_eq!(by_all.read(&x).wait().unwrap(), [4; N]);
    }
    assert!(
        texts.iter().all(|text| *text == texts[0]),
        "the message depends on the progress of the device: {texts:#?}"
    );
}

/// Copies to the context on a queue of another context. The context does its part of the copy on an internal queue,
/// which may get the slot of the dropped queue. Waiting for that queue orders nothing after the dropped queue.
fn helper(s: &Subject) {
    for stage in [Stage::Dropped, Stage::Over] {
        let ctx = s.ctx_with(Policy::Checked);
        let elsewhere = Context::simulated(SimulatorOptions::default());
        let later = ctx.queue("later");
        let away = elsewhere.queue("away");
        let [mut x, mut y] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
        let source = elsewhere.full([N], 5_u32).unwrap();
        drop_queue(&ctx, &mut x, stage);
        away.copy(&source, &mut y).unwrap();
        later.fill(&mut y.slice(0..1).unwrap(), 6).unwrap(); // this fill waits for the copy
        let error = refused(&later, &mut x);
        assert!(matches!(error.detail(), ErrorDetail::Hazard { .. }), "{stage:?}: {error}");
        assert_eq!(later.read(&y).wait().unwrap()[..2], [6, 5]);
    }
}

fn report(s: &Subject) {
    let (ctx, other) = s.with_queue("other");
    let [mut x, mut unnamed] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
    let (_, innocent) = drop_queue(&ctx, &mut unnamed, Stage::Replaced);
    drop(innocent);
    dump::until(|| !ctx.diagnostics().state_dump().contains("`innocent`"));
    ctx.diagnostics().record_waits(true);
    let (filled, innocent) = drop_queue(&ctx, &mut x, Stage::Replaced);
    // The report has no name for a queue that was dropped before the recording.
    other.fill(&mut unnamed, 2).unwrap();
    other.fill(&mut x, 2).unwrap();
    other.wait_for(&filled).unwrap();
    innocent.expect("`innocent` has the slot").wait_for(&filled).unwrap();
    let report = ctx.diagnostics().wait_report();
    let mut earlier: Vec<&str> = report.added.iter().map(|wait| &*wait.earlier.queue).collect();
    earlier.sort_unstable();
    assert_eq!(earlier, ["(gone)", "gone"], "{report}");
    let mut redundant = waits_of(&report);
    redundant.sort_unstable();
    let ordered = Already::Ordered.to_string();
    assert_eq!(
        redundant,
        [("innocent", "(gone)", ordered.clone()), ("other", "(gone)", ordered)],
        "{report}"
    );
}

fn waits_of(report: &WaitReport) -> Vec<(&str, &str, String)> {
    let waits = report.redundant.iter();
    waits.map(|wait| (&*wait.queue, &*wait.waited_for, wait.already.to_string())).collect()
}

fn failure(s: &Subject) {
    let ctx = s.ctx();
    let elsewhere = Context::simulated(SimulatorOptions::default());
    let gone = ctx.queue("gone");
    let away = elsewhere.queue("away");
    gone.callback(|| std::panic::resume_unwind(Box::new("on purpose"))).unwrap();
    let end = gone.marker();
    drop(gone);
    dump::until(|| !ctx.diagnostics().state_dump().contains("`gone`"));
    let innocent = ctx.queue("innocent");
    assert_eq!(slot(&end), slot(&innocent.marker()), "the new queue has the old slot");
    away.wait_for(&end).unwrap();
    let error = away.finish().wait().unwrap_err();
    let ErrorDetail::OtherContext { object, error } = error.detail() else { panic!("{error}") };
    assert!(object.starts_with("queue `(gone)` on"), "{object}");
    assert!(
        matches!(error.detail(), ErrorDetail::CallbackPanicked { queue, .. } if queue == "gone"),
        "{error}"
    );
}

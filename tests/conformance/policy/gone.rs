//! P02, P06, E07: what is said of a queue that is gone while another queue has its slot.

use crate::common::{Case, Subject, case, dump};
use fencepost::{
    Already, CommandQueue, Context, CpuOptions, DeviceArray, Error, Event, Kind, Policy, WaitReport,
};

pub fn cases() -> Vec<Case> {
    vec![
        case("p02_a_hazard_names_the_queue_that_is_gone_and_a_call_that_helps", hazard),
        case("p02_the_answer_is_the_same_whichever_slot_a_copy_between_contexts_takes", helper),
        case("p06_the_waits_for_a_queue_that_is_gone_are_listed_by_its_name", report),
        case("e07_the_failure_of_a_queue_that_is_gone_names_no_other_queue", failure),
    ]
}

const N: usize = 64;

/// How far the queue is that is gone when another one uses its array.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Dropped,
    Over,
    Replaced,
}

/// Has queue `gone` fill the array, drops it, and makes queue `innocent` in its slot, if it is to come to that.
fn drop_queue(ctx: &Context, x: &mut DeviceArray<u32>, stage: Stage) -> (Event, Option<CommandQueue>) {
    let gone = ctx.queue("gone");
    gone.fill(x, 1).unwrap();
    let filled = gone.marker();
    drop(gone);
    if let Stage::Over | Stage::Replaced = stage {
        dump::until(|| !ctx.state_dump().contains("`gone`"));
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
    queue.fill(x, 2).expect_err("no call has said that the fill is done")
}

fn hazard(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let mut texts = Vec::new();
    for stage in [Stage::Dropped, Stage::Over, Stage::Replaced] {
        let (by_event, by_all) = (ctx.queue("third"), ctx.queue("third"));
        let mut x = ctx.zeros([N]).unwrap();
        let (filled, _innocent) = drop_queue(&ctx, &mut x, stage);
        let error = refused(&by_event, &mut x);
        let Kind::Hazard { earlier, later, wait, gone, .. } = error.kind() else { panic!("{error}") };
        assert_eq!((&*earlier.queue, &*later.queue, *gone), ("gone", "third", true), "{stage:?}: {error}");
        assert_eq!(wait, "ctx.synchronize().wait()?");
        let help = error.to_string().lines().last().expect("four lines").to_owned();
        assert_eq!(help, "  help:    add `ctx.synchronize().wait()?` before it; queue `gone` is gone");
        texts.push(error.to_string().lines().skip(1).collect::<Vec<_>>().join("\n"));
        // Both remedies: an event of the queue, and what the message says.
        by_event.wait_for(&filled).unwrap();
        by_event.fill(&mut x, 3).unwrap();
        refused(&by_all, &mut x);
        ctx.synchronize().wait().unwrap();
        by_all.fill(&mut x, 4).unwrap();
        assert_eq!(by_all.read(&x).wait().unwrap(), [4; N]);
    }
    assert!(texts.iter().all(|text| *text == texts[0]), "it depends on how far the device is: {texts:#?}");
}

/// The side of a copy that has no queue of the program's gets one of the context's own. Whoever waits for that one knows
/// nothing of queues that are gone.
fn helper(s: &Subject) {
    for stage in [Stage::Dropped, Stage::Over] {
        let (ctx, elsewhere) = (s.ctx_with(Policy::Checked), Context::on_cpu(CpuOptions::default()));
        let (later, away) = (ctx.queue("later"), elsewhere.queue("away"));
        let (mut x, mut y) = (ctx.zeros([N]).unwrap(), ctx.zeros([N]).unwrap());
        let source = elsewhere.full([N], 5_u32).unwrap();
        drop_queue(&ctx, &mut x, stage);
        away.copy(&source, &mut y).unwrap();
        later.fill(&mut y.slice(0..1).unwrap(), 6).unwrap(); // comes after the copy
        let error = refused(&later, &mut x);
        assert!(matches!(error.kind(), Kind::Hazard { .. }), "{stage:?}: {error}");
        assert_eq!(later.read(&y).wait().unwrap()[..2], [6, 5]);
    }
}

fn report(s: &Subject) {
    let ctx = s.ctx();
    let other = ctx.queue("other");
    let (mut x, mut unnamed) = (ctx.zeros([N]).unwrap(), ctx.zeros([N]).unwrap());
    let (_, innocent) = drop_queue(&ctx, &mut unnamed, Stage::Replaced);
    drop(innocent);
    dump::until(|| !ctx.state_dump().contains("`innocent`"));
    ctx.record_waits(true);
    let (filled, innocent) = drop_queue(&ctx, &mut x, Stage::Replaced);
    // Of a use from before the recording the name is not known any more.
    other.fill(&mut unnamed, 2).unwrap();
    other.fill(&mut x, 2).unwrap();
    other.wait_for(&filled).unwrap();
    innocent.expect("it has the slot").wait_for(&filled).unwrap();
    let report = ctx.wait_report();
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
    let (ctx, elsewhere) = (s.ctx(), Context::on_cpu(CpuOptions::default()));
    let (gone, away) = (ctx.queue("gone"), elsewhere.queue("away"));
    gone.callback(|| std::panic::resume_unwind(Box::new("on purpose"))).unwrap();
    let end = gone.marker();
    drop(gone);
    dump::until(|| !ctx.state_dump().contains("`gone`"));
    let innocent = ctx.queue("innocent");
    assert_eq!(slot(&end), slot(&innocent.marker()), "the new queue has the old slot");
    away.wait_for(&end).unwrap();
    let error = away.finish().wait().unwrap_err();
    let Kind::OtherContext { object, error } = error.kind() else { panic!("{error}") };
    assert!(object.starts_with("queue `(gone)` on"), "{object}");
    assert!(matches!(error.kind(), Kind::CallbackPanicked { queue } if queue == "gone"), "{error}");
}

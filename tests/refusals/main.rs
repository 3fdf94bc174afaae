//! Tests rule M10 on real drivers: if any call of the driver runs out of memory, the caller gets an error and
//! continues.
//!
//! Every action runs on a Vulkan device whose driver fails the first allocating call, then the second, and so on to the
//! last. `FENCEPOST_REFUSALS=all` also tries more failures that lose the device, and runs every action with and without
//! threads.
#![allow(unreachable_pub, reason = "modules of a test program")]

mod actions;
mod failing_device;

#[path = "../common/mod.rs"]
mod common;

use actions::Action;
use ash::vk;
use common::refusing::{Call, Rule, Seen, leaked_by_hal, not_tried};
use common::subject::{Place, Subject};
use common::{adapters, results, validation, watchdog};
use failing_device::FailingDevice;
use fencepost::{Context, Error, ErrorDetail, RecorderChoice};
use libtest_mimic::{Completion, Failed, Trial};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use std::time::Instant;

/// Time limit of a trial. A longer trial counts as a hang and fails.
const LIMIT: Duration = Duration::from_secs(60);

const RECORDERS: [RecorderChoice; 3] = [RecorderChoice::Wgpu, RecorderChoice::Hal, RecorderChoice::Direct];

fn main() {
    let places = adapters::find().places.into_iter().filter(|place| place.is_vulkan());
    let mut trials: Vec<Trial> = places.flat_map(|place| trials_on(&place)).collect();
    if trials.is_empty() {
        trials.push(none());
    }
    common::place_filter::run(trials).exit();
}

fn none() -> Trial {
    let name = "m10_a_call_without_memory_is_an_error";
    let reason = "no Vulkan adapter is among the chosen";
    Trial::ignorable_test(format!("{name}::no_vulkan"), move || {
        results::note(name, results::NOTHING, &results::Ended::NotPossible(reason));
        Ok(Completion::ignored_with(reason))
    })
}

/// Returns a trial for each recorder and action.
fn trials_on(place: &Arc<Place>) -> Vec<Trial> {
    let mut trials = Vec::new();
    for recorder in RECORDERS {
        for action in &actions::ALL {
            let name =
                format!("m10_{}_without_memory_are_an_error_and_the_context_stays_usable", action.name);
            trials.push(trial(place, recorder, name, |device| each_allocation(device, action)));
        }
        let name = "m10_a_failed_submission_is_a_device_loss_and_no_hang".to_owned();
        trials.push(trial(place, recorder, name, each_submission));
        let name = "d03_a_loss_at_any_fence_query_ends_every_wait".to_owned();
        trials.push(trial(place, recorder, name, each_look));
        let name = "m10_a_context_opens_or_returns_a_typed_error".to_owned();
        trials.push(trial(place, recorder, name, each_opening));
    }
    trials
}

fn trial(
    place: &Arc<Place>,
    recorder: RecorderChoice,
    name: String,
    run: impl FnOnce(&mut FailingDevice) + Send + 'static,
) -> Trial {
    let place = place.clone();
    let name = format!("{name}_{recorder:?}").to_lowercase();
    let id = format!("{name}::{}", place.name());
    Trial::ignorable_test(id.clone(), move || {
        if let Some(reason) = not_tried(recorder) {
            results::note(&name, place.on(), &results::Ended::NotPossible(reason));
            return Ok(Completion::ignored_with(reason));
        }
        let subject = Subject::new(place.clone());
        let run = move |subject: &Subject| run(&mut FailingDevice::new(subject, recorder));
        let watched = || {
            validation::forget();
            watchdog::guard(&id, LIMIT, &subject, run)?;
            validation::check_but(leaked_by_hal)
        };
        results::noted(&name, place.on(), watched).map_err(Failed::from)?;
        Ok(Completion::Completed)
    })
}

/// Returns both out-of-memory errors in turn.
fn short_of(n: u64) -> vk::Result {
    if n.is_multiple_of(2) {
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
    } else {
        vk::Result::ERROR_OUT_OF_HOST_MEMORY
    }
}

/// Runs an action once for each allocating call, and fails that call. The runs alternate between contexts with
/// and without threads.
fn each_allocation(device: &mut FailingDevice, action: &Action) {
    let turns = if everything() { 2 } else { 1 };
    // If wgpu runs out of memory, the device is usually lost, and opening another takes time.
    let step = if device.by_wgpu() && !everything() { 4 } else { 1 };
    for turn in 0..turns {
        let mut n = 0;
        let mut spared = 0;
        while spared < 2 {
            let threads = (n + turn) % 2 == 1;
            let refused = refused_at(device, action, threads, Rule::Nth(n, short_of(n / 2)));
            if refused == Some(Call::AllocateMemory) {
                // wgpu-hal reports one of the two errors as a loss.
                refused_at(device, action, threads, Rule::Nth(n, short_of(n / 2 + 1)));
            }
            spared = if refused.is_some() { 0 } else { spared + 1 }; // with threads, there may be fewer calls
            n += step;
        }
        assert!(n > 3, "{n} calls for memory");
    }
}

/// Returns `true` if `FENCEPOST_REFUSALS=all` asks for the long run.
fn everything() -> bool {
    std::env::var("FENCEPOST_REFUSALS").is_ok_and(|value| value == "all")
}

/// Returns the actions for failures that lose the device each time, and the number of calls to fail in each.
fn costly() -> (impl Iterator<Item = &'static Action>, u64) {
    let (each, calls) = if everything() { (1, 8) } else { (4, 2) };
    (actions::ALL.iter().step_by(each), calls)
}

/// Runs the action under the rule, then again without it. Returns the call that failed.
fn refused_at(device: &mut FailingDevice, action: &Action, threads: bool, rule: Rule) -> Option<Call> {
    let what = format!("{} with threads {threads} under {rule:?}", action.name);
    let ctx = device.context(threads).expect("a context");
    let (outcome, seen) = device.under(rule, || (action.run)(&ctx));
    match &outcome {
        Ok(()) => {}
        Err(error) => check(device, &ctx, error, &seen, action, &what),
    }
    if lost(&ctx) {
        drop(ctx);
        device.renew();
    } else {
        works_on(&ctx, action, &what);
    }
    seen.refused.first().map(|&(call, _)| call)
}

/// Checks that this failure may cause the error.
fn check(device: &FailingDevice, ctx: &Context, error: &Error, seen: &Seen, action: &Action, what: &str) {
    let last = seen.refused.last();
    let right = match error.detail() {
        ErrorDetail::OutOfMemory { object, .. } => !object.is_empty(),
        // wgpu loses the device if it has no memory for one of its own objects, except for a buffer.
        ErrorDetail::DeviceLost { .. } if last.is_some_and(|(call, _)| *call == Call::CreateBuffer) => false,
        ErrorDetail::DeviceLost { .. } => device.by_wgpu() || action.by_wgpu || submitted(seen),
        ErrorDetail::OtherContext { error, .. } => return check(device, ctx, error, seen, action, what),
        ErrorDetail::GraphNode { error, .. } => return check(device, ctx, error, seen, action, what),
        _ => false,
    };
    assert!(right && last.is_some(), "{what}: {last:?} gives: {error}\n{}", ctx.diagnostics().state_dump());
}

/// Returns `true` if the failed call was a submission or a fence query.
fn submitted(seen: &Seen) -> bool {
    seen.refused.iter().any(|(call, _)| !call.allocates())
}

/// Returns `true` if the device of a context is lost. The call submits work, because the loss is reported only then.
fn lost(ctx: &Context) -> bool {
    ctx.take_error();
    let queue = ctx.queue("looks");
    let read = queue.full([3], 7_u32).and_then(|x| queue.read(&x).wait());
    match read {
        Ok(found) => found != [7; 3],
        Err(error) if matches!(error.detail(), ErrorDetail::DeviceLost { .. }) => true,
        Err(error) => {
            panic!("the device is neither lost nor usable: {error}\n{}", ctx.diagnostics().state_dump())
        }
    }
}

/// Checks that the action succeeds the second time, and that both runs retain no memory.
fn works_on(ctx: &Context, action: &Action, what: &str) {
    ctx.take_error();
    let again = (action.run)(ctx);
    assert!(again.is_ok(), "{what}, then again: {}", again.unwrap_err());
    ctx.synchronize().wait().expect("it works");
    let left = || {
        ctx.pool().trim();
        let stats = ctx.pool().stats();
        [stats.used, stats.free, stats.pinned, stats.arrays, stats.blocks]
    };
    // A batch releases its memory a moment after it has reported its completion.
    let patience = Instant::now() + Duration::from_secs(20);
    while left() != [0; 5] && Instant::now() < patience {
        thread::yield_now();
    }
    assert_eq!(left(), [0; 5], "{what}: memory is retained\n{}", ctx.diagnostics().state_dump());
}

/// Checks that every call after a loss reports it, and that a new context works.
fn gone(device: &mut FailingDevice, ctx: Context, what: &str) {
    let says_so = |result: Result<(), Error>| {
        result.is_err_and(|e| matches!(e.detail(), ErrorDetail::DeviceLost { .. }))
    };
    let queue = ctx.queue("late");
    assert!(says_so(queue.finish().wait()), "{what}: finish");
    assert!(says_so(queue.flush()), "{what}: flush");
    assert!(says_so(ctx.zeros::<u32, 1>([1]).map(drop)), "{what}: zeros");
    drop((queue, ctx));
    device.renew();
    let fresh = device.context(true).expect("a context");
    let queue = fresh.queue("fresh");
    let read = queue.read(&queue.full([3], 7_u32).expect("an array")).wait();
    assert_eq!(read.expect("its elements"), [7; 3]);
}

/// Returns `true` if the rule caused a loss, after checking the loss.
fn loses(device: &mut FailingDevice, action: &Action, threads: bool, rule: Rule) -> bool {
    let what = format!("{} with threads {threads} under {rule:?}", action.name);
    let ctx = device.context(threads).expect("a context");
    let (outcome, seen) = device.under(rule, || (action.run)(&ctx));
    if seen.refused.is_empty() {
        outcome.expect("nothing was refused");
        return false;
    }
    if let Err(error) = &outcome {
        check(device, &ctx, error, &seen, action, &what);
    }
    assert!(lost(&ctx), "{what}: the context is still usable\n{}", ctx.diagnostics().state_dump());
    gone(device, ctx, &what);
    true
}

fn each_submission(device: &mut FailingDevice) {
    let memory = [vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, vk::Result::ERROR_OUT_OF_HOST_MEMORY];
    let (actions, calls) = costly();
    for action in actions {
        for error in memory.into_iter().chain([vk::Result::ERROR_DEVICE_LOST]) {
            let threads = error == memory[0];
            let mut n = 0;
            while n < calls && loses(device, action, threads, Rule::Submission(n, error)) {
                n += 1;
            }
        }
    }
}

fn each_look(device: &mut FailingDevice) {
    let (actions, calls) = costly();
    for action in actions {
        for threads in [false, true] {
            let mut n = 0;
            while n < calls && loses(device, action, threads, Rule::Look(n)) {
                n += 1;
            }
        }
    }
}

/// Opens a context once for each allocating call, and fails that call.
fn each_opening(device: &mut FailingDevice) {
    let opened = |device: &FailingDevice, n| device.under(Rule::Nth(n, short_of(n)), || device.context(true));
    for n in 0.. {
        let (ctx, seen) = opened(device, n);
        match ctx {
            Ok(ctx) if lost(&ctx) => device.renew(),
            Ok(ctx) => works_on(&ctx, &actions::ALL[1], &format!("opened under {n}")),
            Err(error) => {
                let right =
                    matches!(error.detail(), ErrorDetail::OutOfMemory { .. } | ErrorDetail::Device { .. });
                assert!(right, "{:?} gives: {error}", seen.refused);
            }
        }
        if seen.refused.is_empty() {
            break;
        }
    }
}

//! Rule M10 on real drivers: whatever call of the driver finds no memory, the program gets an error and goes on.
//!
//! Every deed is done on a Vulkan device whose driver refuses its first call for memory, then its second, and so on to the
//! last. `FENCEPOST_REFUSALS=all` tries more of what costs a device each time, and everything with and without threads.
#![allow(unreachable_pub, reason = "modules of a test program")]

mod bed;
mod deeds;

#[path = "../common/mod.rs"]
mod common;

use ash::vk;
use bed::Bed;
use common::refusing::{Call, Rule, Seen, leaked_by_hal, not_tried};
use common::subject::{Place, Subject};
use common::{adapters, results, validation, watchdog};
use deeds::Deed;
use fencepost::{Context, Error, Kind, RecorderChoice};
use libtest_mimic::{Completion, Failed, Trial};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use std::time::Instant;

/// A hang is a failure after this long.
const LIMIT: Duration = Duration::from_secs(60);

const RECORDERS: [RecorderChoice; 3] = [RecorderChoice::Wgpu, RecorderChoice::Hal, RecorderChoice::Direct];

fn main() {
    let places = adapters::find().places.into_iter().filter(|place| place.is_vulkan());
    let mut trials: Vec<Trial> = places.flat_map(|place| trials_on(&place)).collect();
    if trials.is_empty() {
        trials.push(none());
    }
    common::one_place::run(trials).exit();
}

fn none() -> Trial {
    let (name, reason) = ("m10_a_call_without_memory_is_an_error", "no Vulkan adapter is among the chosen");
    Trial::ignorable_test(format!("{name}::no_vulkan"), move || {
        results::note(name, results::NOTHING, &results::Ended::NotPossible(reason));
        Ok(Completion::ignored_with(reason))
    })
}

/// A trial for each recorder and deed.
fn trials_on(place: &Arc<Place>) -> Vec<Trial> {
    let mut trials = Vec::new();
    for recorder in RECORDERS {
        for deed in &deeds::ALL {
            let name = format!("m10_{}_without_memory_are_an_error_and_the_context_works_on", deed.name);
            trials.push(trial(place, recorder, name, |bed| each_allocation(bed, deed)));
        }
        let name = "m10_a_submission_that_the_driver_refuses_is_a_loss_and_no_hang".to_owned();
        trials.push(trial(place, recorder, name, each_submission));
        let name = "d03_a_loss_at_any_look_at_the_fence_ends_every_wait".to_owned();
        trials.push(trial(place, recorder, name, each_look));
        let name = "m10_a_context_is_opened_or_says_what_there_is_no_memory_for".to_owned();
        trials.push(trial(place, recorder, name, each_opening));
    }
    trials
}

fn trial(
    place: &Arc<Place>,
    recorder: RecorderChoice,
    name: String,
    run: impl FnOnce(&mut Bed) + Send + 'static,
) -> Trial {
    let (place, name) = (place.clone(), format!("{name}_{recorder:?}").to_lowercase());
    let id = format!("{name}::{}", place.name());
    Trial::ignorable_test(id.clone(), move || {
        if let Some(reason) = not_tried(recorder) {
            results::note(&name, place.on(), &results::Ended::NotPossible(reason));
            return Ok(Completion::ignored_with(reason));
        }
        let subject = Subject::new(place.clone());
        let run = move |subject: &Subject| run(&mut Bed::new(subject, recorder));
        let watched = || {
            validation::forget();
            watchdog::guard(&id, LIMIT, &subject, run)?;
            validation::check_but(leaked_by_hal)
        };
        results::noted(&name, place.on(), watched).map_err(Failed::from)?;
        Ok(Completion::Completed)
    })
}

/// Both errors by turns.
fn short_of(n: u64) -> vk::Result {
    if n.is_multiple_of(2) {
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
    } else {
        vk::Result::ERROR_OUT_OF_HOST_MEMORY
    }
}

/// Does a deed with each allocating call refused, by turns with and without threads.
fn each_allocation(bed: &mut Bed, deed: &Deed) {
    let turns = if everything() { 2 } else { 1 };
    // Where wgpu finds no memory that costs a device most times.
    let step = if bed.by_wgpu() && !everything() { 4 } else { 1 };
    for turn in 0..turns {
        let (mut n, mut spared) = (0, 0);
        while spared < 2 {
            let threads = (n + turn) % 2 == 1;
            let refused = refused_at(bed, deed, threads, Rule::Nth(n, short_of(n / 2)));
            if refused == Some(Call::AllocateMemory) {
                refused_at(bed, deed, threads, Rule::Nth(n, short_of(n / 2 + 1))); // wgpu-hal takes one for a loss
            }
            spared = if refused.is_some() { 0 } else { spared + 1 }; // with threads there may be fewer calls
            n += step;
        }
        assert!(n > 3, "{n} calls for memory");
    }
}

/// Whether time does not matter: `FENCEPOST_REFUSALS=all`.
fn everything() -> bool {
    std::env::var("FENCEPOST_REFUSALS").is_ok_and(|value| value == "all")
}

/// The deeds for a refusal that costs a device each time, and so many of their calls.
fn costly() -> (impl Iterator<Item = &'static Deed>, u64) {
    let (each, calls) = if everything() { (1, 8) } else { (4, 2) };
    (deeds::ALL.iter().step_by(each), calls)
}

/// Does the deed under the rule, and then again; what was refused.
fn refused_at(bed: &mut Bed, deed: &Deed, threads: bool, rule: Rule) -> Option<Call> {
    let what = format!("{} with threads {threads} under {rule:?}", deed.name);
    let ctx = bed.context(threads).expect("a context");
    let (outcome, seen) = bed.under(rule, || (deed.run)(&ctx));
    match &outcome {
        Ok(()) => {}
        Err(error) => check(bed, &ctx, error, &seen, deed, &what),
    }
    if lost(&ctx) {
        drop(ctx);
        bed.renew();
    } else {
        works_on(&ctx, deed, &what);
    }
    seen.refused.first().map(|&(call, _)| call)
}

/// Whether the error is one that this refusal may give.
fn check(bed: &Bed, ctx: &Context, error: &Error, seen: &Seen, deed: &Deed, what: &str) {
    let last = seen.refused.last();
    let right = match error.kind() {
        Kind::OutOfMemory { object, .. } => !object.is_empty(),
        // wgpu gives a device up when it finds no memory for most of its own; buffers are what it can do without.
        Kind::DeviceLost { .. } if last.is_some_and(|(call, _)| *call == Call::CreateBuffer) => false,
        Kind::DeviceLost { .. } => bed.by_wgpu() || deed.by_wgpu || submitted(seen),
        Kind::OtherContext { error, .. } => return check(bed, ctx, error, seen, deed, what),
        _ => false,
    };
    assert!(right && last.is_some(), "{what}: {last:?} gives: {error}\n{}", ctx.state_dump());
}

/// Whether it was a submission that was refused, or a look at a fence.
fn submitted(seen: &Seen) -> bool {
    seen.refused.iter().any(|(call, _)| !call.allocates())
}

/// Whether the device of a context is gone, as it says itself when there is work to do.
fn lost(ctx: &Context) -> bool {
    ctx.take_error();
    let queue = ctx.queue("looks");
    let read = queue.full([3], 7_u32).and_then(|x| queue.read(&x).wait());
    match read {
        Ok(found) => found != [7; 3],
        Err(error) if matches!(error.kind(), Kind::DeviceLost { .. }) => true,
        Err(error) => panic!("neither lost nor working: {error}\n{}", ctx.state_dump()),
    }
}

/// The deed is right the second time, and nothing is left of both.
fn works_on(ctx: &Context, deed: &Deed, what: &str) {
    ctx.take_error();
    let again = (deed.run)(ctx);
    assert!(again.is_ok(), "{what}, then again: {}", again.unwrap_err());
    ctx.synchronize().wait().expect("it works");
    let left = || {
        ctx.trim();
        let stats = ctx.pool_stats();
        [stats.used, stats.free, stats.pinned, stats.arrays, stats.blocks]
    };
    // A batch lets go of its memory a moment after it has told that it is done.
    let patience = Instant::now() + Duration::from_secs(20);
    while left() != [0; 5] && Instant::now() < patience {
        thread::yield_now();
    }
    assert_eq!(left(), [0; 5], "{what}: this is left over\n{}", ctx.state_dump());
}

/// After a loss every call says so, and a new context works.
fn gone(bed: &mut Bed, ctx: Context, what: &str) {
    let says_so =
        |result: Result<(), Error>| result.is_err_and(|e| matches!(e.kind(), Kind::DeviceLost { .. }));
    let queue = ctx.queue("late");
    assert!(says_so(queue.finish().wait()), "{what}: finish");
    assert!(says_so(queue.flush()), "{what}: flush");
    assert!(says_so(ctx.zeros::<u32, 1>([1]).map(drop)), "{what}: zeros");
    drop((queue, ctx));
    bed.renew();
    let fresh = bed.context(true).expect("a context");
    let queue = fresh.queue("fresh");
    let read = queue.read(&queue.full([3], 7_u32).expect("an array")).wait();
    assert_eq!(read.expect("its elements"), [7; 3]);
}

/// Whether a loss came of the rule; then checks it.
fn loses(bed: &mut Bed, deed: &Deed, threads: bool, rule: Rule) -> bool {
    let what = format!("{} with threads {threads} under {rule:?}", deed.name);
    let ctx = bed.context(threads).expect("a context");
    let (outcome, seen) = bed.under(rule, || (deed.run)(&ctx));
    if seen.refused.is_empty() {
        outcome.expect("nothing was refused");
        return false;
    }
    outcome.err().into_iter().for_each(|error| check(bed, &ctx, &error, &seen, deed, &what));
    assert!(lost(&ctx), "{what}: the context works on\n{}", ctx.state_dump());
    gone(bed, ctx, &what);
    true
}

fn each_submission(bed: &mut Bed) {
    let memory = [vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, vk::Result::ERROR_OUT_OF_HOST_MEMORY];
    let (deeds, calls) = costly();
    for deed in deeds {
        for error in memory.into_iter().chain([vk::Result::ERROR_DEVICE_LOST]) {
            let threads = error == memory[0];
            let mut n = 0;
            while n < calls && loses(bed, deed, threads, Rule::Submission(n, error)) {
                n += 1;
            }
        }
    }
}

fn each_look(bed: &mut Bed) {
    let (deeds, calls) = costly();
    for deed in deeds {
        for threads in [false, true] {
            let mut n = 0;
            while n < calls && loses(bed, deed, threads, Rule::Look(n)) {
                n += 1;
            }
        }
    }
}

/// Opens a context with each allocating call refused.
fn each_opening(bed: &mut Bed) {
    let opened = |bed: &Bed, n| bed.under(Rule::Nth(n, short_of(n)), || bed.context(true));
    for n in 0.. {
        let (ctx, seen) = opened(bed, n);
        match ctx {
            Ok(ctx) if lost(&ctx) => bed.renew(),
            Ok(ctx) => works_on(&ctx, &deeds::ALL[1], &format!("opened under {n}")),
            Err(error) => {
                let right = matches!(error.kind(), Kind::OutOfMemory { .. } | Kind::Device { .. });
                assert!(right, "{:?} gives: {error}", seen.refused);
            }
        }
        if seen.refused.is_empty() {
            break;
        }
    }
}

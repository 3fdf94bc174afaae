//! Reads the state dump of a context: its lanes and its queues.

use crate::common::thread;
use fencepost::{CommandQueue, Context};
use std::time::Duration;

/// Returns the number of submissions that the lanes of a context have made.
pub fn submitted(ctx: &Context) -> u64 {
    of_lanes(&ctx.diagnostics().state_dump(), "submitted")
}

/// Returns the number of submissions whose completion the context has observed.
pub fn completed(ctx: &Context) -> u64 {
    of_lanes(&ctx.diagnostics().state_dump(), "completed")
}

/// Returns `true` if the next command of a queue waits for the host. The call plans the queue first, so that the answer
/// does not depend on time.
pub fn holds(ctx: &Context, queue: &CommandQueue) -> bool {
    let waiting =
        queue.marker().done().wait_timeout(Duration::ZERO).expect("work that has not failed").is_none();
    waiting && is_held(ctx, &queue.options().label)
}

/// Returns `true` if a queue waits for the host. Commands after the wait are neither planned nor submitted. First call
/// a wait for work of the queue, which plans the queue even with a timeout of zero.
pub fn is_held(ctx: &Context, label: &str) -> bool {
    of_queue(&ctx.diagnostics().state_dump(), label).is_some_and(|line| line.contains(", held: "))
}

/// Returns when a queue is done or has failed. The threads of the context make progress and observe the completion;
/// this call only reads the dump.
pub fn until_done(ctx: &Context, label: &str) {
    until(|| of_queue(&ctx.diagnostics().state_dump(), label).is_none_or(|line| is_done(&line)));
}

/// Polls a condition until it holds.
pub fn until(holds: impl Fn() -> bool) {
    while !holds() {
        thread::yield_now();
    }
}

/// Returns the number of commands of a queue that are not planned yet.
pub fn pending(ctx: &Context, label: &str) -> u64 {
    let line = of_queue(&ctx.diagnostics().state_dump(), label).expect("a queue of this label");
    let before = line.split_once(" pending").expect("a queue has a count").0;
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).expect("a number")
}

/// Returns the stamp of the last command of a queue, as the state dump shows it.
pub fn enqueued(ctx: &Context, label: &str) -> u64 {
    let line = of_queue(&ctx.diagnostics().state_dump(), label).expect("a queue of this label");
    let counts = line.split_once("completed ").expect("a queue has a count").1;
    let last = counts.split([' ', ',']).nth(2);
    last.and_then(|number| number.parse().ok()).expect("a number")
}

/// Returns the number of commands that each queue has enqueued so far, from the state dump.
pub fn account(ctx: &Context) -> Vec<String> {
    let enqueued = |line: &str| Some(line.split(" of ").nth(1)?.split(',').next()?.to_owned());
    ctx.diagnostics()
        .state_dump()
        .lines()
        .filter(|line| line.starts_with("queue "))
        .filter_map(enqueued)
        .collect()
}

/// Returns `true` if every enqueued command is planned.
pub fn is_planned(ctx: &Context) -> bool {
    ctx.diagnostics()
        .state_dump()
        .lines()
        .filter(|line| line.starts_with("queue "))
        .all(|line| line.contains(", 0 pending"))
}

/// Returns `true` if the context has observed that a queue is done. The call does not poll the device.
pub fn has_noticed_the_end(ctx: &Context, label: &str) -> bool {
    of_queue(&ctx.diagnostics().state_dump(), label).is_some_and(|line| is_done(&line))
}

fn is_done(line: &str) -> bool {
    let words: Vec<&str> = line.split([' ', ',']).collect();
    let at = words.iter().position(|word| *word == "completed").expect("a queue has a count");
    words[at + 1] == words[at + 3] && line.contains(", 0 pending")
}

fn of_queue(dump: &str, label: &str) -> Option<String> {
    let name = format!(" `{label}`: ");
    dump.lines().find(|line| line.starts_with("queue ") && line.contains(&name)).map(str::to_owned)
}

/// Returns the sum of a number over all lanes.
fn of_lanes(dump: &str, name: &str) -> u64 {
    let number = |line: &str| {
        let rest = line.split_once(name).expect("a lane has the number").1.trim_start();
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
        digits.and_then(|digits| digits.parse::<u64>().ok()).expect("a number")
    };
    dump.lines().filter(|line| line.starts_with("lane ")).map(number).sum()
}

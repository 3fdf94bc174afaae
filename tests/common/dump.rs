//! What the state dump of a context says about its lanes and queues.

use fencepost::{CommandQueue, Context};
use std::thread;
use std::time::Duration;

/// How many submissions the lanes of a context have made.
pub fn submitted(ctx: &Context) -> u64 {
    of_lanes(&ctx.state_dump(), "submitted")
}

/// How many submissions a context has noticed the end of.
pub fn completed(ctx: &Context) -> u64 {
    of_lanes(&ctx.state_dump(), "completed")
}

/// Whether what comes next on a queue waits for the host. The queue is planned here and now, so that the answer does not
/// depend on the time.
pub fn holds(ctx: &Context, queue: &CommandQueue) -> bool {
    let waiting =
        queue.marker().done().wait_timeout(Duration::ZERO).expect("work that has not failed").is_none();
    waiting && is_held(ctx, queue.label())
}

/// Whether a queue waits for the host: what is behind the wait is neither planned nor submitted. A wait for work of the
/// queue, even one of no time, has planned it before.
pub fn is_held(ctx: &Context, label: &str) -> bool {
    of_queue(&ctx.state_dump(), label).is_some_and(|line| line.contains(", held: "))
}

/// Returns when a queue is done, or has ended. The threads of the context do the work and notice its end: the program
/// is told nothing.
pub fn until_done(ctx: &Context, label: &str) {
    until(|| of_queue(&ctx.state_dump(), label).is_none_or(|line| is_done(&line)));
}

/// Looks again and again until something holds.
pub fn until(holds: impl Fn() -> bool) {
    while !holds() {
        thread::yield_now();
    }
}

/// How many commands of a queue nothing has planned yet.
pub fn pending(ctx: &Context, label: &str) -> u64 {
    let line = of_queue(&ctx.state_dump(), label).expect("a queue of this label");
    let before = line.split_once(" pending").expect("a queue has a count").0;
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).expect("a number")
}

/// Whether everything enqueued is planned.
pub fn is_planned(ctx: &Context) -> bool {
    ctx.state_dump()
        .lines()
        .filter(|line| line.starts_with("queue "))
        .all(|line| line.contains(", 0 pending"))
}

/// Whether a queue is done, as far as the context has noticed; asks the device nothing.
pub fn has_noticed_the_end(ctx: &Context, label: &str) -> bool {
    of_queue(&ctx.state_dump(), label).is_some_and(|line| is_done(&line))
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

/// The sum of a number over all lanes.
fn of_lanes(dump: &str, name: &str) -> u64 {
    let number = |line: &str| {
        let rest = line.split_once(name).expect("a lane has the number").1.trim_start();
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
        digits.and_then(|digits| digits.parse::<u64>().ok()).expect("a number")
    };
    dump.lines().filter(|line| line.starts_with("lane ")).map(number).sum()
}

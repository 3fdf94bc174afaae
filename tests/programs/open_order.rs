//! Tests rule R02: the CPU recorder runs unordered work in any order, so that a missing wait is detected.

use fencepost::{Context, Policy, Result, SimulatorOptions};
use std::collections::BTreeSet;

const QUEUES: u32 = 4;
const SEEDS: u64 = 200;

/// Checks that for each queue there is a seed for which it comes last, and that the commands of each queue stay in
/// order.
pub fn run() -> std::result::Result<(), String> {
    let seen: Result<BTreeSet<u32>> = (0..SEEDS).map(last_word).collect();
    let seen = seen.map_err(|error| error.to_string())?;
    let all = (1..=QUEUES).collect();
    if seen == all {
        Ok(())
    } else {
        Err(format!("in {SEEDS} seeds the last words are {seen:?}, not {all:?}"))
    }
}

/// Makes several queues write one array without any order between them. Returns the value that the last queue wrote.
fn last_word(seed: u64) -> Result<u32> {
    let options = SimulatorOptions::default().seed(seed).threads(false);
    let ctx = Context::simulated(options.policy(Policy::Unchecked));
    let queues: Vec<_> = (1..=QUEUES).map(|word| (word, ctx.queue(&format!("queue {word}")))).collect();
    let mut x = ctx.zeros::<u32, 1>([1])?;
    for (word, queue) in &queues {
        queue.fill(&mut x, 100 * word)?;
        queue.fill(&mut x, *word)?;
    }
    ctx.flush()?;
    ctx.synchronize().wait()?;
    Ok(ctx.current_queue().read(&x).wait()?[0])
}

//! Rule R02: what the calls leave open really happens in any order on the CPU recorder, so that a missing wait shows.

use fencepost::{Context, CpuOptions, Policy, Result};
use std::collections::BTreeSet;

const QUEUES: u32 = 4;
const SEEDS: u64 = 200;

/// With every queue some seed has it come last, and each queue's own commands stay in order.
pub fn run() -> std::result::Result<(), String> {
    let seen: Result<BTreeSet<u32>> = (0..SEEDS).map(last_word).collect();
    let (seen, all) = (seen.map_err(|error| error.to_string())?, (1..=QUEUES).collect());
    if seen == all {
        Ok(())
    } else {
        Err(format!("in {SEEDS} seeds the last words are {seen:?}, not {all:?}"))
    }
}

/// Queues write one array with nothing to order them: what the last of them has left there.
fn last_word(seed: u64) -> Result<u32> {
    let options = CpuOptions { seed, threads: false, ..CpuOptions::default() };
    let ctx = Context::on_cpu_with(options, Policy::Unchecked);
    let queues: Vec<_> = (1..=QUEUES).map(|word| (word, ctx.queue(&format!("queue {word}")))).collect();
    let mut x = ctx.zeros::<u32, 1>([1])?;
    for (word, queue) in &queues {
        queue.fill(&mut x, 100 * word)?;
        queue.fill(&mut x, *word)?;
    }
    ctx.flush()?;
    ctx.synchronize().wait()?;
    Ok(ctx.read(&x).wait()?[0])
}

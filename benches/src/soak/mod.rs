//! Runs a pipeline of two queues for a long time. Blocks of random sizes are uploaded, computed and read, while arrays,
//! results and futures are dropped and waits given up at random. Every block is checked, and memory must stay flat.

mod memory;
mod options;
mod pipeline;
mod summary;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use fencepost::{Context, ContextOptions, Policy, SimulatorOptions};
use indicatif::{ProgressBar, ProgressStyle};

use memory::Memory;
pub use options::Options;
use pipeline::Pipeline;
pub use summary::Summary;

/// Blocks between two measurements of the memory.
const LOOK: u64 = 64;
/// Share of the time, and number of blocks, after which memory must stay flat.
const WARM_UP: (f64, u64) = (0.2, 2000);

/// Runs the pipeline for the time in the options.
///
/// # Errors
/// Fails if a block is wrong, with its number and the seed, if memory exceeds its bound, or if a call fails. The policy
/// is `Checked`, so a missing wait is an error too.
pub fn run(options: &Options) -> Result<Summary> {
    let ctx = open(options)?;
    let start = Instant::now();
    let length = Duration::from_secs_f64(60.0 * options.minutes);
    let bar = bar(length);
    let mut pipeline = Pipeline::new(&ctx, options.seed)?;
    let mut memory = Memory::default();
    while start.elapsed() < length {
        for _ in 0..LOOK {
            pipeline.turn()?;
        }
        let past = start.elapsed().as_secs_f64() / length.as_secs_f64();
        memory.look(&ctx, past >= WARM_UP.0 && pipeline.blocks() >= WARM_UP.1);
        bar.set_position(start.elapsed().as_secs());
    }
    let counts = pipeline.end()?;
    bar.finish_and_clear();
    let summary = Summary {
        adapter: ctx.info().to_string(),
        seed: options.seed,
        seconds: start.elapsed().as_secs_f64(),
        counts,
        memory,
    };
    match summary.memory.over() {
        Some(over) => bail!("{over}\n{summary}"),
        None => Ok(summary),
    }
}

fn open(options: &Options) -> Result<Context> {
    let policy = Policy::Checked;
    if options.cpu {
        let cpu = SimulatorOptions::default().seed(options.seed).lanes(2);
        return Ok(Context::simulated(cpu.policy(policy)));
    }
    let adapter = options.adapter.parse().unwrap_or_default();
    Ok(Context::with_options(ContextOptions::default().adapter(adapter).policy(policy)).wait()?)
}

/// Shows a bar over the seconds, on a terminal only.
fn bar(length: Duration) -> ProgressBar {
    let style = ProgressStyle::with_template("soak {wide_bar} {pos}/{len} s");
    ProgressBar::new(length.as_secs()).with_style(style.expect("bug: the template is valid"))
}

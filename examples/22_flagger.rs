//! 22. Flags radio interference in the dumps of a correlator: uploads overlap a graph of verbs that flags a dump.
//!
//! Run `cargo run --release --example 22_flagger`. `-- --dumps 100 --baselines 512` takes more data.

#[path = "flagger/plain.rs"]
mod plain;
#[path = "flagger/slot.rs"]
mod slot;
#[path = "common/trace.rs"]
mod trace;

use anyhow::Result;
use clap::{Parser, value_parser};
use fencepost::prelude::*;
use plain::{CHANNELS, SIGMAS, WIDTH};
use slot::Slot;
use std::path::PathBuf;
use std::time::Instant;

/// Flags radio interference on the device.
#[derive(Parser)]
#[command(after_help = HELP)]
struct Options {
    /// The number of dumps
    #[arg(long, default_value_t = 24, value_parser = value_parser!(u32).range(2..))]
    dumps: u32,
    /// The number of baselines, each with 1024 channels
    #[arg(long, default_value_t = 128, value_parser = value_parser!(u32).range(1..=10_000))]
    baselines: u32,
    /// Write what every queue did, and when, to a `.html` timeline or a `.json` trace for Perfetto
    #[arg(long, value_name = "FILE", value_parser = trace::file)]
    trace: Option<PathBuf>,
}

const HELP: &str = "Examples:
  cargo run --release --example 22_flagger
  cargo run --release --example 22_flagger -- --dumps 100 --baselines 512
  FENCEPOST_ADAPTER=cpu cargo run --release --example 22_flagger";

/// Seconds between two dumps of the correlator.
const PERIOD: f64 = 0.5;

/// Deviation of an amplitude from its background: 0 where the channel is flagged before, or where there is no number.
const DEVIATION: &str = "select(x - m, 0.0, f != 0u || (bitcast<u32>(x - m) & 0x7fffffffu) > 0x7f800000u)";
/// Bits of the magnitude of a deviation, or of a NaN, which a median leaves out, for 0.
const MAGNITUDE: &str = "select(bitcast<u32>(abs(x)), 0x7fc00000u, x == 0.0)";

/// Enqueues the flags of one dump. In a capture, the arrays in between belong to the graph.
fn flag(
    queue: &CommandQueue,
    vis: &DeviceArray<[f32; 2], 2>,
    known: &DeviceArray<u32, 2>,
    flags: &mut DeviceArray<u32, 2>,
) -> fencepost::Result<()> {
    let [mut amplitudes, mut background] = [queue.empty::<f32, 2>(vis)?, queue.empty(vis)?];
    let [mut deviations, magnitudes] = [queue.empty(vis)?, queue.empty::<f32, 2>(vis)?];
    let mut noise = queue.empty::<f32, 2>([1, vis.shape()[1]])?;
    // The squares of the parts must be numbers, so amplitudes are from about 1e-15 to 1e19.
    queue.map(args![v = vis], "length(v)", &mut amplitudes)?;
    queue.rolling(&amplitudes, &mut background, Rolling::median([WIDTH, 1]).skip_nan().without(known))?;
    queue.map(args![x = &amplitudes, m = &background, f = known], DEVIATION, &mut deviations)?;
    queue.map(args![x = &deviations], MAGNITUDE, &mut magnitudes.cast_bits::<u32>())?;
    queue.median(magnitudes.axis(0).skip_nan(), &mut noise)?;
    queue.map_in_place(args![x = &mut noise], "1.4826 * x")?;
    queue.sum_threshold(&deviations, &noise, flags, SumThreshold::along(0, SIGMAS))
}

fn main() -> Result<()> {
    let Options { dumps, baselines, trace } = Options::parse();
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let [copy, compute] = [ctx.queue("copy"), ctx.queue("compute")];
    let known = ctx.array(&plain::known())?.reshape([CHANNELS, 1])?;
    let observed = plain::observed(baselines as usize);
    let slot = || Slot::new(&ctx, &compute, &known, baselines as usize);
    let mut slots = [slot()?, slot()?];

    let start = Instant::now();
    let mut pending: Vec<Pending<Vec<u32>>> = Vec::new();
    let mut found = Vec::new();
    for dump in 0..dumps as usize {
        if pending.len() == slots.len() {
            found.push(pending.remove(0).wait()?);
        }
        let slot = &mut slots[dump % 2];
        slot.staging.host_mut()?.copy_from_slice(&observed[dump % observed.len()]);
        copy.wait_for(&slot.used)?; // the graph has read the dump of two turns ago
        copy.upload(&slot.staging, &mut slot.vis)?;
        slot.uploaded.record(&copy)?;
        compute.wait_for(&slot.uploaded)?;
        compute.replay(&slot.graph)?;
        slot.used.record(&compute)?;
        pending.push(compute.read(&slot.flags));
    }
    for flags in pending {
        found.push(flags.wait()?);
    }
    let seconds = start.elapsed().as_secs_f64();

    let share = plain::verify(&observed, &found, baselines as usize)?;
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    let factor = f64::from(dumps) * PERIOD / seconds;
    println!("{factor:.1} times as fast as the dumps of {PERIOD} seconds arrive; {share:.3} % are flagged");
    println!("the flags of {dumps} dumps of {baselines} baselines are verified on the CPU");
    Ok(())
}

//! `fencepost-wgsl-fuzz` runs random WGSL programs on several engines and compares their results.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
#[cfg(feature = "adapters")]
use fencepost_wgsl_fuzz::engines;
use fencepost_wgsl_fuzz::{Campaign, Features, Options, direct_engines};
use indicatif::{ProgressBar, ProgressStyle};

/// Runs random WGSL programs on several engines and compares their results.
///
/// Each program runs in the interpreter and as machine code of each width, with the same bits. Some programs run on the adapters
/// too: integers and exact floats must be equal; results of functions that round may differ as WGSL allows. The smallest
/// program on which engines differ is stored below target/wgsl-fuzz. Exits with 1 if engines differ.
#[derive(Parser)]
#[command(name = "cargo xtask fuzz-wgsl", bin_name = "cargo xtask fuzz-wgsl")]
#[command(
    after_help = "Examples:\n  cargo xtask fuzz-wgsl\n  cargo xtask fuzz-wgsl --minutes 10 --seed 50000\n  \
    cargo xtask fuzz-wgsl --adapter llvmpipe --adapter swiftshader --count 200\n  \
    cargo xtask fuzz-wgsl --seed 17 --print\n  cargo xtask fuzz-wgsl --features"
)]
struct Arguments {
    /// Number of programs; without, 1000, or as many as the minutes allow
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// First seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[cfg(feature = "adapters")]
    /// A part of an adapter's name and backend, or `recorder`; may be given several times. Without, every adapter but those of
    /// GL, and the recorder of the CPU
    #[arg(long)]
    adapter: Vec<String>,
    /// Run the programs whose seed is a multiple of this number on the adapters too; 0 runs none there
    #[arg(long, default_value_t = 32)]
    drivers_every: u64,
    /// Number of threads; without, one for each processor
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Minutes to run at most
    #[arg(long)]
    minutes: Option<f64>,
    /// Stop after this many programs on which engines differ
    #[arg(long, default_value_t = 1)]
    differences: usize,
    /// Number of smaller programs that are tried for each difference
    #[arg(long, default_value_t = 600)]
    tries: usize,
    /// Allow shifts by amounts over the width of the type, which naga does not reduce for SPIR-V
    #[arg(long)]
    wide_shifts: bool,
    /// Allow zero vectors and clamps that a compiler knows, which SwiftShader computes wrongly
    #[arg(long)]
    known_zeros: bool,
    /// Allow indices into uniform vectors that differ between invocations, which lavapipe 22.3 takes from one invocation
    #[arg(long)]
    uniform_indices: bool,
    /// Allow to unpack halves that a compiler knows, the second of which lavapipe 22.3 takes for 0
    #[arg(long)]
    known_halves: bool,
    /// Allow comparisons of integers of 64 bits, which lavapipe 22.3 computes wrongly
    #[arg(long)]
    wide_comparisons: bool,
    /// Print the program of the seed, and run nothing
    #[arg(long)]
    print: bool,
    /// Print the share of the programs that use each part of the language, and run nothing
    #[arg(long)]
    features: bool,
    /// Folder for the programs on which engines differ
    #[arg(long, default_value = "target/wgsl-fuzz")]
    folder: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the programs; returns `false` if engines differ.
fn run(arguments: &Arguments) -> Result<bool> {
    let options = Options {
        wide_shifts: arguments.wide_shifts,
        known_zeros: arguments.known_zeros,
        uniform_indices: arguments.uniform_indices,
        known_halves: arguments.known_halves,
        wide_comparisons: arguments.wide_comparisons,
        ..Options::default()
    };
    let mut campaign = Campaign::new(direct_engines(), options, &arguments.folder);
    campaign.tries = arguments.tries;
    campaign.portable_every = NonZeroU64::new(arguments.drivers_every);
    if let Some(threads) = arguments.threads {
        campaign.threads = threads.get();
    }
    if arguments.print {
        print!("{}", campaign.case(arguments.seed).program().text);
        return Ok(true);
    }
    let count = arguments.count.unwrap_or(if arguments.minutes.is_some() { u64::MAX } else { 1000 });
    if arguments.features {
        let mut features = Features::default();
        for seed in arguments.seed..arguments.seed.saturating_add(count) {
            features.count(&campaign.case(seed));
        }
        print!("{features}");
        return Ok(true);
    }
    #[cfg(feature = "adapters")]
    if campaign.portable_every.is_some() {
        campaign.engines.extend(engines(&arguments.adapter)?);
    }
    for engine in &campaign.engines {
        eprintln!("engine: {}", engine.name());
    }
    let limit = arguments.minutes.map(|minutes| Duration::from_secs_f64(60.0 * minutes.max(0.0)));
    let bar = bar(count);
    let (begun, mut differences) = (Instant::now(), 0);
    let seeds = arguments.seed..arguments.seed.saturating_add(count);
    let ran = campaign.run_all(seeds, limit, |found| {
        bar.inc(1);
        if let Some(found) = found {
            differences += 1;
            let file = found.file.display();
            bar.suspend(|| println!("seed {}: {}\n  program: {file}", found.seed, found.difference));
        }
        differences < arguments.differences
    })?;
    bar.finish_and_clear();
    print!("{}", campaign.report);
    let rate = ran as f64 / begun.elapsed().as_secs_f64();
    println!("{ran} programs from seed {} on, {rate:.1} a second, {differences} differences", arguments.seed);
    if differences > 0 {
        println!("`cargo xtask fuzz-wgsl --seed <seed> --count 1` runs a program again");
    }
    Ok(differences == 0)
}

/// Makes a progress bar, which is visible on a terminal only.
fn bar(count: u64) -> ProgressBar {
    if count == u64::MAX {
        let style = ProgressStyle::with_template("{spinner} {pos} programs, {per_sec}, {elapsed}");
        return ProgressBar::new_spinner().with_style(style.expect("bug: the template is valid"));
    }
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {per_sec} {eta}");
    ProgressBar::new(count).with_style(style.expect("bug: the template is valid"))
}

//! `fencepost-wgsl-fuzz` runs random WGSL programs on several engines and compares their results.
//!
//! Results go to standard output, for other programs; errors and the list of engines go to standard error.

mod arguments;

use std::num::NonZeroU64;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use arguments::Arguments;
use clap::Parser;
#[cfg(feature = "adapters")]
use fencepost_wgsl_fuzz::engines;
use fencepost_wgsl_fuzz::{Campaign, Features, Options, direct_engines};
use indicatif::{ProgressBar, ProgressStyle};

fn main() -> Result<ExitCode> {
    Ok(if run(&Arguments::parse())? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the programs; returns `false` if engines differ.
fn run(arguments: &Arguments) -> Result<bool> {
    let options = Options {
        known_zeros: arguments.known_zeros,
        uniform_indices: arguments.uniform_indices,
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
    #[cfg(not(feature = "adapters"))]
    anyhow::ensure!(
        arguments.adapter.is_empty(),
        "this build has no adapters: build it with the feature `adapters`"
    );
    for engine in &campaign.engines {
        eprintln!("engine: {}", engine.name());
    }
    let limit = arguments.minutes.map(|minutes| Duration::from_secs_f64(60.0 * minutes.max(0.0)));
    let bar = bar(count);
    let begun = Instant::now();
    let mut differences = 0;
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

/// Makes a progress bar, which is visible only on a terminal.
fn bar(count: u64) -> ProgressBar {
    if count == u64::MAX {
        let style = ProgressStyle::with_template("{spinner} {pos} programs, {per_sec}, {elapsed}");
        return ProgressBar::new_spinner().with_style(style.expect("bug: the template is valid"));
    }
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {per_sec} {eta}");
    ProgressBar::new(count).with_style(style.expect("bug: the template is valid"))
}

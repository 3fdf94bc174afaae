//! `fencepost bench`: measures launches, transfers and latency of each adapter.

mod measure;
mod text;

use anyhow::Result;
use fencepost::{AdapterChoice, Context};
use serde::Serialize;

use crate::{Outcome, cli, opened, output, progress};

use measure::{MEASUREMENTS, Sizes};

/// Everything that is printed.
#[derive(Serialize)]
struct Report {
    quick: bool,
    adapters: Vec<Adapter>,
}

/// An adapter, with the median of each measurement.
#[derive(Serialize)]
struct Adapter {
    adapter: String,
    recorder: String,
    results: Vec<Measured>,
}

#[derive(Serialize)]
struct Measured {
    name: &'static str,
    unit: &'static str,
    median: f64,
    rounds: usize,
}

/// Measures each adapter, or the chosen one.
pub(crate) fn bench(options: &cli::Bench) -> Result<Outcome> {
    let sizes = if options.quick { Sizes::QUICK } else { Sizes::WHOLE };
    let choices = choices(options.adapter.as_ref());
    let bar = progress::bar((choices.len() * MEASUREMENTS.len() * sizes.rounds) as u64);
    let mut adapters = Vec::new();
    for choice in choices {
        let ctx = opened::open(choice)?;
        bar.set_message(ctx.info().name.clone());
        adapters.push(measured(&ctx, &sizes, || bar.inc(1))?);
    }
    bar.finish_and_clear();
    let report = Report { quick: options.quick, adapters };
    if options.json {
        output::json(&report)?;
    } else {
        output::print(text::text(&report).as_bytes())?;
    }
    Ok(Outcome::Good)
}

/// Returns the adapter that the command line or otherwise the variable names; without a name, all adapters.
fn choices(named: Option<&AdapterChoice>) -> Vec<AdapterChoice> {
    let is_set = std::env::var("FENCEPOST_ADAPTER").is_ok_and(|value| !value.trim().is_empty());
    let count = fencepost::adapters().len();
    match named {
        Some(choice) => vec![choice.clone()],
        None if is_set || count == 0 => vec![AdapterChoice::Auto],
        None => (0..count).map(AdapterChoice::Index).collect(),
    }
}

fn measured(ctx: &Context, sizes: &Sizes, done: impl Fn()) -> Result<Adapter> {
    let mut results = Vec::new();
    for measurement in &MEASUREMENTS {
        let mut sample = (measurement.prepare)(ctx, sizes)?;
        sample()?; // fills caches, and makes drivers compile the kernel
        let mut samples = Vec::new();
        for _ in 0..sizes.rounds {
            samples.push(sample()?);
            done();
        }
        let name = measurement.name;
        let unit = measurement.unit;
        results.push(Measured { name, unit, median: median(samples), rounds: sizes.rounds });
    }
    let recorder = ctx.recorder().to_owned();
    Ok(Adapter { adapter: ctx.info().to_string(), recorder, results })
}

/// Returns the median sample; for an even number, the upper one.
fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_round_does_not_move_the_median() {
        assert_eq!(median(vec![3.0, 900.0, 1.0]), 3.0);
    }
}

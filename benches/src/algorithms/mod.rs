//! Measures the verbs of the algorithms next to kernels that show the limits of a device, and next to plain Rust.
//!
//! All contestants of a row take turns in one run, in a random order in each round. Each result is checked.

mod options;
mod rows;

use std::io::Write;

use anyhow::{Result, ensure};

use crate::cpu::contestant::{self, CARD, DEVICES, PLAIN};
use crate::cpu::measure;
use crate::cpu::report::Report;
pub use options::AlgorithmsOptions;

/// Measures the selected rows and writes the report to `out`.
///
/// # Errors
/// Fails if no row or no contestant fits the options, or if a result is wrong.
pub fn run(options: &AlgorithmsOptions, out: &mut dyn Write) -> Result<()> {
    if options.list {
        return rows::ALL.iter().try_for_each(|(name, _)| Ok(writeln!(out, "{name}")?));
    }
    let chosen: Vec<_> = rows::ALL.iter().filter(|(name, _)| name.contains(&options.rows)).collect();
    ensure!(!chosen.is_empty(), "no row has `{}` in its name; --list shows the rows", options.rows);
    let size = rows::Size { quick: options.quick, elements: options.elements() };
    let contestants = contestant::open([CARD].into_iter().chain(DEVICES), [PLAIN], &options.only)?;
    let report = Report::new(options.json, &contestants, out)?;
    let bar = measure::bar(chosen.len());
    for &(name, make) in chosen {
        bar.set_message(name);
        report.row(&measure::measure(name, &make(size), &contestants, options.quick)?, out)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

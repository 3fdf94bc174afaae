//! Measures kernels on the CPU: the device of this library, the software drivers of Vulkan, PoCL and plain Rust.
//!
//! All contestants of a row take turns in one run, in a random order in each round. Each result is checked.

pub(crate) mod case;
pub(crate) mod cases;
pub(crate) mod contestant;
pub(crate) mod device;
mod first_result;
pub(crate) mod measure;
mod options;
mod plain;
mod pocl;
mod processors;
pub(crate) mod report;
pub(crate) mod values;
pub(crate) mod wide;

use std::io::Write;

use anyhow::{Result, ensure};

use contestant::{DEVICES, PLAIN, POCL};
pub use options::SimulatorOptions;
use report::Report;

/// Measures the selected rows and writes the report to `out`.
///
/// # Errors
/// Fails if no row or no contestant fits the options, or if a result is wrong.
pub fn run(options: &SimulatorOptions, out: &mut dyn Write) -> Result<()> {
    if let Some(contestant) = &options.first_result {
        return first_result::produce(contestant, out);
    }
    if options.list {
        return row_names().try_for_each(|name| Ok(writeln!(out, "{name}")?));
    }
    if options.processors > 0 {
        return processors::run_on(options, out);
    }
    let wanted = |name: &str| name.contains(&options.rows);
    ensure!(row_names().any(wanted), "no row has `{}` in its name; --list shows the rows", options.rows);
    let contestants = contestant::open(DEVICES, [POCL, PLAIN], &options.only)?;
    let report = Report::new(options.json, &contestants, out)?;
    let bar = measure::bar(row_names().filter(|name| wanted(name)).count());
    for &(name, make) in cases::ALL.iter().filter(|(name, _)| wanted(name)) {
        bar.set_message(name);
        report.row(&measure::measure(name, &make(options.quick), &contestants, options.quick)?, out)?;
        bar.inc(1);
    }
    if wanted(first_result::NAME) {
        bar.set_message(first_result::NAME);
        report.row(&first_result::measure(&contestants, options.quick)?, out)?;
    }
    bar.finish_and_clear();
    Ok(())
}

fn row_names() -> impl Iterator<Item = &'static str> {
    cases::ALL.iter().map(|(name, _)| *name).chain([first_result::NAME])
}

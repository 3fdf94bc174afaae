//! Measures the cost of launches and transfers on this machine, for several implementations.
//!
//! Every row is measured round-robin. In each round every implementation takes one sample, and each round draws a new
//! order, so that other load of the machine affects all of them alike. Every sample is checked: a wrong byte ends the
//! run. Ratios compare with the hand-written wgpu of an expert.

mod adapter;
pub mod algorithms;
mod contestants;
pub mod cpu;
mod json;
mod mapped;
mod measure;
mod memcpy;
mod naive;
mod options;
mod report;
pub mod soak;
mod spirv;
mod stats;
mod table;
mod vulkan;

use std::io::Write;

use anyhow::{Result, ensure};
use fencepost_launches::{expert, fencepost, ground, implementation, job, part, recorders, rows, transfer};

pub use crate::adapter::has_adapter;
pub use crate::options::Options;
use crate::{adapter::Chosen, report::Report, rows::Row};

/// Returns the names of the rows that these options select.
#[must_use]
pub fn row_names(options: &Options) -> Vec<String> {
    selected(options).iter().map(Row::to_string).collect()
}

/// Measures the selected rows and writes the report to `out`.
///
/// # Errors
/// Fails if no adapter or no row fits the options, if an implementation failed, or if its result was wrong.
pub fn run(options: &Options, out: &mut dyn Write) -> Result<()> {
    let rows = selected(options);
    ensure!(!rows.is_empty(), "no row has `{}` in its name; --list shows the rows", options.rows);
    if options.list {
        return rows.iter().try_for_each(|row| Ok(writeln!(out, "{row}")?));
    }
    let chosen = Chosen::find(&options.adapter)?;
    let report = measured(&chosen, &rows, options.quick)?;
    if options.json { json::write(&report, out) } else { report::write(&report, out) }
}

/// Returns the row of exactly this name, or else the rows with the pattern in their names.
fn selected(options: &Options) -> Vec<Row> {
    let mut rows = Row::all(options.quick);
    match rows.iter().position(|row| row.to_string() == options.rows) {
        Some(exact) => vec![rows.swap_remove(exact)],
        None => rows.into_iter().filter(|row| row.to_string().contains(&options.rows)).collect(),
    }
}

fn measured(chosen: &Chosen, rows: &[Row], quick: bool) -> Result<Report> {
    let mut contestants = contestants::open(chosen)?;
    let progress = measure::progress(rows, quick);
    let mut tables = Vec::with_capacity(rows.len());
    for row in rows {
        tables.push(measure::measure(row, &mut contestants.implementations, quick, &progress)?);
    }
    progress.finish_and_clear();
    Ok(Report { adapter: chosen.about(), absent: contestants.absent, rows: tables })
}

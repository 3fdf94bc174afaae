//! `fencepost tune`: measures the variants of the verbs' kernels on an adapter, and writes a table of the fastest ones.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fencepost::prelude::*;
use fencepost::tuning::TunedChoice;
use serde::Serialize;

use crate::table::Columns;
use crate::{Outcome, cli, output, progress};

/// Everything that is printed as JSON.
#[derive(Serialize)]
struct Report<'a> {
    adapter: &'a str,
    backend: &'a str,
    driver: &'a str,
    /// Highest rates of the adapter, if they were measured.
    bytes_per_second: Option<f64>,
    operations_per_second: Option<f64>,
    choices: Vec<Row<'a>>,
    /// Names of the kernels that no choice is for, because their measurement takes too long or fails.
    not_measured: Vec<&'static str>,
}

/// A choice of the table.
#[derive(Serialize)]
struct Row<'a> {
    kernels: &'a str,
    elements: String,
    /// Parameters of the fastest variant; none if the default is the fastest.
    parameters: BTreeMap<&'a str, u32>,
    seconds: f64,
    default_seconds: f64,
}

/// Measures the variants, prints the choices, and writes the table to a file if the options say so.
pub(crate) fn tune(options: &cli::Tune) -> Result<Outcome> {
    let ctx = open(options)?;
    let kernels = if options.kernels.is_empty() { Tunable::ALL } else { options.kernels.as_slice() };
    let limit = Duration::from_secs_f64(options.limit);
    let bar = progress::bar(kernels.len() as u64);
    for &kernels in kernels {
        bar.set_message(kernels.name());
        ctx.tune(TuneOptions::default().kernels([kernels]).limit(limit)).wait()?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let table = ctx.tuning_table();
    if let Some(path) = &options.save {
        let written = fs::write(path, table.to_string());
        written.with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    let report = report(&table, kernels);
    if options.json {
        output::json(&report)?;
    } else {
        output::print(text(&report).as_bytes())?;
    }
    Ok(Outcome::Good)
}

fn open(options: &cli::Tune) -> Result<Context> {
    let mut opening = ContextOptions::default().adapter(options.adapter.clone().unwrap_or_default());
    if let Some(folder) = &options.folder {
        opening = opening.kernel_folder(folder);
    }
    Ok(Context::with_options(opening).wait()?)
}

fn report<'a>(table: &'a TuningTable, kernels: &[Tunable]) -> Report<'a> {
    let ceilings = table.ceilings();
    let is_missing =
        |kernels: &&Tunable| table.choices().iter().all(|choice| choice.kernels != kernels.name());
    Report {
        adapter: table.adapter(),
        backend: table.backend(),
        driver: table.driver(),
        bytes_per_second: ceilings.map(|ceilings| ceilings.bytes_per_second),
        operations_per_second: ceilings.map(|ceilings| ceilings.operations_per_second),
        choices: table.choices().iter().map(row).collect(),
        not_measured: kernels.iter().filter(is_missing).map(|kernels| kernels.name()).collect(),
    }
}

fn row(choice: &TunedChoice) -> Row<'_> {
    Row {
        kernels: &choice.kernels,
        elements: choice.size.to_string(),
        parameters: choice.values.iter().map(|(name, value)| (name.as_str(), *value)).collect(),
        seconds: choice.seconds,
        default_seconds: choice.default_seconds,
    }
}

/// Writes the report for a terminal.
fn text(report: &Report<'_>) -> String {
    let mut text = format!("{} ({}, driver {})\n", report.adapter, report.backend, report.driver);
    if let (Some(bytes), Some(operations)) = (report.bytes_per_second, report.operations_per_second) {
        let [bytes, operations] = [bytes, operations].map(|rate| rate / 1e9);
        text += &format!("highest rates: {bytes:.3} GB/s copied, {operations:.3} billion operations/s\n");
    }
    let mut table = Columns::with_heading(["kernels", "elements", "variant", "us", "default us"]);
    for row in &report.choices {
        let parameters = row.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        let variant = if row.parameters.is_empty() {
            "default".to_owned()
        } else {
            parameters.collect::<Vec<_>>().join(" ")
        };
        let [seconds, of_default] =
            [row.seconds, row.default_seconds].map(|time| format!("{:.2}", 1e6 * time));
        table.row([row.kernels, &row.elements, &variant, &seconds, &of_default]);
    }
    table.right(3);
    table.right(4);
    text += &format!("\n{}", table.text());
    if !report.not_measured.is_empty() {
        let names = report.not_measured.join(", ");
        text += &format!(
            "\nThese kernels keep their default, because a measurement takes too long or fails: {names}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_printed_with_its_choices_and_with_the_kernels_that_lack_one() {
        let text = "fencepost tuning 1\nadapter A card\nbackend Vulkan\ndriver 1.2\nceilings 2e11 3e12\n\
            choice scan few 0000000000000001 1e-6 1e-6\n\
            choice sort many 0000000000000002 1.5e-3 2e-3 WORKGROUP=64 PER=8\nend 2\n";
        let table: TuningTable = text.parse().expect("a table");
        let report = report(&table, &[Tunable::Scan, Tunable::Sort, Tunable::Transpose]);
        assert_eq!(report.not_measured, ["transpose"]);
        let printed = super::text(&report);
        let lines: Vec<&str> = printed.lines().collect();
        assert_eq!(lines[0], "A card (Vulkan, driver 1.2)");
        assert_eq!(lines[1], "highest rates: 200.000 GB/s copied, 3000.000 billion operations/s");
        let words = |at: usize| lines[at].split_whitespace().collect::<Vec<_>>();
        assert_eq!(words(4), ["scan", "few", "default", "1.00", "1.00"]);
        assert_eq!(words(5), ["sort", "many", "PER=8", "WORKGROUP=64", "1500.00", "2000.00"]);
        assert!(lines[7].ends_with("fails: transpose"), "{printed}");
    }
}

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::{
    adapter::About,
    measure::{Entry, Measured},
    report::Report,
    stats::Summary,
};

/// A machine-readable line of the report: one implementation in one row.
#[derive(Serialize)]
struct Line<'a> {
    row: String,
    implementation: &'a str,
    queues: usize,
    rounds: usize,
    host: Option<Summary>,
    host_ratio: Option<f64>,
    total: Option<Summary>,
    total_ratio: Option<f64>,
    memcpy_share: Option<f64>,
    #[serde(flatten)]
    adapter: &'a About,
}

/// Writes one JSON object a line.
pub(crate) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    for row in &report.rows {
        for entry in &row.entries {
            serde_json::to_writer(&mut *out, &line(row, entry, &report.adapter))?;
            writeln!(out)?;
        }
    }
    Ok(())
}

fn line<'a>(row: &Measured, entry: &'a Entry, adapter: &'a About) -> Line<'a> {
    Line {
        row: row.row.to_string(),
        implementation: entry.name,
        queues: entry.queues,
        rounds: row.rounds,
        host: row.summary(&entry.host),
        host_ratio: row.host_ratio(entry),
        total: row.summary(&entry.total),
        total_ratio: row.total_ratio(entry),
        memcpy_share: row.memcpy_share(entry),
        adapter,
    }
}

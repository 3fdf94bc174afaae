use std::{io::Write, time::Duration};

use anyhow::Result;

use crate::{
    adapter::About,
    measure::{Entry, Measured},
    rows::Row,
    stats::{Summary, paired_ratio},
    table::Table,
};

/// The implementation that ratios compare with.
const YARDSTICK: &str = "expert";

/// Results of one run.
pub(crate) struct Report {
    pub(crate) adapter: About,
    pub(crate) absent: Vec<String>,
    pub(crate) rows: Vec<Measured>,
}

impl Measured {
    fn entry(&self, name: &str, queues: usize) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name && entry.queues == queues)
    }

    /// Returns the host time divided by the expert's on its one queue.
    pub(crate) fn host_ratio(&self, entry: &Entry) -> Option<f64> {
        paired_ratio(&entry.host, &self.entry(YARDSTICK, 1)?.host)
    }

    /// Returns the time until done divided by the expert's.
    pub(crate) fn total_ratio(&self, entry: &Entry) -> Option<f64> {
        paired_ratio(&entry.total, &self.entry(YARDSTICK, 1)?.total)
    }

    /// Returns the speed of a transfer as a share of memcpy's.
    pub(crate) fn memcpy_share(&self, entry: &Entry) -> Option<f64> {
        paired_ratio(&self.entry("memcpy", 1)?.total, &entry.total)
    }

    fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.entries.iter().map(|entry| entry.name).collect();
        names.dedup();
        names
    }
}

/// Writes tables for people.
pub(crate) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    write_head(report, out)?;
    let mut launches = launch_table();
    let mut waits = wait_table();
    let mut transfers = transfer_table();
    for row in &report.rows {
        match row.row {
            Row::Launch { .. } | Row::Again { .. } => add_launches(&mut launches, row),
            Row::LaunchWait => add_wait(&mut waits, row),
            Row::Transfer { bytes, .. } => add_transfer(&mut transfers, row, bytes),
        }
    }
    for table in [launches, waits, transfers].iter().filter(|table| !table.is_empty()) {
        writeln!(out)?;
        table.write(out)?;
    }
    Ok(())
}

fn write_head(report: &Report, out: &mut dyn Write) -> Result<()> {
    let About { adapter, backend, driver, device_type } = &report.adapter;
    writeln!(out, "adapter  {adapter} ({device_type})\nback end {backend}\ndriver   {driver}")?;
    report.absent.iter().try_for_each(|absent| writeln!(out, "absent   {absent}"))?;
    writeln!(
        out,
        "\nMedians of interleaved rounds. x: the time over {YARDSTICK}'s in the same round, below 1 is faster"
    )?;
    Ok(())
}

fn launch_table() -> Table {
    Table::new(
        2,
        &["µs per launch", "", "host, 1 queue", "x", "2 queues", "x", "done, 1 queue", "x", "2 queues", "x"],
    )
}

fn add_launches(table: &mut Table, row: &Measured) {
    table.gap();
    for (index, name) in row.names().into_iter().enumerate() {
        let mut cells = vec![first(index, &row.row), name.to_owned()];
        let entries = [1, 2].map(|queues| row.entry(name, queues));
        for entry in entries {
            cells.push(micros(row, entry.map(|entry| &*entry.host)));
            cells.push(cell(entry.and_then(|entry| row.host_ratio(entry))));
        }
        for entry in entries {
            cells.push(micros(row, entry.map(|entry| &*entry.total)));
            cells.push(cell(entry.and_then(|entry| row.total_ratio(entry))));
        }
        table.line(cells);
    }
}

fn wait_table() -> Table {
    Table::new(2, &["µs", "", "launch to done", "x"])
}

fn add_wait(table: &mut Table, row: &Measured) {
    table.gap();
    for (index, entry) in row.entries.iter().enumerate() {
        let total = micros(row, Some(&entry.total));
        table.line(vec![first(index, &row.row), entry.name.to_owned(), total, cell(row.total_ratio(entry))]);
    }
}

fn transfer_table() -> Table {
    Table::new(2, &["transfer, waited for", "", "µs", "x", "GB/s", "% of memcpy"])
}

fn add_transfer(table: &mut Table, row: &Measured, bytes: usize) {
    table.gap();
    for (index, entry) in row.entries.iter().enumerate() {
        let share = cell(row.memcpy_share(entry).map(|share| share * 100.0));
        let speed = |summary: Summary| bytes as f64 / summary.median_us / 1e3;
        let speed = cell(row.summary(&entry.total).map(speed));
        let total = micros(row, Some(&entry.total));
        let x = cell(row.total_ratio(entry));
        table.line(vec![first(index, &row.row), entry.name.to_owned(), total, x, speed, share]);
    }
}

/// Returns a row's name for its first line, and an empty cell for the others.
fn first(index: usize, row: &Row) -> String {
    if index == 0 { row.to_string() } else { String::new() }
}

fn micros(row: &Measured, times: Option<&[Duration]>) -> String {
    cell(times.and_then(|times| row.summary(times)).map(|summary| summary.median_us))
}

fn cell(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), three_digits)
}

/// Formats a value with about three significant digits.
fn three_digits(value: f64) -> String {
    let decimals = match value {
        v if v < 1.0 => 3,
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

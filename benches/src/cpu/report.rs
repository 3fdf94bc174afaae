use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use super::{
    contestant::Contestant,
    measure::{Entry, Measured},
};

/// Writer of the rows as they are measured.
pub(crate) struct Report {
    json: bool,
}

/// A machine-readable line: one contestant in one row.
#[derive(Serialize)]
struct Line<'a> {
    row: &'a str,
    contestant: &'a str,
    samples: usize,
    launches: usize,
    median_us: f64,
    quarter_us: f64,
    three_quarters_us: f64,
    /// Median ratio of this time to the first contestant's.
    ratio: f64,
    giga_a_second: Option<f64>,
    unit: Option<&'a str>,
    compile_us: Option<f64>,
}

impl Report {
    pub(crate) fn new(json: bool, contestants: &[Box<dyn Contestant>], out: &mut dyn Write) -> Result<Self> {
        if !json {
            for contestant in contestants {
                writeln!(out, "{:14}{}", contestant.name(), contestant.about())?;
            }
            writeln!(out)?;
            writeln!(
                out,
                "{:22}{:14}{:>14}{:>8}{:>18}{:>12}",
                "row", "", "us a launch", "x", "a second", "compile, ms"
            )?;
        }
        Ok(Self { json })
    }

    pub(crate) fn row(&self, row: &Measured, out: &mut dyn Write) -> Result<()> {
        for (at, entry) in row.entries.iter().enumerate() {
            let Some(line) = line(row, entry) else { continue };
            if self.json {
                serde_json::to_writer(&mut *out, &line)?;
                writeln!(out)?;
            } else {
                let rate = line.giga_a_second.map_or(String::new(), |rate| format!("{rate:.3} G"));
                let rate = rate + line.unit.unwrap_or_default();
                let compiled = line.compile_us.map_or(String::new(), |us| format!("{:.2}", us / 1e3));
                let name = if at == 0 { row.name } else { "" };
                let contestant = line.contestant;
                let us = line.median_us;
                let ratio = line.ratio;
                writeln!(out, "{name:22}{contestant:14}{us:14.2}{ratio:8.2}{rate:>18}{compiled:>12}")?;
            }
        }
        Ok(out.flush()?)
    }
}

fn line<'a>(row: &'a Measured, entry: &'a Entry) -> Option<Line<'a>> {
    let summary = entry.summary()?;
    Some(Line {
        row: row.name,
        contestant: &entry.contestant,
        samples: entry.samples.len(),
        launches: entry.launches,
        median_us: summary.median_us,
        quarter_us: summary.quarter_us,
        three_quarters_us: summary.three_quarters_us,
        ratio: row.ratio(entry)?,
        giga_a_second: row.work.map(|work| work.amount / summary.median_us / 1e3),
        unit: row.work.map(|work| work.unit),
        compile_us: entry.compile_us(),
    })
}

//! `fencepost doctor`: tests the adapters of this machine, and suggests remedies for failures.
//!
//! Calls into a driver run in a child process, because they may hang or crash. The child writes one [`Message`] per
//! line.

mod checks;
mod dx12;
mod examine;
mod loader;
mod machine;
mod remedy;
mod text;
mod watch;

use std::env;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::{Outcome, cli, output, progress};

/// Environment variable that selects the part of a child process.
const PART: &str = "FENCEPOST_DOCTOR_PART";

/// Everything that is printed.
#[derive(Serialize)]
struct Report {
    /// `true` if no check failed.
    works: bool,
    machine: Vec<Line>,
    adapters: Vec<Adapter>,
}

/// An adapter that was tested.
#[derive(Serialize)]
struct Adapter {
    index: usize,
    name: String,
    works: bool,
    checks: Vec<Line>,
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    check: String,
    status: Status,
    detail: String,
    /// Remedy, if the check failed or is a warning.
    remedy: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    Failed,
    NotSupported,
    /// Success with a disadvantage.
    Warning,
}

/// A message of a child process.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Message {
    /// Names of the machine's adapters.
    Adapters(Vec<String>),
    /// Name of the check that begins.
    Begins(String),
    /// Result of a check that has ended.
    Ends(Line),
}

/// Work of a child process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Examination of the machine.
    Machine,
    /// Tests of the adapter with this number.
    Adapter(usize),
}

impl Report {
    fn new(machine: Vec<Line>, adapters: Vec<Adapter>) -> Self {
        let works = none_failed(&machine) && adapters.iter().all(|adapter| adapter.works);
        Self { works, machine, adapters }
    }
}

impl Line {
    fn ok(check: &str, detail: impl Into<String>) -> Self {
        Self { check: check.into(), status: Status::Ok, detail: detail.into(), remedy: None }
    }

    fn not_supported(check: &str, detail: impl Into<String>) -> Self {
        Self { status: Status::NotSupported, ..Self::ok(check, detail) }
    }

    fn warning(check: &str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { status: Status::Warning, remedy: Some(remedy.into()), ..Self::ok(check, detail) }
    }

    fn failed(check: &str, detail: impl Into<String>, remedy: Option<String>) -> Self {
        Self { status: Status::Failed, remedy, ..Self::ok(check, detail) }
    }
}

impl FromStr for Part {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "machine" { Ok(Self::Machine) } else { text.parse().map(Self::Adapter) }
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Machine => f.write_str("machine"),
            Self::Adapter(index) => write!(f, "{index}"),
        }
    }
}

/// Tests each adapter.
pub(crate) fn doctor(options: &cli::Doctor) -> Result<Outcome> {
    if let Ok(part) = env::var(PART) {
        let part = part
            .parse()
            .with_context(|| format!("{PART} is `{part}`, which no process of this command sets"))?;
        return examine::part(part).map(|()| Outcome::Good);
    }
    let limit = Duration::from_secs_f64(options.limit);
    let bar = progress::bar(1);
    let machine = watch::child(Part::Machine, limit, || ())?;
    bar.set_length((machine.adapters.len() * checks::COUNT) as u64);
    let mut adapters = Vec::new();
    for (index, name) in machine.adapters.into_iter().enumerate() {
        bar.set_message(name.clone());
        let checks = watch::child(Part::Adapter(index), limit, || bar.inc(1))?.lines;
        let works = none_failed(&checks);
        adapters.push(Adapter { index, name, works, checks });
    }
    bar.finish_and_clear();
    let report = Report::new(machine.lines, adapters);
    if options.json {
        output::json(&report)?;
    } else {
        output::print(text::text(&report).as_bytes())?;
    }
    Ok(if report.works { Outcome::Good } else { Outcome::Bad })
}

fn none_failed(lines: &[Line]) -> bool {
    lines.iter().all(|line| line.status != Status::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_of_the_machine_or_of_one_adapter_is_a_failure() {
        let good =
            || vec![Line::ok("map", ""), Line::not_supported("time", ""), Line::warning("dx12", "", "")];
        let bad = || vec![Line::ok("open", ""), Line::failed("map", "", None)];
        let adapter = |checks: Vec<Line>| {
            let works = none_failed(&checks);
            Adapter { index: 0, name: String::new(), works, checks }
        };
        let works = |machine, adapters: [Vec<Line>; 2]| {
            Report::new(machine, adapters.map(adapter).into_iter().collect()).works
        };
        assert!(works(good(), [good(), good()]));
        assert!(!works(good(), [good(), bad()]) && !works(good(), [bad(), good()]));
        assert!(!works(bad(), [good(), good()]));
    }
}

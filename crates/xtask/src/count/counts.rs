//! Counts and their origin, as a file stores them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::shell::line;
use crate::workspace::Workspace;

/// Instructions per launch: for each contestant, for each row.
pub(super) type PerLaunch = BTreeMap<String, BTreeMap<String, f64>>;

/// Compiler and target of the counted program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) rustc: String,
    pub(super) target: String,
}

/// Counts of one run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counts {
    pub(super) origin: Origin,
    pub(super) per_launch: PerLaunch,
}

impl Origin {
    /// Returns the compiler that builds this workspace.
    pub(super) fn here(workspace: &Workspace) -> Result<Self> {
        let said = line("rustc").arg("-vV").dir(workspace.root()).read()?;
        Self::parse(&said).with_context(|| format!("`rustc -vV` says `{said}`"))
    }

    fn parse(said: &str) -> Option<Self> {
        let after = |start: &str| said.lines().find_map(|line| line.strip_prefix(start)).map(str::to_owned);
        Some(Self { rustc: after("rustc ")?, target: after("host: ")? })
    }
}

impl Counts {
    /// Rounds the counts, so that the file has the printed numbers.
    pub(super) fn new(origin: Origin, mut per_launch: PerLaunch) -> Self {
        let rounded = |count: &mut f64| *count = (*count * 10.0).round() / 10.0;
        per_launch.values_mut().flat_map(BTreeMap::values_mut).for_each(rounded);
        Self { origin, per_launch }
    }

    /// Returns the counts in the file; `None` if the file does not exist.
    pub(super) fn kept(file: &Path) -> Result<Option<Self>> {
        if !file.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        Self::parse(&text).map(Some).with_context(|| format!("{} holds no counts", file.display()))
    }

    /// Replaces the file.
    pub(super) fn keep(&self, file: &Path) -> Result<()> {
        fs::write(file, self.to_json()).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Writes one line for each count, so that a changed count changes one line.
    pub(super) fn to_json(&self) -> String {
        let Origin { rustc, target } = &self.origin;
        let all = json!({ "rustc": rustc, "target": target, "instructions_per_launch": self.per_launch });
        format!("{all:#}\n")
    }

    fn parse(text: &str) -> Result<Self> {
        let mut all: Value = serde_json::from_str(text)?;
        let text = |name: &str| Some(all[name].as_str()?.to_owned());
        let (rustc, target) = text("rustc").zip(text("target")).context("no rustc or no target")?;
        let per_launch = serde_json::from_value(all["instructions_per_launch"].take())?;
        Ok(Self { origin: Origin { rustc, target }, per_launch })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns counts of one contestant with these rows.
    pub(in crate::count) fn counts(rows: &[(&str, f64)]) -> Counts {
        let rows = rows.iter().map(|&(row, count)| (row.to_owned(), count)).collect();
        let origin = Origin { rustc: "1.0.0".to_owned(), target: "here".to_owned() };
        Counts::new(origin, [("expert".to_owned(), rows)].into())
    }

    #[test]
    fn the_file_stores_the_counts_of_the_run() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("counts.json");
        assert_eq!(Counts::kept(&file).expect("no error"), None);
        let counted = counts(&[("launch 1", 25_258.04), ("launch 10", 4791.05)]);
        counted.keep(&file).expect("written");
        assert_eq!(Counts::kept(&file).expect("readable"), Some(counted));
    }

    #[test]
    fn the_origin_names_the_compiler_and_its_target() {
        let said = "rustc 1.95.0 (59807616e 2026-04-14)\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\n";
        let origin = Origin::parse(said).expect("both are there");
        assert_eq!(origin.rustc, "1.95.0 (59807616e 2026-04-14)");
        assert_eq!(origin.target, "x86_64-unknown-linux-gnu");
    }
}

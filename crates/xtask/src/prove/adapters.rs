//! The adapters of the machine, as the command `fencepost` lists and examines them.

use std::path::Path;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::environment::Vars;
use crate::shell::line;
use crate::tally::Failure;

/// Backend of the CPU, which needs no driver.
const NATIVE_CODE: &str = "native code";

/// An adapter, and the result of its examination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Adapter {
    pub(super) name: String,
    pub(super) backend: String,
    pub(super) kind: String,
    /// Name and version of the driver.
    pub(super) driver: String,
    /// Default recorder; `None` if the adapter does not open.
    pub(super) recorder: Option<String>,
    /// `true` if no check of the examination failed.
    pub(super) works: bool,
}

/// Report of `fencepost info --json`.
#[derive(Deserialize)]
struct Listed {
    adapters: Vec<ListedAdapter>,
}

#[derive(Deserialize)]
struct ListedAdapter {
    name: String,
    backend: String,
    kind: String,
    driver: String,
    recorder: Option<String>,
}

/// Report of `fencepost doctor --json`.
#[derive(Deserialize)]
struct Examined {
    adapters: Vec<ExaminedAdapter>,
}

#[derive(Deserialize)]
struct ExaminedAdapter {
    index: usize,
    works: bool,
    checks: Vec<Check>,
}

#[derive(Deserialize)]
struct Check {
    check: String,
    status: String,
    detail: String,
}

impl Adapter {
    /// Returns `true` if the adapter has a driver.
    pub(super) fn has_driver(&self) -> bool {
        self.backend != NATIVE_CODE
    }

    /// Returns a part of its description in the benches, by which they choose it.
    pub(super) fn pattern(&self) -> String {
        format!("{} ({}, ", self.name, self.backend)
    }
}

/// Lists and examines the adapters. Returns them, and the checks that failed.
///
/// # Errors
/// The command prints no report.
pub(super) fn examine(command: &Path, vars: &Vars) -> Result<(Vec<Adapter>, Vec<Failure>)> {
    let listed: Listed = asked(command, "info", vars)?;
    let examined: Examined = asked(command, "doctor", vars)?;
    Ok(joined(listed, &examined))
}

/// Runs a subcommand of the command `fencepost`, and returns its report.
fn asked<R: DeserializeOwned>(command: &Path, subcommand: &str, vars: &Vars) -> Result<R> {
    let (_, said) = line(command).args([subcommand, "--json"]).vars(vars).run_quietly()?;
    let report = said.lines().find_map(|line| serde_json::from_str(line).ok());
    report.with_context(|| format!("`fencepost {subcommand} --json` printed no report:\n{said}"))
}

fn joined(listed: Listed, examined: &Examined) -> (Vec<Adapter>, Vec<Failure>) {
    let mut adapters = Vec::new();
    let mut failures = Vec::new();
    for (index, listed) in listed.adapters.into_iter().enumerate() {
        let ListedAdapter { name, backend, kind, driver, recorder } = listed;
        let examined = examined.adapters.iter().find(|examined| examined.index == index);
        for check in examined.iter().flat_map(|examined| &examined.checks) {
            if check.status == "failed" {
                let test = format!("fencepost doctor: {} ({name}, {backend})", check.check);
                failures.push(Failure { test, mode: "default".to_owned(), message: check.detail.clone() });
            }
        }
        let works = examined.is_some_and(|examined| examined.works);
        adapters.push(Adapter { name, backend, kind, driver, recorder, works });
    }
    (adapters, failures)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns an adapter with a driver.
    pub(in crate::prove) fn card() -> Adapter {
        Adapter {
            name: "A card | 7".to_owned(),
            backend: "Metal".to_owned(),
            kind: "discrete".to_owned(),
            driver: "driver 1.2".to_owned(),
            recorder: Some("wgpu".to_owned()),
            works: true,
        }
    }

    #[test]
    fn an_adapter_works_only_if_its_examination_says_so_and_a_failed_check_is_a_failure() {
        let listed = r#"{"default":{},"adapters":[{"name":"A","backend":"Vulkan","kind":"discrete","driver":"d 1",
            "recorder":"direct"},{"name":"CPU","backend":"native code","kind":"cpu","driver":"","recorder":null}]}"#;
        let examined = r#"{"works":false,"machine":[],"adapters":[{"index":0,"name":"A","works":false,"checks":[
            {"check":"open","status":"ok","detail":"recorder direct","remedy":null},
            {"check":"map","status":"failed","detail":"it broke","remedy":null}]}]}"#;
        let (adapters, failures) = joined(
            serde_json::from_str(listed).expect("a list"),
            &serde_json::from_str(examined).expect("an examination"),
        );
        assert_eq!(adapters.iter().map(|adapter| adapter.works).collect::<Vec<_>>(), [false, false]);
        assert_eq!(adapters.iter().map(Adapter::has_driver).collect::<Vec<_>>(), [true, false]);
        assert_eq!(failures.len(), 1);
        assert_eq!(
            (failures[0].test.as_str(), failures[0].message.as_str()),
            ("fencepost doctor: map (A, Vulkan)", "it broke")
        );
    }
}

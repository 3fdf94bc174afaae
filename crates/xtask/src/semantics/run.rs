//! Runs the test programs, and follows them by what they note.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::ProgressBar;

use super::outcome::{Ended, Outcome, parse, unended};
use crate::built::Built;
use crate::environment::Vars;
use crate::shell::{Line, line};
use crate::workspace::Workspace;

/// The variable that names the file of results, as in `tests/common/results.rs`.
const RESULTS: &str = "FENCEPOST_TEST_RESULTS";

/// A way to run all tests.
pub(super) struct Mode {
    pub(super) name: &'static str,
    var: Option<(&'static str, &'static str)>,
}

/// The first is what holds where nothing is set; only there the CPU recorder runs too.
pub(super) static MODES: [Mode; 5] = [
    Mode { name: "default", var: None },
    Mode { name: "wgpu", var: Some(("FENCEPOST_RECORDER", "wgpu")) },
    Mode { name: "hal", var: Some(("FENCEPOST_RECORDER", "hal")) },
    Mode { name: "direct", var: Some(("FENCEPOST_RECORDER", "direct")) },
    Mode { name: "discrete", var: Some(("FENCEPOST_TEST_MEMORY", "discrete")) },
];

/// The test programs that prove rules.
pub(super) struct Programs<'a> {
    workspace: &'a Workspace,
    vars: &'a Vars,
    filter: Option<&'a str>,
    built: Built,
}

impl<'a> Programs<'a> {
    /// Builds them.
    pub(super) fn build(workspace: &'a Workspace, vars: &'a Vars, filter: Option<&'a str>) -> Result<Self> {
        let built = Built::new(workspace, &["conformance", "programs", "refusals"], &["validation"])?;
        Ok(Self { workspace, vars, filter, built })
    }

    fn lines(&self) -> impl Iterator<Item = Line> {
        self.built.lines(self.workspace).map(|line| line.vars(self.vars))
    }

    /// The ids of all tests, whatever the filter: `<test>::<adapter>`.
    pub(super) fn ids(&self) -> Result<Vec<String>> {
        let lists = self.lines().map(|line| line.arg("--list").read()).collect::<Result<Vec<_>>>()?;
        let ids = lists.iter().flat_map(|list| list.lines()).filter_map(|line| line.strip_suffix(": test"));
        Ok(ids.map(str::to_owned).collect())
    }

    /// Those of `ids` that a mode runs.
    pub(super) fn chosen(&self, ids: &[String], mode: &Mode) -> Vec<String> {
        let wanted = |id: &&String| self.filter.is_none_or(|part| id.contains(part));
        let there = |id: &&String| mode.var.is_none() || !id.contains("::cpu");
        ids.iter().filter(wanted).filter(there).cloned().collect()
    }

    /// Runs a mode; `ids` are the tests that it has.
    pub(super) fn run(&self, mode: &Mode, ids: &[String], bar: &ProgressBar) -> Result<Vec<Outcome>> {
        let file = self.workspace.made("semantics")?.join(format!("{}.jsonl", mode.name));
        fs::write(&file, "").with_context(|| format!("cannot write {}", file.display()))?;
        bar.set_message(mode.name);
        let mut said = String::new();
        let start = bar.position();
        for line in self.lines() {
            let line = line.var(RESULTS, &file).args(self.filter);
            said += &follow(&mode.set(line), || bar.set_position(start + lines_of(&file)))?;
        }
        let outcomes = parse(&fs::read_to_string(&file)?, mode.name)?;
        let lost = unended(ids, &outcomes, mode.name);
        if outcomes.iter().any(|outcome| outcome.result == Ended::Fail) || !lost.is_empty() {
            bar.suspend(|| eprintln!("{said}"));
        }
        Ok(outcomes.into_iter().chain(lost).collect())
    }

    /// Runs the models, which prove R03.
    pub(super) fn models(&self) -> Result<Outcome> {
        let own = std::env::current_exe().context("a program knows its own file")?;
        let (passed, said) = line(own).arg("model").dir(self.workspace.root()).said()?;
        if !passed {
            eprintln!("{said}");
        }
        let [rule, adapter, backend, mode] = ["R03", "none", "none", "loom"].map(str::to_owned);
        let (result, test) = (if passed { Ended::Pass } else { Ended::Fail }, "models".to_owned());
        Ok(Outcome { rule, adapter, backend, mode, test, result, reason: None })
    }
}

impl Mode {
    fn set(&self, line: Line) -> Line {
        match self.var {
            Some((name, value)) => line.var(name, value).args(["--skip", "::cpu"]),
            None => line,
        }
    }
}

/// Runs a program, and calls `meanwhile` again and again; what it said.
fn follow(line: &Line, meanwhile: impl Fn()) -> Result<String> {
    thread::scope(|scope| {
        let program = scope.spawn(|| line.said());
        while !program.is_finished() {
            meanwhile();
            thread::sleep(Duration::from_millis(200));
        }
        let (_, said) = program.join().expect("bug: the follower panicked")?;
        Ok(said)
    })
}

fn lines_of(file: &Path) -> u64 {
    fs::read(file).map_or(0, |text| text.iter().filter(|byte| **byte == b'\n').count() as u64)
}

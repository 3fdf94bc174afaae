//! Runs the test programs, and follows them by what they note.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;

use super::outcome::{Ended, Outcome, parse, unended};
use crate::environment::Vars;
use crate::shell::{Line, cargo, line};
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
    pub(super) workspace: &'a Workspace,
    pub(super) vars: &'a Vars,
    pub(super) filter: Option<&'a str>,
}

impl Programs<'_> {
    fn cargo(&self) -> Line {
        let test = ["test", "--quiet", "-p", "fencepost", "--no-fail-fast", "--features", "validation"];
        let programs = ["--test", "conformance", "--test", "programs"];
        cargo().args(test).args(programs).vars(self.vars).dir(self.workspace.root())
    }

    /// Compiles them.
    pub(super) fn build(&self) -> Result<()> {
        self.cargo().arg("--no-run").run_aside()
    }

    /// The ids of all tests, whatever the filter: `<test>::<adapter>`.
    pub(super) fn ids(&self) -> Result<Vec<String>> {
        let list = self.cargo().args(["--", "--list"]).read()?;
        Ok(list.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
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
        let mut line = self.cargo().var(RESULTS, &file).arg("--").args(self.filter);
        if let Some((name, value)) = mode.var {
            line = line.var(name, value).args(["--skip", "::cpu"]);
        }
        bar.set_message(mode.name);
        let said = follow(&line, &file, bar)?;
        let outcomes = parse(&fs::read_to_string(&file)?, mode.name)?;
        if outcomes.is_empty() && !ids.is_empty() {
            bail!("no test has run:\n{said}");
        }
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

/// Runs a program while the bar counts the lines of its results; what it said.
fn follow(line: &Line, file: &Path, bar: &ProgressBar) -> Result<String> {
    let start = bar.position();
    thread::scope(|scope| {
        let program = scope.spawn(|| line.said());
        while !program.is_finished() {
            let lines = fs::read(file).map_or(0, |text| text.iter().filter(|byte| **byte == b'\n').count());
            bar.set_position(start + lines as u64);
            thread::sleep(Duration::from_millis(200));
        }
        let (_, said) = program.join().expect("bug: the follower panicked")?;
        Ok(said)
    })
}
